// add sub mul div pow maximum minimum remainder: arithmetic of two elements of one type.
#include "primitives/Families.h"
#include "primitives/InferRules.h"
#include "primitives/Values.h"

#include <cmath>

namespace tegula {
namespace {

template <RuleName kName>
StatusOr<TensorTypes> infer(std::span<const TensorType> inputs, const Attributes& attributes) {
  TG_RETURN_IF_ERROR(checkInputCount(kName.view(), inputs, 2));
  TG_RETURN_IF_ERROR(checkKnown(kName.view(), attributes, {}));
  const TensorType &a = inputs[0], &b = inputs[1];
  if (a.dtype == DType::Bool) return invalid("{}: a is {}; expected floats or integers", kName.view(), toString(a));
  if (a.dtype != b.dtype)
    return invalid("{}: a is {} but b is {}; cast one first", kName.view(), toString(a), toString(b));
  if (a.shape != b.shape)
    return invalid("{}: a is {} but b is {}; broadcast one first", kName.view(), toString(a), toString(b));
  return one(a);
}

#if TEGULA_REFERENCE
template <auto kFloat, auto kInteger>
Status evaluate(std::span<const HostArray> inputs, const Attributes&, std::span<HostArray> outputs) {
  return withComputeType(inputs[0].dtype(), [&](auto zero) {
    using T = decltype(zero);
    InputValues<T> a(inputs[0]), b(inputs[1]);
    OutputValues<T> y(outputs[0]);
    for (int64_t i = 0; i < y.size(); ++i) {
      if constexpr (std::is_same_v<T, double>)
        y[i] = kFloat(a[i], b[i]);
      else
        y[i] = kInteger(a[i], b[i]);
    }
    y.store();
    return OkStatus();
  });
}
#endif

double add(double a, double b) { return a + b; }
double sub(double a, double b) { return a - b; }
double mul(double a, double b) { return a * b; }
double div(double a, double b) { return a / b; }
double power(double a, double b) { return std::pow(a, b); }
double largest(double a, double b) { return maxOf(a, b); }
double smallest(double a, double b) { return minOf(a, b); }
int64_t largestInt(int64_t a, int64_t b) { return maxOf(a, b); }
int64_t smallestInt(int64_t a, int64_t b) { return minOf(a, b); }

/// a - floor(a / b) * b: the sign of b, as in Python.
double remainderOf(double a, double b) {
  double r = std::fmod(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

/// Toward minus infinity; by zero gives 0; the most negative number by -1 wraps.
int64_t divInt(int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return wrapSub(0, a);
  int64_t q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

int64_t remainderInt(int64_t a, int64_t b) {
  if (b == 0 || b == -1) return 0;
  int64_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

/// Wraps; a negative exponent gives the exact result truncated: 1, -1 or 0.
int64_t powerInt(int64_t base, int64_t exponent) {
  if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 ? -1 : 1) : 0;
  int64_t result = 1;
  for (; exponent > 0; exponent >>= 1, base = wrapMul(base, base))
    if (exponent & 1) result = wrapMul(result, base);
  return result;
}

template <RuleName kName, auto kFloat, auto kInteger> Primitive binary() {
  return {kName.view(), PrimitiveKind::Elementwise, 2, true, infer<kName>, TG_EVALUATE(evaluate<kFloat, kInteger>)};
}

} // namespace

std::span<const Primitive> arithmeticPrimitives() {
  static const Primitive table[] = {
      binary<"add", add, wrapAdd>(),
      binary<"sub", sub, wrapSub>(),
      binary<"mul", mul, wrapMul>(),
      binary<"div", div, divInt>(),
      binary<"pow", power, powerInt>(),
      binary<"maximum", largest, largestInt>(),
      binary<"minimum", smallest, smallestInt>(),
      binary<"remainder", remainderOf, remainderInt>(),
  };
  return table;
}

} // namespace tegula
