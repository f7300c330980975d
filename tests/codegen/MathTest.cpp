// The polynomials against a wider libm over every exponent, on every target that this processor runs.
#include "kernels/ElementwiseKernel.h"

#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <random>

namespace tegula {
namespace {

struct Case {
  std::string function;
  bool f64;
  double bound; // ulp: the table in codegen/Math.h
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.function << (c.f64 ? " f64" : " f32"); }

using Wide = long double;

Wide exact(const std::string& f, Wide x, Wide y) {
  if (f == "exp") return std::exp(x);
  if (f == "log") return std::log(x);
  if (f == "tanh") return std::tanh(x);
  if (f == "erf") return std::erf(x);
  if (f == "sin") return std::sin(x);
  if (f == "cos") return std::cos(x);
  return std::pow(x, y);
}

/// Distance from the exact value in units of the last place of T at that value.
template <typename T> double ulps(T got, Wide want) {
  const T rounded = static_cast<T>(want);
  if (std::isnan(want)) return std::isnan(got) ? 0 : INFINITY;
  if (std::isinf(rounded) || std::isinf(got)) return got == rounded ? 0 : INFINITY;
  int exponent = 0;
  std::frexp(want, &exponent);
  exponent = std::max(exponent, std::numeric_limits<T>::min_exponent) - std::numeric_limits<T>::digits;
  return static_cast<double>(std::fabs(static_cast<Wide>(got) - want) / std::ldexp(Wide(1), exponent));
}

/// Values that functions trip over, then uniform bit patterns (every exponent), then ordinary magnitudes.
template <typename T> std::vector<T> samples(size_t count, uint64_t seed) {
  using L = std::numeric_limits<T>;
  std::vector<T> x = {0,
                      1,
                      T(0.5),
                      2,
                      T(3.14159265358979),
                      T(0.9375),
                      T(0.93749994),
                      4,
                      6,
                      10,
                      20,
                      88,
                      T(88.72283),
                      T(88.7229),
                      89,
                      T(87.33655),
                      T(103.97208),
                      104,
                      709,
                      T(709.78),
                      710,
                      745,
                      746,
                      T(1e-10),
                      L::min(),
                      L::max(),
                      L::denorm_min(),
                      L::infinity(),
                      L::quiet_NaN(),
                      L::epsilon(),
                      T(0x1p29),
                      T(0x1p30),
                      T(0x1p31),
                      T(1.41421356),
                      T(0.70710678)};
  for (size_t i = 0, n = x.size(); i < n; ++i) x.push_back(-x[i]);
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal(0, 4);
  while (x.size() < count / 2) {
    const uint64_t bits = random();
    if constexpr (sizeof(T) == 4)
      x.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
    else
      x.push_back(std::bit_cast<double>(bits));
  }
  while (x.size() < count) x.push_back(static_cast<T>(normal(random) * (random() % 8 == 0 ? 20 : 1)));
  return x;
}

template <typename T> void sweep(const Case& c, const Target& target, size_t count) {
  constexpr uint64_t seed = 20260731;
  const bool isPower = c.function == "pow";
  ElementwiseKernel kernel{c.function, c.f64, target.vectorElements(sizeof(T))};
  auto image = compileElementwise(kernel, target);
  ASSERT_TRUE(image.ok()) << image.status();
  const std::vector<T> values = samples<T>(count, seed);
  std::vector<T> input;
  if (isPower) { // vectors of bases and of exponents alternate
    std::vector<T> exponents = samples<T>(count, seed + 1);
    const size_t specials = 70;
    for (size_t i = 0; i < exponents.size();
         ++i) { // every pair of special values first, then as many whole exponents as not
      if (i < specials * specials)
        exponents[i] = exponents[i / specials];
      else if (i % 3 == 0)
        exponents[i] = std::nearbyint(exponents[i]);
    }
    for (size_t v = 0; v < count / size_t(kernel.lanes); ++v)
      for (int part = 0; part < 2; ++part)
        for (int64_t lane = 0; lane < kernel.lanes; ++lane) {
          const size_t i = v * size_t(kernel.lanes) + size_t(lane);
          input.push_back(part ? exponents[i] : i < specials * specials ? values[i % specials] : values[i]);
        }
  } else {
    input = values;
  }
  const std::vector<T> got = runElementwise<T>(*image, kernel, input);
  double worst = 0;
  int failures = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    const size_t lane = i % size_t(kernel.lanes), at = isPower ? 2 * i - lane : i;
    const T x = input[at], y = isPower ? input[at + size_t(kernel.lanes)] : T(0);
    if (c.f64 && (c.function == "sin" || c.function == "cos") && std::fabs(x) >= 0x1p45) {
      EXPECT_TRUE(std::isnan(got[i])) << c.function << "(" << x << ")";
      continue;
    }
    const Wide want = exact(c.function, x, y);
    const double error = ulps(got[i], want);
    worst = std::max(worst, std::isinf(error) ? 0.0 : error);
    const bool zeroSign = want == 0 && got[i] == 0 && std::signbit(want) != std::signbit(got[i]);
    if ((error > c.bound || zeroSign) && ++failures <= 5)
      ADD_FAILURE() << target.name << ": " << c.function << "(" << x << (isPower ? ", " + std::to_string(y) : "")
                    << ") = " << got[i] << ", exactly " << static_cast<double>(want) << ": " << error << " ulp; seed "
                    << seed;
  }
  EXPECT_EQ(failures, 0);
  ::testing::Test::RecordProperty("worst_ulp", std::to_string(worst));
  std::printf("%-6s %s %-15s worst %.3f ulp, stated %.0f\n", c.function.c_str(), c.f64 ? "f64" : "f32",
              target.name.c_str(), worst, c.bound);
}

class MathSweep : public ::testing::TestWithParam<Case> {};

TEST_P(MathSweep, StaysWithinTheStatedBound) {
  for (const char* name : {"x86-64-v3", "x86-64-v4"}) {
    auto target = detectTarget(name);
    if (!target.ok()) {
      std::printf("left out: %.*s\n", int(message(target.status()).size()), message(target.status()).data());
      continue;
    }
    if (GetParam().f64)
      sweep<double>(GetParam(), *target, 1 << 17);
    else
      sweep<float>(GetParam(), *target, 1 << 19);
  }
}

INSTANTIATE_TEST_SUITE_P(All, MathSweep,
                         ::testing::Values(Case{"exp", false, 2}, Case{"log", false, 1}, Case{"tanh", false, 3},
                                           Case{"erf", false, 2}, Case{"sin", false, 2}, Case{"cos", false, 2},
                                           Case{"pow", false, 1}, Case{"exp", true, 2}, Case{"log", true, 2},
                                           Case{"tanh", true, 3}, Case{"erf", true, 2}, Case{"sin", true, 2},
                                           Case{"cos", true, 2}, Case{"pow", true, 4}));

/// One lane, a vector of eight and of sixteen give the same bits on every target.
TEST(Math, BitsDependOnNeitherLanesNorTarget) {
  for (const char* function : {"exp", "log", "tanh", "erf", "sin", "cos"}) {
    std::vector<float> reference, x = samples<float>(1 << 12, 7);
    for (const char* name : {"x86-64-v3", "x86-64-v4"})
      for (int64_t lanes : {1, 8, 16}) {
        auto target = detectTarget(name);
        if (!target.ok()) continue;
        ElementwiseKernel kernel{function, false, lanes};
        auto image = compileElementwise(kernel, *target);
        ASSERT_TRUE(image.ok()) << image.status();
        std::vector<float> y = runElementwise<float>(*image, kernel, x);
        if (reference.empty()) reference = y;
        for (size_t i = 0; i < y.size(); ++i)
          ASSERT_TRUE(std::bit_cast<uint32_t>(y[i]) == std::bit_cast<uint32_t>(reference[i]) || std::isnan(y[i]))
              << name << " " << lanes << " lanes: " << function << "(" << x[i] << ") = " << y[i] << " or "
              << reference[i];
      }
  }
}

} // namespace
} // namespace tegula
