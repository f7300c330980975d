// select cast stop_gradient: elements chosen, converted or passed on.
#include "primitives/Families.h"
#include "primitives/InferRules.h"
#include "primitives/Values.h"

namespace tegula {
namespace {

StatusOr<TensorTypes> inferSelect(std::span<const TensorType> inputs, const Attributes& attributes) {
  TG_RETURN_IF_ERROR(checkInputCount("select", inputs, 3));
  TG_RETURN_IF_ERROR(checkKnown("select", attributes, {}));
  const TensorType &condition = inputs[0], &a = inputs[1], &b = inputs[2];
  if (condition.dtype != DType::Bool) return invalid("select: cond is {}; expected bool", toString(condition));
  if (a.dtype != b.dtype) return invalid("select: a is {} but b is {}; cast one first", toString(a), toString(b));
  if (a.shape != b.shape) return invalid("select: a is {} but b is {}; broadcast one first", toString(a), toString(b));
  if (condition.shape != a.shape)
    return invalid("select: cond is {} but a is {}; broadcast one first", toString(condition), toString(a));
  return one(a);
}

#if TEGULA_REFERENCE
Status evaluateSelect(std::span<const HostArray> inputs, const Attributes&, std::span<HostArray> outputs) {
  InputValues<int64_t> condition(inputs[0]);
  return withComputeType(inputs[1].dtype(), [&](auto zero) {
    using T = decltype(zero);
    InputValues<T> a(inputs[1]), b(inputs[2]);
    OutputValues<T> y(outputs[0]);
    for (int64_t i = 0; i < y.size(); ++i) y[i] = condition[i] ? a[i] : b[i];
    y.store();
    return OkStatus();
  });
}
#endif

StatusOr<TensorTypes> inferCast(std::span<const TensorType> inputs, const Attributes& attributes) {
  TG_RETURN_IF_ERROR(checkInputCount("cast", inputs, 1));
  TG_RETURN_IF_ERROR(checkKnown("cast", attributes, {attr::dtype}));
  TG_ASSIGN_OR_RETURN(DType d, dtypeAttribute("cast", attributes, attr::dtype));
  TG_RETURN_IF_ERROR(checkSize("cast", {d, inputs[0].shape}));
  return one({d, inputs[0].shape});
}

StatusOr<TensorTypes> inferStop(std::span<const TensorType> inputs, const Attributes& attributes) {
  TG_RETURN_IF_ERROR(checkInputCount("stop_gradient", inputs, 1));
  TG_RETURN_IF_ERROR(checkKnown("stop_gradient", attributes, {}));
  return one(inputs[0]);
}

#if TEGULA_REFERENCE
Status evaluateCopy(std::span<const HostArray> inputs, const Attributes&, std::span<HostArray> outputs) {
  outputs[0].copyFrom(inputs[0]);
  return OkStatus();
}
#endif

} // namespace

std::span<const Primitive> choosePrimitives() {
  constexpr PrimitiveKind kKind = PrimitiveKind::Elementwise;
  static const Primitive table[] = {
      {"select", kKind, 3, true, inferSelect, TG_EVALUATE(evaluateSelect)},
      {"cast", kKind, 1, true, inferCast, TG_EVALUATE(evaluateCopy)},
      {"stop_gradient", kKind, 1, false, inferStop, TG_EVALUATE(evaluateCopy)},
  };
  return table;
}

} // namespace tegula
