// Peak kernels: as many chains as stated, no spills, and they run.
#include "compiler/codegen/PeakKernel.h"
#include "compiler/codegen/Pipeline.h"
#include "kernels/MappedImage.h"

#include <chrono>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tegula {
namespace {

int64_t occurrences(std::string_view text, std::string_view word) {
  int64_t n = 0;
  for (size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) ++n;
  return n;
}

void expectPure(std::string_view targetName, DType operand, std::string_view instruction) {
  auto target = targetByName(targetName);
  ASSERT_TRUE(target.ok()) << target.status();
  auto source = makePeakKernel(*target, operand);
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_GE((*source)->chains, 12);
  StageTexts texts;
  auto image = compilePeakKernel(**source, *target, &texts);
  ASSERT_TRUE(image.ok()) << image.status();
  EXPECT_GE(occurrences(texts.assembly, instruction), (*source)->chains);
  EXPECT_EQ(occurrences(texts.assembly, "[rsp"), 0) << "spills:\n" << texts.assembly;
  auto here = detectTarget(targetName);
  if (!here.ok()) return;
  MappedImage mapped(image->bytes);
  ASSERT_NE(mapped.kernel(), nullptr);
  alignas(64) uint8_t buffer[4096] = {};
  void* bindings[] = {buffer};
  const auto begin = std::chrono::steady_clock::now();
  mapped.kernel()(bindings, nullptr, 0, 200, nullptr);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::printf("%s: %.0f GFLOP/s\n", (*source)->key.c_str(), 200 * (*source)->flopsPerItem / seconds * 1e-9);
  EXPECT_THAT(buffer, ::testing::Each(0));
}

TEST(Peak, F32) {
  expectPure("x86-64-v3", DType::F32, "vfmadd");
  expectPure("x86-64-v4", DType::F32, "vfmadd");
}
TEST(Peak, Bf16Dot) { expectPure("x86-64-v4-bf16", DType::BF16, "vdpbf16ps"); }

TEST(Peak, RefusesWhatTheTargetLacks) {
  auto v4 = targetByName("x86-64-v4");
  ASSERT_TRUE(v4.ok());
  auto none = makePeakKernel(*v4, DType::BF16);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(message(none.status()), "peak rate of bf16: x86-64-v4 has no instruction for it");
}

} // namespace
} // namespace tegula
