// neg abs sign exp log sin cos tanh erf sqrt rsqrt floor: functions of one element.
#include "primitives/Families.h"
#include "primitives/InferRules.h"
#include "primitives/Values.h"

#include <cmath>

namespace tegula {
namespace {

template <RuleName kName, bool kIntegers>
StatusOr<TensorTypes> infer(std::span<const TensorType> inputs, const Attributes& attributes) {
  TG_RETURN_IF_ERROR(checkInputCount(kName.view(), inputs, 1));
  TG_RETURN_IF_ERROR(checkKnown(kName.view(), attributes, {}));
  DType d = inputs[0].dtype;
  if (!isFloat(d) && !(kIntegers && isInteger(d)))
    return invalid("{}: x is {}; expected {}; cast it first", kName.view(), toString(inputs[0]),
                   kIntegers ? "floats or integers" : "floats");
  return one(inputs[0]);
}

#if TEGULA_REFERENCE
template <typename T, typename F> void apply(const HostArray& input, HostArray& output, F&& f) {
  InputValues<T> x(input);
  OutputValues<T> y(output);
  for (int64_t i = 0; i < y.size(); ++i) y[i] = f(x[i]);
  y.store();
}

template <double (*kFunction)(double)>
Status evaluateFloat(std::span<const HostArray> inputs, const Attributes&, std::span<HostArray> outputs) {
  apply<double>(inputs[0], outputs[0], kFunction);
  return OkStatus();
}

template <double (*kFunction)(double), int64_t (*kInteger)(int64_t)>
Status evaluateBoth(std::span<const HostArray> inputs, const Attributes&, std::span<HostArray> outputs) {
  if (isFloat(inputs[0].dtype()))
    apply<double>(inputs[0], outputs[0], kFunction);
  else
    apply<int64_t>(inputs[0], outputs[0], kInteger);
  return OkStatus();
}
#endif

double negate(double x) { return -x; }
double absolute(double x) { return std::fabs(x); }
double signOf(double x) { return x > 0 ? 1.0 : x < 0 ? -1.0 : x; } // keeps zeros and NaN
int64_t negateInt(int64_t x) { return wrapSub(0, x); }
int64_t absoluteInt(int64_t x) { return x < 0 ? wrapSub(0, x) : x; }
int64_t signOfInt(int64_t x) { return (x > 0) - (x < 0); }
double exponential(double x) { return std::exp(x); }
double logarithm(double x) { return std::log(x); }
double sine(double x) { return std::sin(x); }
double cosine(double x) { return std::cos(x); }
double hyperbolicTangent(double x) { return std::tanh(x); }
double errorFunction(double x) { return std::erf(x); }
double squareRoot(double x) { return std::sqrt(x); }
double reciprocalRoot(double x) { return 1.0 / std::sqrt(x); }
double roundDown(double x) { return std::floor(x); }

template <RuleName kName, double (*kFunction)(double)> Primitive floatOnly(bool differentiable = true) {
  return {kName.view(),   PrimitiveKind::Elementwise, 1,
          differentiable, infer<kName, false>,        TG_EVALUATE(evaluateFloat<kFunction>)};
}
template <RuleName kName, double (*kFunction)(double), int64_t (*kInteger)(int64_t)>
Primitive both(bool differentiable) {
  return {kName.view(),   PrimitiveKind::Elementwise, 1,
          differentiable, infer<kName, true>,         TG_EVALUATE(evaluateBoth<kFunction, kInteger>)};
}

} // namespace

std::span<const Primitive> unaryPrimitives() {
  static const Primitive table[] = {
      both<"neg", negate, negateInt>(true),
      both<"abs", absolute, absoluteInt>(true),
      both<"sign", signOf, signOfInt>(false),
      floatOnly<"exp", exponential>(),
      floatOnly<"log", logarithm>(),
      floatOnly<"sin", sine>(),
      floatOnly<"cos", cosine>(),
      floatOnly<"tanh", hyperbolicTangent>(),
      floatOnly<"erf", errorFunction>(),
      floatOnly<"sqrt", squareRoot>(),
      floatOnly<"rsqrt", reciprocalRoot>(),
      floatOnly<"floor", roundDown>(false),
  };
  return table;
}

} // namespace tegula
