// scan: running sum, product, largest or smallest along an axis, each element included, from either end.
#include "primitives/Families.h"
#include "primitives/InferRules.h"
#include "primitives/Values.h"

namespace tegula {
namespace {

const Symbol kSum = "sum", kProd = "prod", kMax = "max", kMin = "min";

StatusOr<TensorTypes> infer(std::span<const TensorType> inputs, const Attributes& attributes) {
  TG_RETURN_IF_ERROR(checkInputCount("scan", inputs, 1));
  TG_RETURN_IF_ERROR(checkKnown("scan", attributes, {attr::kind, attr::axis, attr::reverse}));
  TG_RETURN_IF_ERROR(axisAttribute("scan", attributes, inputs[0].shape.rank()).status());
  TG_RETURN_IF_ERROR(flagAttribute("scan", attributes, attr::reverse).status());
  TG_ASSIGN_OR_RETURN(Symbol kind, nameAttribute("scan", attributes, attr::kind));
  if (kind != kSum && kind != kProd && kind != kMax && kind != kMin)
    return invalid("scan: kind is {}; expected sum, prod, max or min", kind.text());
  if (inputs[0].dtype == DType::Bool)
    return invalid("scan: x is {}; expected floats or integers; cast it first", toString(inputs[0]));
  return one(inputs[0]);
}

#if TEGULA_REFERENCE
template <typename T> T combine(Symbol kind, T a, T b) {
  if (kind == kMax) return maxOf(a, b);
  if (kind == kMin) return minOf(a, b);
  if constexpr (std::is_same_v<T, double>)
    return kind == kSum ? a + b : a * b;
  else
    return kind == kSum ? wrapAdd(a, b) : wrapMul(a, b);
}

Status evaluate(std::span<const HostArray> inputs, const Attributes& attributes, std::span<HostArray> outputs) {
  AxisSplit split(inputs[0].shape(), static_cast<int>(attributes.getInt(attr::axis)));
  bool reverse = attributes.getBoolOr(attr::reverse, false);
  Symbol kind = attributes.getName(attr::kind);
  return withComputeType(inputs[0].dtype(), [&](auto zero) {
    using T = decltype(zero);
    InputValues<T> x(inputs[0]);
    OutputValues<T> y(outputs[0]);
    for (int64_t o = 0; o < split.outer; ++o)
      for (int64_t i = 0; i < split.inner; ++i) {
        T running{};
        for (int64_t k = 0; k < split.extent; ++k) {
          int64_t at = (o * split.extent + (reverse ? split.extent - 1 - k : k)) * split.inner + i;
          running = k == 0 ? x[at] : combine(kind, running, x[at]);
          y[at] = running;
        }
      }
    y.store();
    return OkStatus();
  });
}
#endif

} // namespace

std::span<const Primitive> scanPrimitives() {
  static const Primitive table[] = {
      {"scan", PrimitiveKind::Ordered, 1, true, infer, TG_EVALUATE(evaluate)},
  };
  return table;
}

} // namespace tegula
