// pad concatenate: pieces of inputs put into a larger array.
#include "primitives/Families.h"
#include "primitives/InferRules.h"
#include "primitives/Values.h"

namespace tegula {
namespace {

StatusOr<TensorTypes> inferPad(std::span<const TensorType> inputs, const Attributes& attributes) {
  TG_RETURN_IF_ERROR(checkInputCount("pad", inputs, 1));
  TG_RETURN_IF_ERROR(checkKnown("pad", attributes, {attr::low, attr::high, attr::interior, attr::value}));
  const TensorType& x = inputs[0];
  int rank = x.shape.rank();
  TG_ASSIGN_OR_RETURN(Shape low, intsAttribute("pad", attributes, attr::low, rank));
  TG_ASSIGN_OR_RETURN(Shape high, intsAttribute("pad", attributes, attr::high, rank));
  TG_ASSIGN_OR_RETURN(Shape interior, intsAttribute("pad", attributes, attr::interior, rank));
  const AttrValue* value = attributes.find(attr::value);
  if (!value || !(std::holds_alternative<double>(*value) || std::holds_alternative<int64_t>(*value)))
    return invalid("pad: attribute value is {}; expected a number", value ? toString(*value) : "missing");
  TensorType result{x.dtype, {}};
  for (int i = 0; i < rank; ++i) {
    if (low[i] < 0 || high[i] < 0 || interior[i] < 0)
      return invalid("pad: axis {} has low {}, high {}, interior {}; expected 0 or more (slice cuts)", i, low[i],
                     high[i], interior[i]);
    int64_t extent = 0;
    bool overflows = __builtin_mul_overflow(interior[i], std::max<int64_t>(x.shape[i] - 1, 0), &extent) ||
                     __builtin_add_overflow(extent, x.shape[i], &extent) ||
                     __builtin_add_overflow(extent, low[i], &extent) ||
                     __builtin_add_overflow(extent, high[i], &extent);
    if (overflows) return invalid("pad: axis {} of {} grows past 2^63", i, toString(x));
    result.shape.push_back(extent);
  }
  TG_RETURN_IF_ERROR(checkSize("pad", result));
  return one(result);
}

#if TEGULA_REFERENCE
/// The elements of `whole` from `starts`, `steps` apart.
HostArray region(HostArray& whole, const Shape& starts, const Shape& steps, const Shape& shape) {
  int64_t offset = 0;
  Shape strides;
  for (int i = 0; i < shape.rank(); ++i) {
    offset += starts[i] * whole.strides()[i];
    strides.push_back(steps[i] * whole.strides()[i]);
  }
  return HostArray::wrap({whole.dtype(), shape}, strides, whole.as<uint8_t>() + offset * sizeBytes(whole.dtype()),
                         nullptr);
}

Status evaluatePad(std::span<const HostArray> inputs, const Attributes& attributes, std::span<HostArray> outputs) {
  HostArray& y = outputs[0];
  HostArray value = HostArray::scalar(y.dtype(), attributes.getFloat(attr::value));
  y.copyFrom(value.expand(y.shape()));
  if (inputs[0].elements() == 0) return OkStatus();
  Shape steps;
  for (int64_t between : attributes.getInts(attr::interior)) steps.push_back(between + 1);
  region(y, attributes.getInts(attr::low), steps, inputs[0].shape()).copyFrom(inputs[0]);
  return OkStatus();
}
#endif

StatusOr<TensorTypes> inferConcatenate(std::span<const TensorType> inputs, const Attributes& attributes) {
  if (inputs.empty()) return invalid("concatenate: takes one or more inputs but was given 0");
  TG_RETURN_IF_ERROR(checkKnown("concatenate", attributes, {attr::axis}));
  TensorType result = inputs[0];
  TG_ASSIGN_OR_RETURN(int axis, axisAttribute("concatenate", attributes, result.shape.rank()));
  for (size_t k = 1; k < inputs.size(); ++k) {
    const TensorType& x = inputs[k];
    if (x.dtype != result.dtype || x.shape.rank() != result.shape.rank())
      return invalid("concatenate: input 0 is {} but input {} is {}; expected one type and rank", toString(inputs[0]),
                     k, toString(x));
    for (int i = 0; i < x.shape.rank(); ++i)
      if (i != axis && x.shape[i] != result.shape[i])
        return invalid(
            "concatenate: axis {} of input 0 {} has extent {} but of input {} {} {}; only axis {} may differ", i,
            toString(inputs[0]), result.shape[i], k, toString(x), x.shape[i], axis);
    result.shape[axis] += x.shape[axis];
  }
  TG_RETURN_IF_ERROR(checkSize("concatenate", result));
  return one(result);
}

#if TEGULA_REFERENCE
Status evaluateConcatenate(std::span<const HostArray> inputs, const Attributes& attributes,
                           std::span<HostArray> outputs) {
  int axis = static_cast<int>(attributes.getInt(attr::axis));
  Shape starts, steps;
  for (int i = 0; i < outputs[0].shape().rank(); ++i) {
    starts.push_back(0);
    steps.push_back(1);
  }
  for (const HostArray& x : inputs) {
    if (x.elements() != 0) region(outputs[0], starts, steps, x.shape()).copyFrom(x);
    starts[axis] += x.shape()[axis];
  }
  return OkStatus();
}
#endif

} // namespace

std::span<const Primitive> movePrimitives() {
  static const Primitive table[] = {
      {"pad", PrimitiveKind::Move, 1, true, inferPad, TG_EVALUATE(evaluatePad)},
      {"concatenate", PrimitiveKind::Move, -1, true, inferConcatenate, TG_EVALUATE(evaluateConcatenate)},
  };
  return table;
}

} // namespace tegula
