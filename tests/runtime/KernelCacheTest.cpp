// From memory, from disk, compiled: each kernel once; damage and refusals on the way.
#include "runtime/KernelCache.h"
#include "TestCompiler.h"
#include "base/Files.h"

#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tegula {
namespace {

using test::addImage;
using test::ImageCompiler;
using test::TemporaryFolder;
using ::testing::HasSubstr;

class KernelCaches : public ::testing::Test {
protected:
  KernelCaches() : device(Device::open(Backend::load("cpu").value(), 0, {.threads = 1}).value()) {}
  KernelCache cache(const Compiler& compiler, int threads = 2) {
    return KernelCache(device, compiler, ImageStore(folder.path(), 1 << 20), threads);
  }
  static std::vector<KernelRef> kernels(int count) {
    std::vector<KernelRef> k;
    for (int i = 0; i < count; ++i) k.push_back(ImageCompiler::source(fmt::format("kernel {}", i), addImage()));
    return k;
  }
  TemporaryFolder folder;
  std::shared_ptr<Device> device;
};

TEST_F(KernelCaches, compilesOnceThenMemoryThenDisk) {
  ImageCompiler compiler;
  auto wanted = kernels(7);
  wanted.push_back(wanted[2]); // the same kernel twice
  KernelCache first = cache(compiler);
  auto loaded = first.get(wanted);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->size(), 8u);
  EXPECT_EQ((*loaded)[2], (*loaded)[7]);
  EXPECT_EQ(first.get(wanted).value(), *loaded);
  EXPECT_EQ(compiler.compilations, 7);
  EXPECT_EQ(first.compiled(), 7);
  EXPECT_EQ(first.fromDisk(), 0);

  KernelCache second = cache(compiler);
  ASSERT_TRUE(second.get(kernels(8)).ok());
  EXPECT_EQ(compiler.compilations, 8);
  EXPECT_EQ(second.compiled(), 1);
  EXPECT_EQ(second.fromDisk(), 7);
}

/// On a helper thread, an exception that nobody catches would end the process.
TEST_F(KernelCaches, anExceptionOfTheCompilerIsItsKernelsError) {
  struct Throwing : ImageCompiler {
    StatusOr<CodeImage> compile(const KernelSource& k) const override { throw std::runtime_error("out of " + k.name); }
  } compiler;
  EXPECT_THAT(std::string(message(cache(compiler, 3).get(kernels(6)).status())),
              HasSubstr("kernel kernel 0: out of kernel 0"));
}

TEST_F(KernelCaches, anotherCompilerVersionCompilesAgain) {
  ImageCompiler one("1"), two("2");
  ASSERT_TRUE(cache(one).get(kernels(2)).ok());
  ASSERT_TRUE(cache(two).get(kernels(2)).ok());
  EXPECT_EQ(two.compilations, 2);
}

TEST_F(KernelCaches, tornFilesAreCompiledAgain) {
  ImageCompiler compiler;
  ASSERT_TRUE(cache(compiler).get(kernels(3)).ok());
  int cut = 0;
  std::vector<std::string> names = listFolder(folder.path()).value();
  for (const std::string& name : names)
    if (name.ends_with(".image")) std::filesystem::resize_file(folder.path() + "/" + name, 100), ++cut;
  EXPECT_EQ(cut, 3);
  KernelCache again = cache(compiler);
  ASSERT_TRUE(again.get(kernels(3)).ok());
  EXPECT_EQ(again.compiled(), 3);
  KernelCache third = cache(compiler);
  ASSERT_TRUE(third.get(kernels(3)).ok());
  EXPECT_EQ(third.fromDisk(), 3);
}

TEST_F(KernelCaches, namesTheKernelThatCannotBeCompiled) {
  ImageCompiler compiler;
  auto wanted = kernels(3);
  auto broken = ImageCompiler::source("bad one", {});
  broken->error = unsupported("no pattern fits");
  wanted.push_back(broken);
  EXPECT_THAT(std::string(message(cache(compiler).get(wanted).status())), HasSubstr("kernel bad one: no pattern fits"));
}

TEST_F(KernelCaches, goesOnWithoutADisk) {
  ImageCompiler compiler;
  std::string file = folder.path() + "/file";
  std::ofstream(file) << "in the way";
  KernelCache noFolder(device, compiler, ImageStore(file + "/cache", 1 << 20), 1);
  EXPECT_TRUE(noFolder.get(kernels(1)).ok());
}

} // namespace
} // namespace tegula
