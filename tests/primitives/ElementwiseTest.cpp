// Elementwise primitives: values, special values, rounding, integers.
#include "Evaluate.h"

#include "base/Random.h"
#include <cmath>

namespace tegula {
namespace {

TEST(Elementwise, FunctionsMatchTheLibraryRoundedOnce) {
  using Function = double (*)(double);
  const std::pair<const char*, Function> functions[] = {
      {"exp", [](double x) { return std::exp(x); }},     {"log", [](double x) { return std::log(x); }},
      {"sin", [](double x) { return std::sin(x); }},     {"cos", [](double x) { return std::cos(x); }},
      {"tanh", [](double x) { return std::tanh(x); }},   {"erf", [](double x) { return std::erf(x); }},
      {"sqrt", [](double x) { return std::sqrt(x); }},   {"rsqrt", [](double x) { return 1 / std::sqrt(x); }},
      {"floor", [](double x) { return std::floor(x); }}, {"neg", [](double x) { return -x; }},
      {"abs", [](double x) { return std::fabs(x); }}};
  std::vector<double> values = {0.0, -0.0, 1, -1, 0.3, -2.7, 88, -104, 1e-30, kInfinity, -kInfinity, kNan, 3.5};
  for (DType d : {DType::BF16, DType::F32, DType::F64}) {
    HostArray x = array(d, {13, 1}, values);
    for (const auto& [name, function] : functions)
      for (const HostArray& input : {x, strided(x)}) {
        std::vector<double> expected;
        for (double v : x.toVector()) expected.push_back(function(v));
        expectValues(run(name, {input}), array(d, {13}, expected).toVector());
      }
  }
}

TEST(Elementwise, SignAndNan) {
  expectValues(run("sign", {f32({4}, {-3, 0, 2, kNan})}), {-1, 0, 1, kNan});
  EXPECT_TRUE(std::signbit(run("sign", {f32({1}, {-0.0})}).get(0)));
  expectValues(run("is_nan", {f32({3}, {1, kNan, kInfinity})}), {0, 1, 0});
  expectValues(run("neg", {array(DType::I8, {2}, {-128, 5})}), {-128, -5}); // wraps
  expectValues(run("abs", {array(DType::I8, {2}, {-128, -5})}), {-128, 5});
}

TEST(Elementwise, FloatArithmetic) {
  HostArray a = f32({6}, {1, -7, 7, kNan, kInfinity, 0}), b = f32({6}, {3, 3, -3, 1, kInfinity, 0});
  expectValues(run("add", {a, b}), {4, -4, 4, kNan, kInfinity, 0});
  expectValues(run("sub", {a, b}), {-2, -10, 10, kNan, kNan, 0});
  expectValues(run("mul", {a, b}), {3, -21, -21, kNan, kInfinity, 0});
  expectValues(run("div", {a, b}), {static_cast<double>(1.0f / 3), static_cast<double>(-7.0f / 3),
                                    static_cast<double>(-7.0f / 3), kNan, kNan, kNan});
  expectValues(run("remainder", {a, b}), {1, 2, -2, kNan, kNan, kNan}); // the sign of b, as in Python
  expectValues(run("pow", {f32({4}, {2, -2, 0, 4}), f32({4}, {3, 3, 0, -0.5})}), {8, -8, 1, 0.5});
}

TEST(Elementwise, NanWinsInMaximumAndMinimum) {
  HostArray a = f32({5}, {1, kNan, 2, -kInfinity, 3}), b = f32({5}, {2, 1, kNan, 0, 3});
  expectValues(run("maximum", {a, b}), {2, kNan, kNan, 0, 3});
  expectValues(run("minimum", {a, b}), {1, kNan, kNan, -kInfinity, 3});
  expectValues(run("maximum", {i64({2}, {-5, 4}), i64({2}, {3, -9})}), {3, 4});
}

TEST(Elementwise, IntegersWrapAndFloor) {
  HostArray a = array(DType::I32, {6}, {7, -7, 7, -7, 5, -2147483648.0}),
            b = array(DType::I32, {6}, {2, 2, -2, -2, 0, -1});
  expectValues(run("div", {a, b}), {3, -4, -4, 3, 0, -2147483648.0});
  expectValues(run("remainder", {a, b}), {1, 1, -1, -1, 0, 0});
  expectValues(run("mul", {array(DType::U8, {1}, {200}), array(DType::U8, {1}, {3})}), {88});
  expectValues(run("pow", {array(DType::I32, {5}, {3, -1, -1, 2, 0}), array(DType::I32, {5}, {4, -3, -2, -1, 0})}),
               {81, -1, 1, 0, 1});
  HostArray big = HostArray::zeros(DType::I64, {1}), one = i64({1}, {1});
  big.setInt(0, std::numeric_limits<int64_t>::max());
  EXPECT_EQ(run("add", {big, one}).getInt(0), std::numeric_limits<int64_t>::min());
}

// The f32 results of + - * / and sqrt through double are those of the IEEE operations themselves.
TEST(Elementwise, ResultsAreCorrectlyRounded) {
  RandomStream random(5, 9);
  for (int i = 0; i < 500; ++i) {
    auto a = static_cast<float>(random.normal() * std::exp2(random.normal() * 20)),
         b = static_cast<float>(random.normal());
    HostArray x = f32({1}, {a}), y = f32({1}, {b});
    ASSERT_EQ(run("add", {x, y}).get(0), a + b);
    ASSERT_EQ(run("mul", {x, y}).get(0), a * b);
    ASSERT_EQ(run("div", {x, y}).get(0), a / b);
  }
}

TEST(Elementwise, Bf16RoundsEveryResult) {
  // 1 + 2^-7 is the neighbour of 1; the sum 1 + 2^-8 is a tie and goes to 1.
  expectValues(run("add", {array(DType::BF16, {2}, {1, 1}), array(DType::BF16, {2}, {0x1p-8, 0x1.8p-8})}),
               {1, 1 + 0x1p-7});
}

TEST(Elementwise, ComparisonsAndLogic) {
  HostArray a = f32({4}, {1, 2, kNan, 0.0}), b = f32({4}, {2, 2, kNan, -0.0});
  expectValues(run("equal", {a, b}), {0, 1, 0, 1});
  expectValues(run("less", {a, b}), {1, 0, 0, 0});
  expectValues(run("less_equal", {a, b}), {1, 1, 0, 1});
  HostArray p = array(DType::Bool, {4}, {0, 0, 1, 1}), q = array(DType::Bool, {4}, {0, 1, 0, 1});
  expectValues(run("logical_and", {p, q}), {0, 0, 0, 1});
  expectValues(run("logical_or", {p, q}), {0, 1, 1, 1});
  expectValues(run("logical_not", {p}), {1, 1, 0, 0});
  expectValues(run("equal", {p, q}), {1, 0, 0, 1});
  expectValues(run("select", {p, f32({4}, {1, 2, 3, 4}), f32({4}, {5, kNan, 7, kNan})}), {5, kNan, 3, 4});
}

TEST(Elementwise, CastRoundsSaturatesAndKeepsNan) {
  auto to = [](DType d) { return Attributes{{"dtype", d}}; };
  HostArray x = f32({5}, {1.00390625, kNan, kInfinity, -2.9, 3e9});
  expectValues(run("cast", {x}, to(DType::BF16)), {1, kNan, kInfinity, -2.90625, 3003121664.0});
  expectValues(run("cast", {x}, to(DType::I32)), {1, 0, 2147483647, -2, 2147483647});
  expectValues(run("cast", {x}, to(DType::Bool)), {1, 1, 1, 1, 1});
  expectValues(run("cast", {array(DType::Bool, {2}, {0, 1})}, to(DType::F16)), {0, 1});
  expectValues(run("stop_gradient", {x}), x.toVector());
}

TEST(Elementwise, RulesNameTheFault) {
  TensorType a{DType::F32, {2, 3}}, b{DType::F32, {2, 4}}, c{DType::BF16, {2, 3}}, i{DType::I32, {2, 3}},
      p{DType::Bool, {2, 3}};
  EXPECT_EQ(complaint("add", {a, b}), "add: a is f32[2,3] but b is f32[2,4]; broadcast one first");
  EXPECT_EQ(complaint("add", {a, c}), "add: a is f32[2,3] but b is bf16[2,3]; cast one first");
  EXPECT_EQ(complaint("mul", {p, p}), "mul: a is bool[2,3]; expected floats or integers");
  EXPECT_EQ(complaint("exp", {i}), "exp: x is i32[2,3]; expected floats; cast it first");
  EXPECT_EQ(complaint("neg", {p}), "neg: x is bool[2,3]; expected floats or integers; cast it first");
  EXPECT_EQ(complaint("exp", {a, a}), "exp: takes 1 input but was given 2");
  EXPECT_EQ(complaint("exp", {a}, {{"axis", int64_t{1}}}), "exp: unknown attribute axis=1; it takes none");
  EXPECT_EQ(complaint("select", {a, a, a}), "select: cond is f32[2,3]; expected bool");
  EXPECT_EQ(complaint("less", {p, p}), "less: a is bool[2,3]; truth values have no order; cast them first");
  EXPECT_EQ(complaint("logical_not", {a}),
            "logical_not: an input is f32[2,3]; expected bool; compare it with something first");
  EXPECT_EQ(complaint("cast", {a}), "cast: attribute dtype is missing; expected a dtype");
  EXPECT_EQ(complaint("cast", {a}, {{"dtype", int64_t{3}}}), "cast: attribute dtype is 3 (an int); expected a dtype");
}

} // namespace
} // namespace tegula
