// What a kernel does after the product must equal separate kernels: every value rounded to its stated type.
#include "KernelRun.h"

#include <cmath>
#include <gtest/gtest.h>

namespace tegula {
namespace {

Value must(StatusOr<Values> v) {
  EXPECT_TRUE(v.ok()) << message(v.status());
  return (*v)[0];
}

Value repeatRows(Graph& g, Value row, const Shape& shape) {
  return must(g.addPrimitive("broadcast", {{row}}, {{"shape", shape}, {"axes", Shape{shape.rank() - 1}}}));
}

class EpilogueOn : public testing::TestWithParam<int> {
protected:
  void SetUp() override {
    std::vector<Target> targets = runnableTargets();
    if (static_cast<size_t>(GetParam()) >= targets.size()) GTEST_SKIP() << "fewer targets run on this processor";
    target = targets[static_cast<size_t>(GetParam())];
  }
  /// The product alone, as the type says.
  std::vector<double> product(const TestOperand& a, const TestOperand& b) {
    auto r = runGroup({"matmul", {}, {&a, &b}, {}, nullptr}, target);
    EXPECT_TRUE(r.ok()) << message(r.status());
    return r->values[0];
  }
  Target target;
};

struct Extents {
  int64_t m, n, k;
};

TEST_P(EpilogueOn, BiasResidualAndScaleAreBitExact) {
  // No step of the reduction, one, several; one panel and part of one, many; rows and columns that end anywhere.
  for (Extents x :
       {Extents{29, 45, 70}, {7, 33, 0}, {1, 1, 1}, {13, 129, 128}, {12, 64, 129}, {25, 200, 700}, {523, 65, 300}})
    for (DType d : {DType::F32, DType::BF16}) {
      std::mt19937_64 random(1);
      TestOperand a = randomOperand(random, d, {x.m, x.k}), b = randomOperand(random, d, {x.k, x.n});
      TestOperand bias = randomOperand(random, d, {x.n}),
                  residual = layTransposed(randomOperand(random, d, {x.m, x.n}));
      GroupProblem problem{
          "matmul", {}, {&a, &b}, {&bias, &residual}, [](Graph& g, Values c, std::vector<Value> extra) {
            Shape shape = g.typeOf(c[0]).shape;
            Value biased = must(g.addPrimitive("add", {{c[0], repeatRows(g, extra[0], shape)}}, {}));
            Value half = must(g.addPrimitive("constant", {}, {{"value", 0.5}, {"dtype", g.typeOf(c[0]).dtype}}));
            Value halves = must(g.addPrimitive("broadcast", {{half}}, {{"shape", shape}, {"axes", Shape{}}}));
            Value scaled = must(g.addPrimitive("mul", {{biased, halves}}, {}));
            Value sum = must(g.addPrimitive("add", {{scaled, extra[1]}}, {}));
            Value wide = must(g.addPrimitive("cast", {{sum}}, {{"dtype", DType::F32}}));
            return std::vector<Value>{biased, wide};
          }};
      auto r = runGroup(problem, target);
      ASSERT_TRUE(r.ok()) << message(r.status());
      std::vector<double> c = product(a, b);
      for (int64_t i = 0; i < x.m; ++i)
        for (int64_t j = 0; j < x.n; ++j) {
          auto at = static_cast<size_t>(i * x.n + j);
          double biased = roundTo(d, c[at] + bias.values[static_cast<size_t>(j)]);
          double want = roundTo(d, roundTo(d, biased * 0.5) + residual.values[at]);
          ASSERT_EQ(r->values[0][at], biased) << name(d) << " " << i << "," << j;
          ASSERT_EQ(r->values[1][at], want) << name(d) << " " << i << "," << j;
        }
    }
}

// One row a batch: the batch becomes the rows only where the code, made for strides of one and zero, can follow it.
TEST_P(EpilogueOn, ABatchOfOneRowFromAnyLayout) {
  for (int64_t batch : {1, 4})
    for (bool columnMajor : {false, true})
      for (bool broadcastRow : {false, true}) {
        std::mt19937_64 random(7);
        TestOperand a = randomOperand(random, DType::F32, {batch, 1, 5}), b = randomOperand(random, DType::F32, {5, 7});
        if (columnMajor) a.strides = Shape{15, 1, 3}; // of transpose(x[:, :, 0:1]), x of shape [batch, 5, 3]
        TestOperand z = randomOperand(random, DType::F32, broadcastRow ? Shape{batch, 7} : Shape{batch, 1, 7});
        GroupProblem problem{"matmul", {}, {&a, &b}, {&z}, [&](Graph& g, Values c, std::vector<Value> extra) {
                               Attributes toRow{{"shape", Shape{batch, 1, 7}}, {"axes", Shape{0, 2}}};
                               Value row =
                                   broadcastRow ? must(g.addPrimitive("broadcast", {{extra[0]}}, toRow)) : extra[0];
                               return std::vector<Value>{must(g.addPrimitive("add", {{c[0], row}}, {}))};
                             }};
        auto r = runGroup(problem, target);
        ASSERT_TRUE(r.ok()) << message(r.status());
        for (int64_t i = 0; i < batch; ++i)
          for (int64_t j = 0; j < 7; ++j) {
            double want = z.values[static_cast<size_t>(i * 7 + j)], size = std::fabs(want);
            for (int64_t k = 0; k < 5; ++k)
              want += a.at({i, 0, k}) * b.at({k, j}), size += std::fabs(a.at({i, 0, k}) * b.at({k, j}));
            ASSERT_NEAR(r->values[0][static_cast<size_t>(i * 7 + j)], want, 7 * 0x1p-24 * size)
                << "batch " << i << " column " << j << (columnMajor ? " transposed" : "");
          }
      }
}

TEST_P(EpilogueOn, GeluByErf) {
  std::mt19937_64 random(2);
  TestOperand a = randomOperand(random, DType::F32, {2, 13, 40}), b = randomOperand(random, DType::F32, {40, 33});
  GroupProblem problem{"matmul", {}, {&a, &b}, {}, [](Graph& g, Values c, std::vector<Value>) {
                         return std::vector<Value>{must(g.addPrimitive("erf", {{c[0]}}, {}))};
                       }};
  auto r = runGroup(problem, target);
  ASSERT_TRUE(r.ok()) << message(r.status());
  std::vector<double> c = product(a, b);
  for (size_t i = 0; i < c.size(); ++i) ASSERT_NEAR(r->values[0][i], std::erf(c[i]), 4e-7);
}

TEST_P(EpilogueOn, PrologueCastsWhatIsPacked) {
  std::mt19937_64 random(3);
  TestOperand a = randomOperand(random, DType::F32, {21, 34}), b = randomOperand(random, DType::BF16, {34, 18});
  TestOperand narrow = a;
  narrow.type.dtype = DType::BF16;
  for (double& v : narrow.values) v = roundTo(DType::BF16, v);
  auto want = runGroup({"matmul", {}, {&narrow, &b}, {}, nullptr}, target);
  auto got = runGroupWithCast(a, b, target);
  ASSERT_TRUE(want.ok() && got.ok()) << message(got.status());
  EXPECT_EQ(got->bytes[0], want->bytes[0]);
}

INSTANTIATE_TEST_SUITE_P(Targets, EpilogueOn, testing::Values(0, 1, 2));

} // namespace
} // namespace tegula
