// Code images: their bytes, what they may refer to, determinism, threads; the v3 ones hold no AVX-512 and run on a
// Haswell.
#include "compiler/codegen/Pipeline.h"
#include "kernels/ElementwiseKernel.h"
#include "kernels/TextModule.h"
#include "tegula/cpu_image.h"

#include <cstdlib>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <thread>
#include <xxhash.h>

namespace tegula {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Target named(std::string_view name) {
  auto t = targetByName(name);
  EXPECT_TRUE(t.ok()) << t.status();
  return *t;
}

constexpr std::string_view functions[] = {"copy", "exp", "log", "tanh", "erf", "sin", "cos", "pow"};

TEST(Image, HeaderDescribesTheBytes) {
  auto image = compileElementwise({"exp", false, 8}, named("x86-64-v4"));
  ASSERT_TRUE(image.ok()) << image.status();
  tg_cpu_image_header h;
  ASSERT_GE(image->bytes.size(), sizeof h);
  std::memcpy(&h, image->bytes.data(), sizeof h);
  EXPECT_EQ(h.magic, TG_CPU_IMAGE_MAGIC);
  EXPECT_EQ(h.version, TG_CPU_IMAGE_VERSION);
  EXPECT_EQ(h.header_bytes, sizeof h);
  EXPECT_EQ(h.image_bytes, image->bytes.size());
  EXPECT_EQ(h.isa, uint64_t(TG_CPU_X86_64_V3 | TG_CPU_X86_64_V4));
  EXPECT_EQ(h.image_bytes % TG_CPU_IMAGE_PAGE, 0u);
  EXPECT_EQ(h.code_offset % TG_CPU_IMAGE_PAGE, 0u);
  EXPECT_EQ(h.constants_offset % TG_CPU_IMAGE_PAGE, 0u);
  EXPECT_GT(h.constants_bytes, 0u);
  EXPECT_GE(h.entry_offset, h.code_offset);
  EXPECT_LT(h.entry_offset, h.code_offset + h.code_bytes);
  EXPECT_EQ(h.checksum, XXH3_64bits(image->bytes.data() + sizeof h, image->bytes.size() - sizeof h));
}

TEST(Image, StagesDifferAndSayWhatRan) {
  StageTexts texts;
  auto image = compileElementwise({"tanh", false, 16}, named("x86-64-v4"), &texts);
  ASSERT_TRUE(image.ok()) << image.status();
  EXPECT_THAT(texts.mlir, HasSubstr("scf.for"));
  EXPECT_THAT(texts.llvm, HasSubstr("target-cpu\"=\"x86-64-v4"));
  EXPECT_THAT(texts.assembly, HasSubstr("vdivps"));
  EXPECT_THAT(texts.assembly, HasSubstr("zmm"));
  EXPECT_THAT(texts.assembly, HasSubstr("constants+0x"));
  EXPECT_THAT(texts.assembly, ::testing::ContainsRegex("\tj[a-z]+\tL0"));
}

TEST(Image, V3HoldsNoEvexInstruction) {
  const Target v3 = named("x86-64-v3"), v4 = named("x86-64-v4");
  for (std::string_view f : functions)
    for (bool f64 : {false, true})
      for (int64_t lanes : {1, 8, 16}) {
        const ElementwiseKernel kernel{std::string(f), f64, lanes};
        auto image = compileElementwise(kernel, v3);
        ASSERT_TRUE(image.ok()) << image.status();
        auto text = disassemble(*image, v3);
        auto evex = countEvexInstructions(*image, v3);
        ASSERT_TRUE(text.ok() && evex.ok()) << f << ": " << text.status();
        EXPECT_THAT(*text, Not(HasSubstr("zmm"))) << f;
        EXPECT_EQ(*evex, 0) << f << ", " << lanes << " lanes";
      }
  // The check can fail.
  auto image = compileElementwise({"exp", false, 16}, v4);
  ASSERT_TRUE(image.ok()) << image.status();
  EXPECT_GT(countEvexInstructions(*image, v3).value_or(0), 10);
}

TEST(Image, V3RunsOnAHaswell) {
  if (std::system("qemu-x86_64 --version > /dev/null 2>&1") != 0)
    GTEST_SKIP() << "needs qemu-x86_64 (package qemu-user)";
  const std::string folder = ::testing::TempDir();
  std::vector<float> x(64);
  for (size_t i = 0; i < x.size(); ++i) x[i] = 0.25f * static_cast<float>(i) - 7.9f;
  for (std::string_view f : functions) {
    if (f == "pow") continue; // reads pairs
    const ElementwiseKernel kernel{std::string(f), false, 8};
    auto image = compileElementwise(kernel, named("x86-64-v3"));
    ASSERT_TRUE(image.ok()) << image.status();
    auto write = [&](const std::string& name, const void* data, size_t size) {
      std::ofstream(folder + name, std::ios::binary).write(static_cast<const char*>(data), std::streamsize(size));
    };
    write("haswell.image", image->bytes.data(), image->bytes.size());
    write("haswell.input", x.data(), x.size() * 4);
    const std::string command =
        fmt::format("qemu-x86_64 -cpu Haswell {} {}haswell.image {}haswell.input {}haswell.output {} {} 2> /dev/null",
                    TEGULA_RUN_IMAGE, folder, folder, folder, x.size() * 4, x.size() / 8);
    ASSERT_EQ(std::system(command.c_str()), 0) << command;
    std::vector<float> y(x.size());
    std::ifstream(folder + "haswell.output", std::ios::binary)
        .read(reinterpret_cast<char*>(y.data()), std::streamsize(y.size() * 4));
    const std::vector<float> here = runElementwise<float>(*image, kernel, x);
    for (size_t i = 0; i < x.size(); ++i)
      EXPECT_TRUE(y[i] == here[i] || (std::isnan(y[i]) && std::isnan(here[i])))
          << f << "(" << x[i] << "): " << y[i] << ", here " << here[i];
  }
}

TEST(Image, TheSameModuleGivesTheSameBytes) {
  for (std::string_view target : {"x86-64-v3", "x86-64-v4"}) {
    auto a = compileElementwise({"sin", false, 8}, named(target)),
         b = compileElementwise({"sin", false, 8}, named(target));
    ASSERT_TRUE(a.ok() && b.ok());
    EXPECT_EQ(a->bytes, b->bytes);
  }
}

TEST(Image, ThreadsCompileAtOnce) {
  const Target target = named("x86-64-v4");
  auto reference = compileElementwise({"erf", false, 16}, target);
  ASSERT_TRUE(reference.ok());
  std::vector<std::vector<uint8_t>> images(4);
  {
    std::vector<std::jthread> threads;
    for (auto& image : images)
      threads.emplace_back([&image, &target] {
        for (int i = 0; i < 3; ++i) {
          auto compiled = compileElementwise({"erf", false, 16}, target);
          if (compiled.ok()) image = compiled->bytes;
        }
      });
  }
  for (const auto& image : images) EXPECT_EQ(image, reference->bytes);
}

TEST(Image, CallsOutAreRefusedByName) {
  auto image = compileText(R"(
    llvm.func @expf(f32) -> f32
    func.func @kernel(%bindings: !llvm.ptr, %scalars: !llvm.ptr, %begin: i64, %end: i64, %scratch: !llvm.ptr) {
      %x = llvm.load %scratch : !llvm.ptr -> f32
      %y = llvm.call @expf(%x) : (f32) -> f32
      llvm.store %y, %scratch : f32, !llvm.ptr
      return
    })",
                           named("x86-64-v3"));
  ASSERT_FALSE(image.ok());
  EXPECT_THAT(std::string(message(image.status())), HasSubstr("undefined symbol expf; a kernel may not call out"));
}

