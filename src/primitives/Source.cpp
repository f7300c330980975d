// iota constant: arrays made from attributes alone.
#include "primitives/Families.h"
#include "primitives/InferRules.h"
#include "primitives/Values.h"

#include <cmath>

namespace tegula {
namespace {

StatusOr<TensorTypes> inferIota(std::span<const TensorType> inputs, const Attributes& attributes) {
  TG_RETURN_IF_ERROR(checkInputCount("iota", inputs, 0));
  TG_RETURN_IF_ERROR(checkKnown("iota", attributes, {attr::shape, attr::axis, attr::dtype}));
  TG_ASSIGN_OR_RETURN(Shape shape, intsAttribute("iota", attributes, attr::shape));
  TG_ASSIGN_OR_RETURN(DType d, dtypeAttribute("iota", attributes, attr::dtype));
  TG_RETURN_IF_ERROR(axisAttribute("iota", attributes, shape.rank()).status());
  if (d == DType::Bool) return invalid("iota: dtype is bool; expected floats or integers");
  TG_RETURN_IF_ERROR(checkSize("iota", {d, shape}));
  return one({d, shape});
}

#if TEGULA_REFERENCE
Status evaluateIota(std::span<const HostArray>, const Attributes& attributes, std::span<HostArray> outputs) {
  AxisSplit split(outputs[0].shape(), static_cast<int>(attributes.getInt(attr::axis)));
  OutputValues<int64_t> y(outputs[0]);
  for (int64_t i = 0; i < y.size(); ++i) y[i] = i / split.inner % split.extent;
  y.store();
  return OkStatus();
}
#endif

StatusOr<TensorTypes> inferConstant(std::span<const TensorType> inputs, const Attributes& attributes) {
  TG_RETURN_IF_ERROR(checkInputCount("constant", inputs, 0));
  TG_RETURN_IF_ERROR(checkKnown("constant", attributes, {attr::value, attr::dtype}));
  TG_ASSIGN_OR_RETURN(DType d, dtypeAttribute("constant", attributes, attr::dtype));
  const AttrValue* value = attributes.find(attr::value);
  if (!value) return invalid("constant: attribute value is missing; expected a number or a bool");
  if (const double* number = std::get_if<double>(value)) {
    if (!isFloat(d) && (!std::isfinite(*number) || *number != std::floor(*number)))
      return invalid("constant: value {} is not a whole number but dtype is {}", *number, name(d));
  } else if (!std::holds_alternative<int64_t>(*value) && !std::holds_alternative<bool>(*value)) {
    return invalid("constant: attribute value is {}; expected a number or a bool", toString(*value));
  }
  return one({d, {}});
}

#if TEGULA_REFERENCE
Status evaluateConstant(std::span<const HostArray>, const Attributes& attributes, std::span<HostArray> outputs) {
  storeConstant(attributes, outputs[0]);
  return OkStatus();
}
#endif

} // namespace

void storeConstant(const Attributes& attributes, HostArray& element) {
  const AttrValue& value = *attributes.find(attr::value);
  if (const double* number = std::get_if<double>(&value))
    element.set(0, *number);
  else if (const int64_t* whole = std::get_if<int64_t>(&value))
    element.setInt(0, *whole);
  else
    element.setInt(0, std::get<bool>(value));
}

std::span<const Primitive> sourcePrimitives() {
  static const Primitive table[] = {
      {"iota", PrimitiveKind::Source, 0, false, inferIota, TG_EVALUATE(evaluateIota)},
      {"constant", PrimitiveKind::Source, 0, false, inferConstant, TG_EVALUATE(evaluateConstant)},
  };
  return table;
}

} // namespace tegula
