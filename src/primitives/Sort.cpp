// sort: values along an axis in order, and where each came from. Stable; a NaN comes last in either direction.
#include "primitives/Families.h"
#include "primitives/InferRules.h"
#include "primitives/Values.h"

#include <algorithm>
#include <numeric>

namespace tegula {
namespace {

StatusOr<TensorTypes> infer(std::span<const TensorType> inputs, const Attributes& attributes) {
  TG_RETURN_IF_ERROR(checkInputCount("sort", inputs, 1));
  TG_RETURN_IF_ERROR(checkKnown("sort", attributes, {attr::axis, attr::descending}));
  TG_RETURN_IF_ERROR(axisAttribute("sort", attributes, inputs[0].shape.rank()).status());
  TG_RETURN_IF_ERROR(flagAttribute("sort", attributes, attr::descending).status());
  TG_RETURN_IF_ERROR(checkSize("sort", {DType::I64, inputs[0].shape}));
  return TensorTypes{inputs[0], {DType::I64, inputs[0].shape}};
}

#if TEGULA_REFERENCE
Status evaluate(std::span<const HostArray> inputs, const Attributes& attributes, std::span<HostArray> outputs) {
  AxisSplit split(inputs[0].shape(), static_cast<int>(attributes.getInt(attr::axis)));
  bool descending = attributes.getBoolOr(attr::descending, false);
  return withComputeType(inputs[0].dtype(), [&](auto zero) {
    using T = decltype(zero);
    InputValues<T> x(inputs[0]);
    OutputValues<T> values(outputs[0]);
    OutputValues<int64_t> indices(outputs[1]);
    std::vector<int64_t> order(static_cast<size_t>(split.extent));
    for (int64_t o = 0; o < split.outer; ++o)
      for (int64_t i = 0; i < split.inner; ++i) {
        auto at = [&](int64_t k) { return (o * split.extent + k) * split.inner + i; };
        std::iota(order.begin(), order.end(), int64_t{0});
        std::sort(order.begin(), order.end(), [&](int64_t left, int64_t right) {
          T a = x[at(left)], b = x[at(right)];
          bool aNan = a != a, bNan = b != b;
          if (aNan != bNan) return bNan;
          if (aNan || a == b) return left < right;
          return descending ? a > b : a < b;
        });
        for (int64_t k = 0; k < split.extent; ++k) {
          values[at(k)] = x[at(order[static_cast<size_t>(k)])];
          indices[at(k)] = order[static_cast<size_t>(k)];
        }
      }
    values.store();
    indices.store();
    return OkStatus();
  });
}
#endif

} // namespace

std::span<const Primitive> sortPrimitives() {
  static const Primitive table[] = {
      {"sort", PrimitiveKind::Ordered, 1, true, infer, TG_EVALUATE(evaluate)},
  };
  return table;
}

} // namespace tegula
