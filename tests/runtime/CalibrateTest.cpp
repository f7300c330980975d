// Rates: stated, measured, remembered.
#include "runtime/Calibrate.h"
#include "TestCompiler.h"
#include "base/Files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tegula {
namespace {

using ::testing::HasSubstr;

TEST(Calibrate, readsStatedRates) {
  Rates r = parseRates("f32=2.5e11,bf16=1e11\n").value();
  EXPECT_EQ(r.f32FlopsPerSecond, 2.5e11);
  EXPECT_EQ(r.bf16FlopsPerSecond, 1e11);
  EXPECT_EQ(parseRates("f32=1").value().bf16FlopsPerSecond, 0);
  for (const char* wrong : {"", "f32", "f32=", "f32=-1", "f32=x", "bf16=1", "f32=1,f64=2", "f32=nan", "f32=1 2"})
    EXPECT_THAT(std::string(message(parseRates(wrong).status())), HasSubstr("expected f32=FLOPS")) << wrong;
}

/// The double's kernels take 200 ns and 100 ns for 1,000 operations. Interruptions can only make a window slower, so
/// the best of 25 is at most the true rate and, unless every window was disturbed, near it.
TEST(Calibrate, measuresOnceAndRemembers) {
  if (!test::kCanRunTestImage) GTEST_SKIP() << "needs x86-64: the test image is machine code";
  unsetenv("TEGULA_RATES");
  test::TemporaryFolder folder;
  test::ImageCompiler compiler;
  auto backend = Backend::load("cpu").value();
  auto rates = calibrate(backend, compiler, folder.path());
  ASSERT_TRUE(rates.ok()) << rates.status();
  EXPECT_LE(rates->f32FlopsPerSecond, 5.0e9 * 1.001);
  EXPECT_GE(rates->f32FlopsPerSecond, 1.0e9);
  EXPECT_LE(rates->bf16FlopsPerSecond, 10.0e9 * 1.001);
  EXPECT_GE(rates->bf16FlopsPerSecond, 2.0e9);
  int compilations = compiler.compilations;
  auto again = calibrate(backend, compiler, folder.path());
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(compiler.compilations, compilations) << "a second session must not measure";
  EXPECT_NEAR(again->f32FlopsPerSecond, rates->f32FlopsPerSecond, 1e-5 * rates->f32FlopsPerSecond);
  test::ImageCompiler other("another version");
  ASSERT_TRUE(calibrate(backend, other, folder.path()).ok());
  EXPECT_GT(other.compilations, 0);
}

TEST(Calibrate, theEnvironmentWins) {
  setenv("TEGULA_RATES", "f32=7,bf16=3", 1);
  test::ImageCompiler compiler;
  EXPECT_EQ(calibrate(Backend::load("cpu").value(), compiler, "/nowhere").value().f32FlopsPerSecond, 7);
  unsetenv("TEGULA_RATES");
}

} // namespace
} // namespace tegula
