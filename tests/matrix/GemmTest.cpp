// Matrix products: every target, type and layout, at sizes around every block, against f64.
#include "KernelRun.h"

#include <cmath>
#include <gtest/gtest.h>

namespace tegula {
namespace {

struct Gemm {
  int64_t m, n, k;
  DType dtype = DType::F32;
  bool ta = false, tb = false; // lie transposed
  Shape batch = {};
  bool bBatch = true;
};

std::string describe(const Gemm& p, const Target& t) {
  return fmt::format("matmul m={} n={} k={} {} ta={} tb={} batch={} bBatch={} on {}", p.m, p.n, p.k, name(p.dtype),
                     p.ta, p.tb, toString(p.batch), p.bBatch, t.name);
}

Shape withBatch(const Shape& batch, int64_t r, int64_t c) {
  Shape s = batch;
  s.push_back(r);
  s.push_back(c);
  return s;
}

/// |error| <= (K + 2) u sum |a b|, plus the rounding of the result; u of the accumulator. The bf16 dot flushes
/// subnormals: 1e-37 K.
void checkGemm(const Gemm& p, const Target& target) {
  SCOPED_TRACE(describe(p, target));
  std::mt19937_64 random(static_cast<uint64_t>(p.m * 1000003 + p.n * 1009 + p.k));
  TestOperand a = randomOperand(random, p.dtype, withBatch(p.batch, p.m, p.k));
  TestOperand b = randomOperand(random, p.dtype, withBatch(p.bBatch ? p.batch : Shape(), p.k, p.n));
  if (p.ta) a = layTransposed(a);
  if (p.tb) b = layTransposed(b);
  GroupProblem problem{"matmul", {}, {&a, &b}, {}, nullptr};
  auto whole = runGroup(problem, target);
  ASSERT_TRUE(whole.ok()) << message(whole.status());
  int64_t batches = p.batch.elements();
  double u = p.dtype == DType::F64 ? 0x1p-53 : 0x1p-24;
  double uResult = p.dtype == DType::BF16 ? 0x1p-8 : u;
  for (int64_t s = 0; s < batches; ++s)
    for (int64_t i = 0; i < p.m; ++i)
      for (int64_t j = 0; j < p.n; ++j) {
        long double want = 0, size = 0;
        for (int64_t k = 0; k < p.k; ++k) {
          long double x = a.values[static_cast<size_t>((s * p.m + i) * p.k + k)];
          long double y = b.values[static_cast<size_t>(((p.bBatch ? s : 0) * p.k + k) * p.n + j)];
          want += x * y;
          size += std::fabs(x * y);
        }
        double got = whole->values[0][static_cast<size_t>((s * p.m + i) * p.n + j)];
        double bound =
            static_cast<double>((p.k + 2) * u * size + uResult * std::fabs(want)) + 1e-37 * static_cast<double>(p.k);
        ASSERT_LE(std::fabs(got - static_cast<double>(want)), bound)
            << "at " << s << "," << i << "," << j << " got " << got << " want " << static_cast<double>(want);
      }
  auto cut = runGroup(problem, target, static_cast<int>(std::min<int64_t>(whole->items, 7)), true, true);
  ASSERT_TRUE(cut.ok());
  EXPECT_EQ(cut->bytes[0], whole->bytes[0]) << "another cut of the work items changes bits";
  EXPECT_EQ(cut->key, whole->key);
}

class GemmOn : public testing::TestWithParam<std::string> {
protected:
  void SetUp() override {
    for (const Target& t : runnableTargets())
      if (t.name == GetParam()) target = t;
    if (target.name.empty()) GTEST_SKIP() << "this processor cannot run " << GetParam();
  }
  Target target;
};

TEST_P(GemmOn, SizesAroundTheRegisterKernel) {
  for (int64_t m : {1, 2, 5, 6, 7, 11, 12, 13})
    for (int64_t n : {1, 15, 16, 17, 31, 32, 33}) checkGemm({m, n, 19}, target);
}

TEST_P(GemmOn, EmptySizes) {
  checkGemm({16, 16, 0}, target); // zeros
  checkGemm({0, 16, 4}, target);
  checkGemm({16, 0, 4}, target);
}

TEST_P(GemmOn, EveryLayoutAndType) {
  for (DType d : {DType::F32, DType::BF16, DType::F64})
    for (bool ta : {false, true})
      for (bool tb : {false, true}) {
        checkGemm({37, 41, 67, d, ta, tb}, target);
        checkGemm({13, 33, 1, d, ta, tb}, target);
      }
}

TEST_P(GemmOn, ReportedSizes) {
  checkGemm({64, 64, 64 + 24, DType::BF16}, target); // B30
  checkGemm({16, 104, 32}, target);                  // B31
  checkGemm({64, 128, 200, DType::BF16}, target);    // B33
  checkGemm({3, 7, 64}, target);                     // B34
  checkGemm({16, 16, 16}, target);                   // B35
}

TEST_P(GemmOn, LargerThanEveryBlock) {
  checkGemm({521, 67, 523}, target);
  checkGemm({29, 1031, 300}, target);
  checkGemm({29, 1031, 300, DType::F32, true, true}, target);
}

TEST_P(GemmOn, Batches) {
  checkGemm({5, 7, 9, DType::F32, false, false, {3}}, target);
  checkGemm({5, 7, 9, DType::F32, false, false, {2, 3}, false}, target); // merges into rows
  checkGemm({5, 7, 9, DType::F32, true, false, {2, 3}, false}, target);  // does not
  checkGemm({1, 7, 9, DType::BF16, false, true, {2, 2, 2}}, target);
  checkGemm({5, 7, 9, DType::F32, false, false, {0}}, target);
}

TEST_P(GemmOn, OneOperandInBothPlaces) {
  std::mt19937_64 random(11);
  TestOperand x = randomOperand(random, DType::F32, {3, 4, 4});
  auto r = runGroup({"matmul", {}, {&x, &x}, {}, nullptr}, target);
  ASSERT_TRUE(r.ok()) << message(r.status());
  for (int64_t s = 0; s < 3; ++s)
    for (int64_t i = 0; i < 4; ++i)
      for (int64_t j = 0; j < 4; ++j) {
        double want = 0;
        for (int64_t k = 0; k < 4; ++k) want += x.at({s, i, k}) * x.at({s, k, j});
        EXPECT_NEAR(r->values[0][static_cast<size_t>((s * 4 + i) * 4 + j)], want, 6 * 4 * 0x1p-24)
            << s << "," << i << "," << j;
      }
}

// Four batch axes, repeated in turn, of which no two are one.
TEST_P(GemmOn, BatchAxesThatDoNotMerge) {
  std::mt19937_64 random(12);
  TestOperand a = randomOperand(random, DType::F32, {2, 1, 3, 1, 4, 5}),
              b = randomOperand(random, DType::F32, {1, 5, 1, 6, 5, 7});
  auto r = runGroup({"matmul", {}, {&a, &b}, {}, nullptr}, target);
  ASSERT_TRUE(r.ok()) << message(r.status());
  size_t at = 0;
  for (int64_t s0 = 0; s0 < 2; ++s0)
    for (int64_t s1 = 0; s1 < 5; ++s1)
      for (int64_t s2 = 0; s2 < 3; ++s2)
        for (int64_t s3 = 0; s3 < 6; ++s3)
          for (int64_t i = 0; i < 4; ++i)
            for (int64_t j = 0; j < 7; ++j) {
              double want = 0;
              for (int64_t k = 0; k < 5; ++k) want += a.at({s0, 0, s2, 0, i, k}) * b.at({0, s1, 0, s3, k, j});
              ASSERT_NEAR(r->values[0][at++], want, 7 * 5 * 0x1p-24);
            }
}

TEST_P(GemmOn, ExpandedOperands) {
  std::mt19937_64 random(7);
  TestOperand a = layExpanded(randomOperand(random, DType::F32, {9, 21}), 0);
  TestOperand b = layExpanded(randomOperand(random, DType::F32, {21, 35}), 1);
  auto r = runGroup({"matmul", {}, {&a, &b}, {}, nullptr}, target);
  ASSERT_TRUE(r.ok()) << message(r.status());
  for (int64_t i = 0; i < 9; ++i)
    for (int64_t j = 0; j < 35; ++j) {
      double want = 0;
      for (int64_t k = 0; k < 21; ++k) want += a.at({i, k}) * b.at({k, j});
      EXPECT_NEAR(r->values[0][static_cast<size_t>(i * 35 + j)], want, 23 * 21 * 0x1p-24);
    }
}

TEST_P(GemmOn, OtherExtentsAreTheSameKernel) {
  std::mt19937_64 random(8);
  std::string key;
  for (Shape batch : {Shape{}, Shape{1}, Shape{4}, Shape{2, 3}})
    for (int64_t m : {1, 5, 700}) {
      TestOperand a = randomOperand(random, DType::F32, withBatch(batch, m, 24)),
                  b = randomOperand(random, DType::F32, {24, 40});
      auto r = runGroup({"matmul", {}, {&a, &b}, {}, nullptr}, target);
      ASSERT_TRUE(r.ok()) << message(r.status());
      if (key.empty()) key = r->key;
      EXPECT_EQ(r->key, key) << toString(batch) << " " << m;
    }
}

TEST_P(GemmOn, TheKeyHoldsTheKernelsText) {
  std::mt19937_64 random(9);
  TestOperand a = randomOperand(random, DType::F32, {4, 4});
  auto r = runGroup({"matmul", {}, {&a, &a}, {}, nullptr}, target);
  ASSERT_TRUE(r.ok()) << message(r.status());
  EXPECT_NE(r->key.find("for k in tiles(K, BK)"), std::string::npos) << r->key;
}

TEST_P(GemmOn, TransposedByAttribute) {
  std::mt19937_64 random(10);
  TestOperand a = randomOperand(random, DType::F32, {2, 9, 5}), b = randomOperand(random, DType::F32, {7, 9});
  auto r = runGroup({"matmul", {{"transpose_a", true}, {"transpose_b", true}}, {&a, &b}, {}, nullptr}, target);
  ASSERT_TRUE(r.ok()) << message(r.status());
  for (int64_t s = 0; s < 2; ++s)
    for (int64_t i = 0; i < 5; ++i)
      for (int64_t j = 0; j < 7; ++j) {
        double want = 0;
        for (int64_t k = 0; k < 9; ++k) want += a.at({s, k, i}) * b.at({j, k});
        EXPECT_NEAR(r->values[0][static_cast<size_t>((s * 5 + i) * 7 + j)], want, 11 * 9 * 0x1p-24);
      }
}

INSTANTIATE_TEST_SUITE_P(Targets, GemmOn, testing::Values("x86-64-v3", "x86-64-v4", "x86-64-v4-bf16"),
                         [](const auto& info) {
                           return info.param == "x86-64-v3" ? "v3" : info.param == "x86-64-v4" ? "v4" : "v4bf16";
                         });

} // namespace
} // namespace tegula
