// logical_not is_nan logical_and logical_or: truth values of single elements.
#include "primitives/Families.h"
#include "primitives/InferRules.h"
#include "primitives/Values.h"

namespace tegula {
namespace {

StatusOr<TensorTypes> inferIsNan(std::span<const TensorType> inputs, const Attributes& attributes) {
  TG_RETURN_IF_ERROR(checkInputCount("is_nan", inputs, 1));
  TG_RETURN_IF_ERROR(checkKnown("is_nan", attributes, {}));
  if (!isFloat(inputs[0].dtype)) return invalid("is_nan: x is {}; expected floats", toString(inputs[0]));
  return one({DType::Bool, inputs[0].shape});
}

template <RuleName kName, size_t kInputs>
StatusOr<TensorTypes> inferLogical(std::span<const TensorType> inputs, const Attributes& attributes) {
  TG_RETURN_IF_ERROR(checkInputCount(kName.view(), inputs, kInputs));
  TG_RETURN_IF_ERROR(checkKnown(kName.view(), attributes, {}));
  for (const TensorType& t : inputs)
    if (t.dtype != DType::Bool)
      return invalid("{}: an input is {}; expected bool; compare it with something first", kName.view(), toString(t));
  if (inputs.back().shape != inputs[0].shape)
    return invalid("{}: a is {} but b is {}; broadcast one first", kName.view(), toString(inputs[0]),
                   toString(inputs[1]));
  return one(inputs[0]);
}

#if TEGULA_REFERENCE
Status evaluateIsNan(std::span<const HostArray> inputs, const Attributes&, std::span<HostArray> outputs) {
  InputValues<double> x(inputs[0]);
  OutputValues<int64_t> y(outputs[0]);
  for (int64_t i = 0; i < y.size(); ++i) y[i] = x[i] != x[i];
  y.store();
  return OkStatus();
}

Status evaluateNot(std::span<const HostArray> inputs, const Attributes&, std::span<HostArray> outputs) {
  InputValues<int64_t> x(inputs[0]);
  OutputValues<int64_t> y(outputs[0]);
  for (int64_t i = 0; i < y.size(); ++i) y[i] = !x[i];
  y.store();
  return OkStatus();
}

template <bool kAnd>
Status evaluatePair(std::span<const HostArray> inputs, const Attributes&, std::span<HostArray> outputs) {
  InputValues<int64_t> a(inputs[0]), b(inputs[1]);
  OutputValues<int64_t> y(outputs[0]);
  for (int64_t i = 0; i < y.size(); ++i) y[i] = kAnd ? (a[i] & b[i]) : (a[i] | b[i]);
  y.store();
  return OkStatus();
}
#endif

} // namespace

std::span<const Primitive> logicPrimitives() {
  constexpr PrimitiveKind kKind = PrimitiveKind::Elementwise;
  static const Primitive table[] = {
      {"logical_not", kKind, 1, false, inferLogical<"logical_not", 1>, TG_EVALUATE(evaluateNot)},
      {"is_nan", kKind, 1, false, inferIsNan, TG_EVALUATE(evaluateIsNan)},
      {"logical_and", kKind, 2, false, inferLogical<"logical_and", 2>, TG_EVALUATE(evaluatePair<true>)},
      {"logical_or", kKind, 2, false, inferLogical<"logical_or", 2>, TG_EVALUATE(evaluatePair<false>)},
  };
  return table;
}

} // namespace tegula
