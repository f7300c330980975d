// arg_max arg_min: where the largest or smallest element lies. The first of ties; a NaN wins over every number.
#include "primitives/Families.h"
#include "primitives/InferRules.h"
#include "primitives/Values.h"

namespace tegula {
namespace {

template <RuleName kName>
StatusOr<TensorTypes> infer(std::span<const TensorType> inputs, const Attributes& attributes) {
  TG_RETURN_IF_ERROR(checkInputCount(kName.view(), inputs, 1));
  TG_RETURN_IF_ERROR(checkKnown(kName.view(), attributes, {attr::axis, attr::keepdim}));
  const TensorType& x = inputs[0];
  TG_ASSIGN_OR_RETURN(int axis, axisAttribute(kName.view(), attributes, x.shape.rank()));
  TG_ASSIGN_OR_RETURN(bool keep, flagAttribute(kName.view(), attributes, attr::keepdim));
  if (x.dtype == DType::Bool) return invalid("{}: x is {}; expected floats or integers", kName.view(), toString(x));
  TensorType result{DType::I64, {}};
  for (int i = 0; i < x.shape.rank(); ++i) {
    if (i != axis)
      result.shape.push_back(x.shape[i]);
    else if (keep)
      result.shape.push_back(1);
  }
  if (x.shape[axis] == 0 && result.shape.elements() != 0)
    return invalid("{}: axis {} of {} is empty, so no element can be named", kName.view(), axis, toString(x));
  return one(result);
}

#if TEGULA_REFERENCE
template <bool kMax, typename T> bool beats(T candidate, T best) {
  if (best != best) return false;
  return candidate != candidate || (kMax ? candidate > best : candidate < best);
}

template <bool kMax>
Status evaluate(std::span<const HostArray> inputs, const Attributes& attributes, std::span<HostArray> outputs) {
  AxisSplit split(inputs[0].shape(), static_cast<int>(attributes.getInt(attr::axis)));
  return withComputeType(inputs[0].dtype(), [&](auto zero) {
    using T = decltype(zero);
    InputValues<T> x(inputs[0]);
    OutputValues<int64_t> y(outputs[0]);
    for (int64_t o = 0; o < split.outer; ++o)
      for (int64_t i = 0; i < split.inner; ++i) {
        auto at = [&](int64_t k) { return x[(o * split.extent + k) * split.inner + i]; };
        int64_t best = 0;
        for (int64_t k = 1; k < split.extent; ++k)
          if (beats<kMax>(at(k), at(best))) best = k;
        y[o * split.inner + i] = best;
      }
    y.store();
    return OkStatus();
  });
}
#endif

} // namespace

std::span<const Primitive> argExtremePrimitives() {
  static const Primitive table[] = {
      {"arg_max", PrimitiveKind::Ordered, 1, false, infer<"arg_max">, TG_EVALUATE(evaluate<true>)},
      {"arg_min", PrimitiveKind::Ordered, 1, false, infer<"arg_min">, TG_EVALUATE(evaluate<false>)},
  };
  return table;
}

} // namespace tegula
