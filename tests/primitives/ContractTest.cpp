// contract and convolution against plain loops, over odd sizes, empty axes and strided operands.
#include "Evaluate.h"

#include "base/Random.h"
#include <cmath>

namespace tegula {
namespace {

HostArray randomArray(DType d, Shape s, uint64_t stream) {
  RandomStream random(2, stream);
  HostArray a(TensorType{d, s});
  for (int64_t i = 0; i < a.elements(); ++i) a.set(i, random.normal());
  return a;
}

Attributes contraction(Shape batchA, Shape batchB, Shape a, Shape b) {
  return {{"batch_a", batchA}, {"batch_b", batchB}, {"contract_a", a}, {"contract_b", b}};
}

TEST(Contract, MatchesPlainLoops) {
  for (int64_t batch : {1, 3})
    for (int64_t m : {0, 1, 3, 17})
      for (int64_t k : {0, 1, 7, 67})
        for (int64_t n : {0, 1, 5, 16}) {
          HostArray a = randomArray(DType::F64, {batch, m, k}, 1), b = randomArray(DType::F64, {k, batch, n}, 2);
          HostArray y = run("contract", {strided(a), strided(b)}, contraction({0}, {1}, {2}, {0}));
          ASSERT_EQ(y.shape(), Shape({batch, m, n}));
          for (int64_t g = 0; g < batch; ++g)
            for (int64_t i = 0; i < m; ++i)
              for (int64_t j = 0; j < n; ++j) {
                double sum = 0, magnitude = 0;
                for (int64_t p = 0; p < k; ++p) {
                  double product = a.get((g * m + i) * k + p) * b.get((p * batch + g) * n + j);
                  sum += product;
                  magnitude += std::fabs(product);
                }
                // Both orders of summation are within K units of 2^-53 of the exact sum.
                ASSERT_NEAR(y.get((g * m + i) * n + j), sum, 2 * static_cast<double>(k) * 0x1p-53 * magnitude);
              }
        }
}

TEST(Contract, SeveralAxesPairUpInOrder) {
  HostArray a = f32({2, 3, 1}, {1, 2, 3, 4, 5, 6}), b = f32({3, 2}, {1, 10, 100, 1000, 10000, 100000});
  expectValues(run("contract", {a, b}, contraction({}, {}, {0, 1}, {1, 0})), {1 + 200 + 30000 + 40 + 5000 + 600000});
  expectValues(run("contract", {f32({2}, {1, 2}), f32({3}, {1, 2, 3})}, contraction({}, {}, {}, {})),
               {1, 2, 3, 2, 4, 6});
}

TEST(Contract, RoundsOnceAndPropagatesNan) {
  HostArray big = array(DType::BF16, {1, 3}, {256, 1, 1}), ones = array(DType::BF16, {3, 1}, {1, 1, 1});
  expectValues(run("contract", {big, ones}, contraction({}, {}, {1}, {0})), {258});
  Attributes wide = contraction({}, {}, {1}, {0});
  wide.set("dtype", DType::F32);
  HostArray odd = array(DType::BF16, {1, 3}, {256, 1, 0});
  EXPECT_EQ(run("contract", {odd, ones}, wide).type(), (TensorType{DType::F32, {1, 1}}));
  expectValues(run("contract", {odd, ones}, wide), {257});
  HostArray holes = f32({2, 2}, {0, 1, 1, kNan}), other = f32({2, 1}, {kInfinity, 2});
  expectValues(run("contract", {holes, other}, contraction({}, {}, {1}, {0})), {kNan, kNan});
  expectValues(run("contract", {i64({1, 2}, {3, 4}), i64({2, 1}, {5, 6})}, contraction({}, {}, {1}, {0})), {39});
}

TEST(Contract, RulesNameTheFault) {
  TensorType a{DType::F32, {2, 768}}, b{DType::F32, {512, 3}};
  EXPECT_EQ(complaint("contract", {a, b}, contraction({}, {}, {1}, {0})),
            "contract: axis 1 of a f32[2,768] has extent 768 but axis 0 of b f32[512,3] has 512");
  EXPECT_EQ(complaint("contract", {a, b}, contraction({}, {}, {1}, {})),
            "contract: contract_a is [1] but contract_b is []; they pair up one to one");
  EXPECT_EQ(complaint("contract", {a, b}, contraction({1}, {0}, {1}, {0})),
            "contract: axis 1 is in batch_a [1] and in contract_a [1]");
  EXPECT_EQ(complaint("contract", {a, b}, contraction({}, {}, {2}, {0})),
            "contract: contract_a [2] names axis 2, outside rank 2");
  EXPECT_EQ(complaint("contract", {{DType::F32, {1, 1, 1, 1, 1}}, {DType::F32, {1, 1, 1, 1, 1}}},
                      contraction({}, {}, {}, {})),
            "contract: the result has rank 10; at most 8 axes are supported");
  Attributes typed = contraction({}, {}, {}, {});
  typed.set("dtype", DType::I32);
  EXPECT_EQ(complaint("contract", {a, b}, typed),
            "contract: a is f32[2,768] but the result type is i32; floats give floats and integers integers");
}

struct ConvolutionCase {
  Shape x, w, strides, low, high, dilation;
  int64_t groups;
};

double at(const HostArray& x, std::initializer_list<int64_t> index) {
  int64_t position = 0;
  int axis = 0;
  for (int64_t i : index) {
    if (i < 0 || i >= x.shape()[axis]) return 0;
    position = position * x.shape()[axis++] + i;
  }
  return x.get(position);
}

TEST(Convolution, MatchesPlainLoops) {
  const ConvolutionCase cases[] = {
      {{2, 3, 7, 5}, {4, 3, 3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1},
      {{1, 4, 7, 6}, {6, 2, 3, 2}, {2, 1}, {1, 0}, {0, 2}, {1, 2}, 2},
      {{1, 3, 6, 6}, {3, 1, 2, 2}, {1, 3}, {0, 2}, {2, 0}, {2, 1}, 3},
      {{1, 1, 6, 6}, {1, 1, 2, 2}, {1, 1}, {-1, -2}, {-1, 0}, {1, 1}, 1}, // cuts positions off
      {{0, 2, 4, 4}, {3, 2, 1, 1}, {1, 1}, {0, 0}, {0, 0}, {1, 1}, 1},
      {{2, 0, 4, 4}, {3, 0, 3, 3}, {1, 1}, {0, 0}, {0, 0}, {1, 1}, 1}};
  for (const ConvolutionCase& c : cases) {
    HostArray x = randomArray(DType::F64, c.x, 3), w = randomArray(DType::F64, c.w, 4);
    HostArray y = run("convolution", {strided(x), strided(w)},
                      {{"strides", c.strides},
                       {"pad_low", c.low},
                       {"pad_high", c.high},
                       {"dilation", c.dilation},
                       {"groups", c.groups}});
    Shape s = y.shape();
    for (int64_t n = 0, e = 0; n < s[0]; ++n)
      for (int64_t o = 0; o < s[1]; ++o)
        for (int64_t i = 0; i < s[2]; ++i)
          for (int64_t j = 0; j < s[3]; ++j, ++e) {
            double sum = 0;
            for (int64_t k = 0; k < c.w[1]; ++k)
              for (int64_t p = 0; p < c.w[2]; ++p)
                for (int64_t q = 0; q < c.w[3]; ++q)
                  sum += at(w, {o, k, p, q}) *
                         at(x, {n, o / (s[1] / c.groups) * c.w[1] + k, i * c.strides[0] - c.low[0] + p * c.dilation[0],
                                j * c.strides[1] - c.low[1] + q * c.dilation[1]});
            ASSERT_NEAR(y.get(e), sum, 1e-13) << toString(c.x) << toString(c.w) << " element " << e;
          }
  }
}

TEST(Convolution, AnyNumberOfSpatialAxes) {
  Attributes one = {{"strides", Shape{1}},
                    {"pad_low", Shape{0}},
                    {"pad_high", Shape{0}},
                    {"dilation", Shape{1}},
                    {"groups", int64_t{1}}};
  expectValues(run("convolution", {f32({1, 1, 4}, {1, 2, 3, 4}), f32({1, 1, 2}, {10, 1})}, one), {12, 23, 34});
  Attributes three = {{"strides", Shape{1, 1, 1}},
                      {"pad_low", Shape{0, 0, 0}},
                      {"pad_high", Shape{0, 0, 0}},
                      {"dilation", Shape{1, 1, 1}},
                      {"groups", int64_t{1}}};
  HostArray ones =
      run("convolution",
          {f32({1, 1, 2, 2, 2}, std::vector<double>(8, 1)), f32({1, 1, 2, 2, 2}, std::vector<double>(8, 3))}, three);
  expectValues(ones, {24});
}

TEST(Convolution, RulesNameTheFault) {
  auto with = [](int64_t groups, int64_t stride) {
    return Attributes{{"strides", Shape{stride, 1}},
                      {"pad_low", Shape{0, 0}},
                      {"pad_high", Shape{0, 0}},
                      {"dilation", Shape{1, 1}},
                      {"groups", groups}};
  };
  TensorType x{DType::F32, {1, 4, 8, 8}}, w{DType::F32, {6, 4, 3, 3}};
  EXPECT_EQ(complaint("convolution", {x, w}, with(3, 1)),
            "convolution: groups=3 must divide the 4 channels of x and the 6 of w");
  EXPECT_EQ(complaint("convolution", {x, w}, with(2, 1)),
            "convolution: x has C=4 in 2 groups, so w needs 2 input channels but has 4");
  EXPECT_EQ(complaint("convolution", {x, w}, with(1, 0)),
            "convolution: strides [0,1] and dilation [1,1] must be at least 1");
  EXPECT_EQ(complaint("convolution", {x, {DType::F32, {6, 4, 9, 3}}}, with(1, 1)),
            "convolution: along axis 2 the window covers 9 positions but x has 8 with padding");
}

} // namespace
} // namespace tegula
