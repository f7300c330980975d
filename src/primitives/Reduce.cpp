// reduce_sum reduce_max reduce_min reduce_prod: axes folded to one value. An empty fold gives the neutral element.
#include "primitives/Families.h"
#include "primitives/InferRules.h"
#include "primitives/Values.h"

#include <cmath>
#include <limits>

namespace tegula {
namespace {

enum class Fold { Sum, Max, Min, Prod };

template <RuleName kName, Fold kFold>
StatusOr<TensorTypes> infer(std::span<const TensorType> inputs, const Attributes& attributes) {
  TG_RETURN_IF_ERROR(checkInputCount(kName.view(), inputs, 1));
  TG_RETURN_IF_ERROR(checkKnown(kName.view(), attributes, {attr::axes, attr::keepdim}));
  const TensorType& x = inputs[0];
  TG_ASSIGN_OR_RETURN(Shape axes, intsAttribute(kName.view(), attributes, attr::axes));
  TG_ASSIGN_OR_RETURN(bool keep, flagAttribute(kName.view(), attributes, attr::keepdim));
  TG_RETURN_IF_ERROR(checkAxes(kName.view(), attr::axes, axes, x.shape.rank()));
  if (x.dtype == DType::Bool && (kFold == Fold::Sum || kFold == Fold::Prod))
    return invalid("{}: x is {}; expected floats or integers; cast it first", kName.view(), toString(x));
  TensorType result{x.dtype, {}};
  for (int i = 0; i < x.shape.rank(); ++i) {
    if (!contains(axes, i))
      result.shape.push_back(x.shape[i]);
    else if (keep)
      result.shape.push_back(1);
  }
  return one(result);
}

#if TEGULA_REFERENCE
template <Fold kFold> double neutral(DType, double) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return kFold == Fold::Sum ? 0.0 : kFold == Fold::Prod ? 1.0 : kFold == Fold::Max ? -kInfinity : kInfinity;
}

/// The least or largest value of the type for max and min.
template <Fold kFold> int64_t neutral(DType d, int64_t) {
  if (kFold == Fold::Sum) return 0;
  if (kFold == Fold::Prod) return 1;
  bool isUnsigned = d == DType::Bool || d == DType::U8 || d == DType::U16;
  int bits = d == DType::Bool ? 1 : static_cast<int>(sizeBytes(d)) * 8 - (isUnsigned ? 0 : 1);
  int64_t largest = bits == 63 ? std::numeric_limits<int64_t>::max() : (int64_t{1} << bits) - 1;
  return kFold == Fold::Min ? largest : isUnsigned ? 0 : -largest - 1;
}

template <Fold kFold> double combine(double a, double b) {
  return kFold == Fold::Sum ? a + b : kFold == Fold::Prod ? a * b : kFold == Fold::Max ? maxOf(a, b) : minOf(a, b);
}
template <Fold kFold> int64_t combine(int64_t a, int64_t b) {
  return kFold == Fold::Sum    ? wrapAdd(a, b)
         : kFold == Fold::Prod ? wrapMul(a, b)
         : kFold == Fold::Max  ? maxOf(a, b)
                               : minOf(a, b);
}

/// The input with its folded axes moved last, so that every result is one run of consecutive elements.
HostArray foldedLast(const HostArray& x, const Shape& axes) {
  Shape order;
  for (int i = 0; i < x.shape().rank(); ++i)
    if (!contains(axes, i)) order.push_back(i);
  for (int i = 0; i < x.shape().rank(); ++i)
    if (contains(axes, i)) order.push_back(i);
  return x.transpose(order.dims());
}

template <Fold kFold>
Status evaluate(std::span<const HostArray> inputs, const Attributes& attributes, std::span<HostArray> outputs) {
  HostArray folded = foldedLast(inputs[0], attributes.getInts(attr::axes));
  return withComputeType(folded.dtype(), [&](auto zero) {
    using T = decltype(zero);
    InputValues<T> x(folded);
    OutputValues<T> y(outputs[0]);
    int64_t run = y.size() == 0 ? 0 : folded.elements() / y.size();
    for (int64_t i = 0; i < y.size(); ++i) {
      T sum = neutral<kFold>(folded.dtype(), zero);
      for (int64_t k = 0; k < run; ++k) sum = combine<kFold>(sum, x[i * run + k]);
      y[i] = sum;
    }
    y.store();
    return OkStatus();
  });
}
#endif

template <RuleName kName, Fold kFold> Primitive fold() {
  return {kName.view(), PrimitiveKind::Reduce, 1, true, infer<kName, kFold>, TG_EVALUATE(evaluate<kFold>)};
}

} // namespace

std::span<const Primitive> reducePrimitives() {
  static const Primitive table[] = {
      fold<"reduce_sum", Fold::Sum>(),
      fold<"reduce_max", Fold::Max>(),
      fold<"reduce_min", Fold::Min>(),
      fold<"reduce_prod", Fold::Prod>(),
  };
  return table;
}

} // namespace tegula
