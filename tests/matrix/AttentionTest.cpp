// Attention, forward and backward, against f64 on every target.
#include "KernelRun.h"

#include <cmath>
#include <gtest/gtest.h>

namespace tegula {
namespace {

struct Problem {
  int64_t t, s, d;
  bool causal = false;
  int64_t window = 0;
  bool mask = false, bias = false;
  DType dtype = DType::F32;
  Shape batch = {2};
  bool interleaved = false; // q, k, v as views of one [T, 3, D] tensor
};

std::string describe(const Problem& p) {
  return fmt::format("attention t={} s={} d={} causal={} window={} mask={} bias={} {} batch={}", p.t, p.s, p.d,
                     p.causal, p.window, p.mask, p.bias, name(p.dtype), toString(p.batch));
}

struct Reference {
  std::vector<double> y, lse, dq, dk, dv, delta;
};

/// Plain attention of all heads in f64.
Reference reference(const Problem& p, const TestOperand& q, const TestOperand& k, const TestOperand& v,
                    const TestOperand* mask, const TestOperand* bias, const TestOperand& dy, double scale) {
  Reference r;
  int64_t heads = p.batch.elements();
  auto at = [](const std::vector<double>& x, int64_t h, int64_t rows, int64_t cols, int64_t i, int64_t j) {
    return x[static_cast<size_t>((h * rows + i) * cols + j)];
  };
  r.y.assign(static_cast<size_t>(heads * p.t * p.d), 0);
  r.dq = r.y;
  r.dk.assign(static_cast<size_t>(heads * p.s * p.d), 0);
  r.dv = r.dk;
  for (int64_t h = 0; h < heads; ++h)
    for (int64_t i = 0; i < p.t; ++i) {
      std::vector<double> score(static_cast<size_t>(p.s), -INFINITY);
      double top = -INFINITY;
      for (int64_t j = 0; j < p.s; ++j) {
        int64_t row = i + p.s - p.t;
        if (p.causal && j > row) continue;
        if (p.window > 0 && j <= row - p.window) continue;
        if (mask && at(mask->values, h, p.t, p.s, i, j) == 0) continue;
        double sum = 0;
        for (int64_t c = 0; c < p.d; ++c) sum += at(q.values, h, p.t, p.d, i, c) * at(k.values, h, p.s, p.d, j, c);
        score[static_cast<size_t>(j)] = sum * scale + (bias ? at(bias->values, h, p.t, p.s, i, j) : 0);
        top = std::max(top, score[static_cast<size_t>(j)]);
      }
      double sum = 0;
      for (double x : score) sum += std::isinf(x) ? 0 : std::exp(x - top);
      r.lse.push_back(sum == 0 ? INFINITY : top + std::log(sum));
      double delta = 0;
      for (int64_t c = 0; c < p.d; ++c) {
        double y = 0;
        for (int64_t j = 0; j < p.s && sum > 0; ++j)
          if (!std::isinf(score[static_cast<size_t>(j)]))
            y += std::exp(score[static_cast<size_t>(j)] - top) / sum * at(v.values, h, p.s, p.d, j, c);
        r.y[static_cast<size_t>((h * p.t + i) * p.d + c)] = y;
        delta += y * at(dy.values, h, p.t, p.d, i, c);
      }
      r.delta.push_back(delta);
      for (int64_t j = 0; j < p.s && sum > 0; ++j) {
        if (std::isinf(score[static_cast<size_t>(j)])) continue;
        double w = std::exp(score[static_cast<size_t>(j)] - top) / sum, dp = 0;
        for (int64_t c = 0; c < p.d; ++c) dp += at(dy.values, h, p.t, p.d, i, c) * at(v.values, h, p.s, p.d, j, c);
        double ds = w * (dp - delta) * scale;
        for (int64_t c = 0; c < p.d; ++c) {
          r.dq[static_cast<size_t>((h * p.t + i) * p.d + c)] += ds * at(k.values, h, p.s, p.d, j, c);
          r.dk[static_cast<size_t>((h * p.s + j) * p.d + c)] += ds * at(q.values, h, p.t, p.d, i, c);
          r.dv[static_cast<size_t>((h * p.s + j) * p.d + c)] += w * at(dy.values, h, p.t, p.d, i, c);
        }
      }
    }
  return r;
}

/// Errors relative to the largest of a result, or to the terms of dy * v - delta that cancel in gradients (about 1):
/// sums of at most max(S, T, D) terms in f32, and for bf16 the rounding of probabilities and results. In f64 likewise,
/// twice: the reference's sums round as much as the kernel's.
void expectNear(const std::vector<double>& got, const std::vector<double>& want, DType d, int64_t terms,
                const char* what) {
  double size = 0.5;
  for (double w : want)
    if (std::isfinite(w)) size = std::max(size, std::fabs(w));
  double inF32 = 4e-7 * (8 + std::sqrt(static_cast<double>(terms)));
  double bound = size * (d == DType::BF16 ? 0.03 : d == DType::F64 ? inF32 * 2 * 0x1p-29 : inF32);
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    if (std::isinf(want[i])) {
      ASSERT_EQ(got[i], want[i]) << what << " " << i;
      continue;
    }
    ASSERT_LE(std::fabs(got[i] - want[i]), bound) << what << " " << i << " got " << got[i] << " want " << want[i];
  }
}

Shape withBatch(const Shape& batch, int64_t r, int64_t c) {
  Shape s = batch;
  s.push_back(r);
  s.push_back(c);
  return s;
}

/// [.., T, D] lying as a slice of [T, heads.., 3, D]: rows are far apart and heads close.
TestOperand interleave(TestOperand t) {
  const Shape& shape = t.type.shape;
  int r = shape.rank();
  int64_t stride = 3 * shape[r - 1];
  t.strides[r - 1] = 1;
  for (int d = r - 3; d >= 0; --d) t.strides[d] = stride, stride *= shape[d];
  t.strides[r - 2] = stride;
  return t;
}

void check(const Problem& p, const Target& target) {
  SCOPED_TRACE(describe(p) + " on " + target.name);
  std::mt19937_64 random(static_cast<uint64_t>(p.t * 7919 + p.s * 31 + p.d));
  TestOperand q = randomOperand(random, p.dtype, withBatch(p.batch, p.t, p.d), 2),
              k = randomOperand(random, p.dtype, withBatch(p.batch, p.s, p.d), 2);
  TestOperand v = randomOperand(random, p.dtype, withBatch(p.batch, p.s, p.d)),
              dy = randomOperand(random, p.dtype, withBatch(p.batch, p.t, p.d));
  if (p.interleaved) q = interleave(q), k = interleave(k), v = interleave(v);
  TestOperand mask = randomOperand(random, DType::Bool, withBatch(p.batch, p.t, p.s));
  if (p.mask)
    for (int64_t j = 0; j < p.s; ++j) mask.values[static_cast<size_t>(j)] = 0; // the first row sees nothing
  TestOperand bias = randomOperand(random, DType::F32, withBatch(p.batch, p.t, p.s));
  const TestOperand *m = p.mask ? &mask : nullptr, *b = p.bias ? &bias : nullptr;
  double scale = 1 / std::sqrt(static_cast<double>(p.d));
  Attributes attributes{{"scale", scale}, {"causal", p.causal}, {"window", p.window}};
  Reference want = reference(p, q, k, v, m, b, dy, scale);
  int64_t terms = std::max({p.s, p.t, p.d});

  GroupProblem forward{"scaled_dot_product_attention", attributes, {&q, &k, &v, m, b}, {}, nullptr};
  auto y = runGroup(forward, target);
  ASSERT_TRUE(y.ok()) << message(y.status());
  expectNear(y->values[0], want.y, p.dtype, terms, "y");
  expectNear(y->values[1], want.lse, p.dtype, terms, "lse");
  auto cut = runGroup(forward, target, 3, true, true);
  ASSERT_TRUE(cut.ok());
  EXPECT_EQ(cut->bytes, y->bytes);

  TensorType rows{p.dtype == DType::F64 ? DType::F64 : DType::F32, withBatch(p.batch, p.t, 1)};
  EXPECT_EQ(y->bytes[1].size(), static_cast<size_t>(rows.sizeBytes()));
  TestOperand lse{rows, rowMajorStrides(rows.shape), want.lse, 0};
  TestOperand delta{rows, lse.strides, want.delta, 0};
  auto dq =
      runGroup({"attention_grad_query", attributes, {&q, &k, &v, m, b, &lse, &delta, &dy}, {}, nullptr}, target, 2);
  ASSERT_TRUE(dq.ok()) << message(dq.status());
  expectNear(dq->values[0], want.dq, p.dtype, terms, "dq");
  auto dkv =
      runGroup({"attention_grad_key_value", attributes, {&q, &k, &v, m, b, &lse, &delta, &dy}, {}, nullptr}, target, 2);
  ASSERT_TRUE(dkv.ok()) << message(dkv.status());
  expectNear(dkv->values[0], want.dk, p.dtype, terms, "dk");
  expectNear(dkv->values[1], want.dv, p.dtype, terms, "dv");
}

class AttentionOn : public testing::TestWithParam<int> {
protected:
  void SetUp() override {
    std::vector<Target> targets = runnableTargets();
    if (static_cast<size_t>(GetParam()) >= targets.size()) GTEST_SKIP() << "fewer targets run on this processor";
    target = targets[static_cast<size_t>(GetParam())];
  }
  Target target;
};

TEST_P(AttentionOn, Lengths) {
  for (int64_t t : {1, 7, 64, 65, 300}) check({t, t, 32}, target);
  check({3, 130, 32}, target); // more keys than queries
}

TEST_P(AttentionOn, Causal) {
  for (int64_t t : {1, 7, 64, 65, 300}) check({t, t, 64, true}, target);
  check({3, 130, 64, true}, target);
  check({130, 3, 64, true}, target); // early rows see nothing
}

TEST_P(AttentionOn, HeadSizes) {
  for (int64_t d : {8, 80}) check({65, 65, d, true}, target);
}

TEST_P(AttentionOn, MaskBiasWindow) {
  check({65, 70, 32, false, 0, true}, target);
  check({65, 70, 32, true, 0, true, true}, target);
  check({200, 200, 32, true, 10}, target);
}

TEST_P(AttentionOn, OtherTypes) {
  check({65, 65, 32, true, 0, false, false, DType::BF16}, target);
  check({20, 20, 32, true, 0, false, false, DType::F64}, target);
}

TEST_P(AttentionOn, StridedHeads) { check({65, 65, 32, true, 0, false, false, DType::F32, {2, 3}, true}, target); }

TEST_P(AttentionOn, FewerKeyHeads) {
  std::mt19937_64 random(5);
  TestOperand q = randomOperand(random, DType::F32, {2, 2, 3, 21, 16});
  TestOperand k = randomOperand(random, DType::F32, {2, 2, 1, 21, 16}),
              v = randomOperand(random, DType::F32, {2, 2, 1, 21, 16});
  auto repeated = [](const TestOperand& t) {
    TestOperand all{{DType::F32, {2, 2, 3, 21, 16}}, rowMajorStrides({2, 2, 3, 21, 16}), {}, 0};
    for (int64_t i = 0; i < all.type.shape.elements(); ++i)
      all.values.push_back(t.values[static_cast<size_t>(i / (3 * 21 * 16) * 21 * 16 + i % (21 * 16))]);
    return all;
  };
  TestOperand allK = repeated(k), allV = repeated(v);
  Attributes attributes{{"scale", 0.25}, {"causal", true}, {"window", int64_t{0}}};
  auto shared =
      runGroup({"scaled_dot_product_attention", attributes, {&q, &k, &v, nullptr, nullptr}, {}, nullptr}, target);
  auto separate =
      runGroup({"scaled_dot_product_attention", attributes, {&q, &allK, &allV, nullptr, nullptr}, {}, nullptr}, target);
  ASSERT_TRUE(shared.ok() && separate.ok()) << message(shared.status()) << message(separate.status());
  EXPECT_EQ(shared->bytes, separate->bytes);
}

TEST_P(AttentionOn, ValidScoresBelowAnySentinel) {
  // B03: a row whose scores are all near -1e5 is not a masked row.
  TestOperand one{{DType::F32, {1, 1, 8}}, rowMajorStrides({1, 1, 8}), std::vector<double>(8, 1.0), 0};
  TestOperand bias{{DType::F32, {1, 1, 1}}, rowMajorStrides({1, 1, 1}), {-1e5}, 0};
  auto r = runGroup({"scaled_dot_product_attention",
                     {{"scale", 1.0}, {"causal", false}, {"window", int64_t{0}}},
                     {&one, &one, &one, nullptr, &bias},
                     {},
                     nullptr},
                    target);
  ASSERT_TRUE(r.ok()) << message(r.status());
  EXPECT_EQ(r->values[0], std::vector<double>(8, 1.0));
}

INSTANTIATE_TEST_SUITE_P(Targets, AttentionOn, testing::Values(0, 1, 2));

} // namespace
} // namespace tegula
