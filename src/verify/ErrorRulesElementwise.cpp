// Error rules of elementwise primitives.
#include "verify/ErrorRules.h"

#include <algorithm>
#include <cmath>

namespace tegula {
namespace {

/// One element: up to three inputs with their bounds, and the result.
struct Element {
  double x[3] = {}, e[3] = {}, y = 0;
};

/// Error of the inputs seen in the result, before its own rounding.
using Propagate = double (*)(const Element&);

/// Whether a function takes its value there exactly, if what the inputs' errors do to it is nothing.
using ExactAt = bool (*)(const Element&);

struct ElementRule {
  std::string_view primitive;
  Propagate propagate;
  bool rounds = true; // false: the result is one of the inputs, or a truth value
  ExactAt exactAt = nullptr;
};

double uncertainIf(bool uncertain) { return uncertain ? 1.0 : 0.0; }
bool exactInputs(const Element& t) { return t.e[0] == 0 && t.e[1] == 0 && t.e[2] == 0; }
bool apartFrom(double point, double x, double e) { return std::fabs(x - point) > e; }

/// Comparisons turn over when the operands' intervals meet.
double comparison(const Element& t) {
  double e = t.e[0] + t.e[1];
  return uncertainIf(e > 0 && !(std::fabs(t.x[0] - t.x[1]) > e));
}

double firstBound(const Element& t) { return t.e[0]; }
double largestBound(const Element& t) { return std::max(t.e[0], t.e[1]); }
double sumOfBounds(const Element& t) { return t.e[0] + t.e[1]; }
double product(const Element& t) {
  if (exactInputs(t)) return 0;
  if (std::isinf(t.x[0]) || std::isinf(t.x[1])) // infinite, unless the other factor may be zero
    return apartFrom(0, t.x[0], t.e[0]) && apartFrom(0, t.x[1], t.e[1]) ? 0 : kUndecided;
  return std::fabs(t.x[0]) * t.e[1] + std::fabs(t.x[1]) * t.e[0] + t.e[0] * t.e[1];
}
double quotient(const Element& t) {
  if (exactInputs(t)) return 0;
  double divisor = std::fabs(t.x[1]) - t.e[1];
  if (std::isinf(t.x[0]) && t.e[0] == 0) return divisor > 0 ? 0 : kUndecided;
  return divisor > 0 ? (t.e[0] + std::fabs(t.y) * t.e[1]) / divisor : kUndecided;
}
double exponential(const Element& t) { return t.e[0] == 0 ? 0 : t.y * std::expm1(t.e[0]); }
double logarithm(const Element& t) {
  if (t.e[0] == 0) return 0;
  return t.x[0] > t.e[0] ? -std::log1p(-t.e[0] / t.x[0]) : kUndecided;
}
double squareRoot(const Element& t) {
  if (t.e[0] == 0) return 0;
  return t.x[0] > t.e[0] ? t.y - std::sqrt(t.x[0] - t.e[0]) : t.x[0] < 0 ? kUndecided : std::sqrt(t.x[0] + t.e[0]);
}
double reciprocalRoot(const Element& t) {
  if (t.e[0] == 0) return 0;
  return t.x[0] > t.e[0] ? 1 / std::sqrt(t.x[0] - t.e[0]) - t.y : kUndecided;
}
double errorFunction(const Element& t) { return 1.1283791670955126 * t.e[0]; } // 2 / sqrt(pi), its steepest slope
/// Reduction of a far argument is not exact: spec/numerics.md allows 2^-22 beyond 2^15.
double sine(const Element& t) { return t.e[0] + (std::fabs(t.x[0]) > 0x1p15 ? 0x1p-22 : 0); }
double step(const Element& t) {
  return uncertainIf(t.e[0] > 0 && std::floor(t.x[0] - t.e[0]) != std::floor(t.x[0] + t.e[0]));
}
double signChange(const Element& t) { return t.e[0] > 0 && !(std::fabs(t.x[0]) > t.e[0]) ? 2.0 : 0.0; }
double remainderError(const Element& t) {
  if (exactInputs(t)) return 0;
  if (std::isinf(t.x[1]) && t.e[1] == 0) // the dividend or the divisor, by the dividend's sign
    return apartFrom(0, t.x[0], t.e[0]) ? t.e[0] : kUndecided;
  double turns = t.x[0] / t.x[1], e = quotient({{t.x[0], t.x[1]}, {t.e[0], t.e[1]}, turns});
  bool crosses = !(std::floor(turns - e) == std::floor(turns + e));
  return t.e[0] + (std::fabs(std::floor(turns)) + 1) * t.e[1] + (crosses ? std::fabs(t.x[1]) : 0);
}
/// exp(y·log x) for positive x; for others only an exact base or a whole exponent is followed.
double power(const Element& t) {
  if (exactInputs(t)) return 0;
  if (t.x[1] == 0 && t.e[1] == 0) return 0; // 1, whatever the base
  if (std::isinf(t.x[1]) && t.e[1] == 0) return apartFrom(1, std::fabs(t.x[0]), t.e[0]) ? 0 : kUndecided; // 0 or inf
  bool isEnd = t.e[0] == 0 && (t.x[0] == 0 || t.x[0] == std::numeric_limits<double>::infinity());
  if (isEnd && apartFrom(0, t.x[1], t.e[1]) && (t.x[0] != 0 || t.x[1] > 0)) return 0; // 0 or inf too
  if (t.x[0] > t.e[0]) {
    double logError = -std::log1p(-t.e[0] / t.x[0]);
    double e = std::fabs(t.x[1]) * logError + std::fabs(std::log(t.x[0])) * t.e[1] + logError * t.e[1];
    return t.y * std::expm1(e);
  }
  bool whole = t.e[1] == 0 && t.x[1] >= 0 && t.x[1] == std::floor(t.x[1]);
  if (!whole) return kUndecided;
  return std::pow(std::fabs(t.x[0]) + t.e[0], t.x[1]) -
         (std::fabs(t.x[0]) > t.e[0] ? std::pow(std::fabs(t.x[0]) - t.e[0], t.x[1]) : 0) +
         (std::fabs(t.x[0]) > t.e[0] ? 0 : std::pow(t.e[0], t.x[1]));
}
double chosen(const Element& t) {
  if (t.e[0] == 0) return t.x[0] != 0 ? t.e[1] : t.e[2];
  return t.x[1] == t.x[2] ? std::max(t.e[1], t.e[2]) : std::fabs(t.x[1] - t.x[2]) + std::max(t.e[1], t.e[2]);
}
double nanness(const Element& t) { return uncertainIf(!(t.e[0] < kUndecided)); }

// Points where a function is exact (spec/numerics.md).
bool atInfinity(const Element& t) { return std::isinf(t.x[0]); }
bool atZeroOrInfinity(const Element& t) { return t.x[0] == 0 || std::isinf(t.x[0]); }
bool atOne(const Element& t) { return t.x[0] == 1; }
bool atEndOfPower(const Element& t) {
  return t.x[0] == 0 || t.x[0] == 1 || t.x[1] == 0 || std::isinf(t.x[0]) || std::isinf(t.x[1]);
}

constexpr ElementRule kRules[] = {
    {"neg", firstBound, false},
    {"abs", firstBound, false},
    {"stop_gradient", firstBound, false},
    {"sign", signChange, false},
    {"floor", step},
    {"exp", exponential, true, atInfinity},
    {"log", logarithm, true, atOne},
    {"sin", sine, true, atZeroOrInfinity},
    {"cos", sine},
    {"tanh", firstBound, true, atZeroOrInfinity},
    {"erf", errorFunction, true, atZeroOrInfinity},
    {"sqrt", squareRoot},
    {"rsqrt", reciprocalRoot, true, atInfinity},
    {"logical_not", firstBound, false},
    {"is_nan", nanness, false},
    {"add", sumOfBounds},
    {"sub", sumOfBounds},
    {"mul", product},
    {"div", quotient},
    {"pow", power, true, atEndOfPower},
    {"maximum", largestBound, false},
    {"minimum", largestBound, false},
    {"remainder", remainderError},
    {"equal", comparison, false},
    {"less", comparison, false},
    {"less_equal", comparison, false},
    {"logical_and", largestBound, false},
    {"logical_or", largestBound, false},
    {"select", chosen, false},
    {"cast", firstBound},
};

/// A cast to integers or bool may fall on the other side of a step.
double castToWhole(double x, double e) {
  if (e == 0) return 0;
  return std::trunc(x - e) == std::trunc(x + e) && std::fabs(x) > e ? 0 : std::ceil(e) + 1;
}

} // namespace

StatusOr<bool> elementwiseErrorRule(ErrorRuleCall& call) {
  std::string_view name = call.primitive.name.text();
  const auto* rule = std::find_if(std::begin(kRules), std::end(kRules), [&](auto& r) { return r.primitive == name; });
  if (rule == std::end(kRules)) return false;
  DType d = call.results[0].dtype;
  bool toWhole = name == "cast" && !isFloat(d);
  double ulps = functionUlps(name);
  std::vector<std::vector<double>> x;
  for (const BoundedArray& input : call.inputs) x.push_back(input.value.toVector());
  std::vector<double> y = call.outputs[0].toVector();
  for (size_t i = 0; i < y.size(); ++i) {
    Element t;
    for (size_t k = 0; k < x.size(); ++k) t.x[k] = x[k][i], t.e[k] = call.inputs[k].bound[i];
    t.y = y[i];
    bool fromNan = false;
    for (size_t k = 0; k < x.size(); ++k) fromNan = fromNan || (std::isnan(t.x[k]) && t.e[k] < kUndecided);
    if (rule->rounds && std::isnan(t.y) && fromNan) continue; // NaN for certain
    double e = toWhole ? castToWhole(t.x[0], t.e[0]) : rule->propagate(t);
    if (std::isnan(e)) e = kUndecided;
    bool exact = e == 0 && rule->exactAt && rule->exactAt(t);
    call.bounds[0][i] = rule->rounds ? roundedBound(y[i], e, d, exact ? 0 : ulps) : e;
  }
  return true;
}

} // namespace tegula