TEST(Image, WritableDataIsRefused) {
  auto image = compileText(R"(
    llvm.mlir.global internal @counter(1 : i64) : i64
    func.func @kernel(%bindings: !llvm.ptr, %scalars: !llvm.ptr, %begin: i64, %end: i64, %scratch: !llvm.ptr) {
      %a = llvm.mlir.addressof @counter : !llvm.ptr
      %v = llvm.load volatile %a : !llvm.ptr -> i64
      llvm.store volatile %end, %a : i64, !llvm.ptr
      return
    })",
                           named("x86-64-v3"));
  ASSERT_FALSE(image.ok());
  EXPECT_THAT(std::string(message(image.status())), HasSubstr("writable section .data"));
}

/// Loops that zero and copy stay loops.
TEST(Image, LoopsDoNotBecomeLibraryCalls) {
  auto image = compileText(R"(
    func.func @kernel(%bindings: !llvm.ptr, %scalars: !llvm.ptr, %begin: i64, %end: i64, %scratch: !llvm.ptr) {
      %from = llvm.load %bindings : !llvm.ptr -> !llvm.ptr
      %zero = arith.constant 0 : i64
      %one = arith.constant 1 : index
      %b = arith.index_cast %begin : i64 to index
      %e = arith.index_cast %end : i64 to index
      scf.for %i = %b to %e step %one {
        %k = arith.index_cast %i : index to i64
        %p = llvm.getelementptr %scratch[%k] : (!llvm.ptr, i64) -> !llvm.ptr, i64
        llvm.store %zero, %p : i64, !llvm.ptr
      }
      scf.for %i = %b to %e step %one {
        %k = arith.index_cast %i : index to i64
        %p = llvm.getelementptr %scratch[%k] : (!llvm.ptr, i64) -> !llvm.ptr, i64
        %q = llvm.getelementptr %from[%k] : (!llvm.ptr, i64) -> !llvm.ptr, i64
        %v = llvm.load %q : !llvm.ptr -> i64
        llvm.store %v, %p : i64, !llvm.ptr
      }
      return
    })",
                           named("x86-64-v3"));
  EXPECT_TRUE(image.ok()) << image.status();
}

TEST(Image, DiagnosticsOfTheLoweringAreTold) {
  auto image = compileText(R"(
    func.func @kernel(%bindings: !llvm.ptr, %scalars: !llvm.ptr, %begin: i64, %end: i64, %scratch: !llvm.ptr) {
      %0 = "index.nonsense"() : () -> i64
      return
    })",
                           named("x86-64-v3"));
  EXPECT_FALSE(image.ok());
  auto entry = compileText("func.func @other() { return }", named("x86-64-v3"));
  ASSERT_FALSE(entry.ok());
  EXPECT_THAT(std::string(message(entry.status())), HasSubstr("no function named kernel"));
}

TEST(Image, ObjectsThatAreNotOnesAreRefused) {
  const std::vector<uint8_t> junk(100, 7);
  EXPECT_FALSE(linkImage(junk, "kernel", 0).ok());
  EXPECT_FALSE(linkImage({}, "kernel", 0).ok());
  EXPECT_FALSE(disassemble(CodeImage{junk}, named("x86-64-v3")).ok());
}

} // namespace
} // namespace tegula
