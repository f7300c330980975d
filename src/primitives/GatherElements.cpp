// gather_elements scatter_elements_add: one index an element; for axis 0, y[i,j] = x[index[i,j], j]. An index outside
// the axis reads NaN or 0, and is skipped when adding.
#include "primitives/Families.h"
#include "primitives/InferRules.h"
#include "primitives/Values.h"

#include <limits>

namespace tegula {
namespace {

StatusOr<TensorTypes> inferGather(std::span<const TensorType> inputs, const Attributes& attributes) {
  TG_RETURN_IF_ERROR(checkInputCount("gather_elements", inputs, 2));
  TG_RETURN_IF_ERROR(checkKnown("gather_elements", attributes, {attr::axis}));
  const TensorType &x = inputs[0], &indices = inputs[1];
  TG_ASSIGN_OR_RETURN(int axis, axisAttribute("gather_elements", attributes, x.shape.rank()));
  if (!isInteger(indices.dtype))
    return invalid("gather_elements: indices are {}; expected integers", toString(indices));
  if (indices.shape.rank() != x.shape.rank())
    return invalid("gather_elements: x is {} but indices are {}; expected one rank", toString(x), toString(indices));
  for (int i = 0; i < x.shape.rank(); ++i)
    if (i != axis && indices.shape[i] != x.shape[i])
      return invalid("gather_elements: axis {} of x {} has extent {} but of indices {} {}; only axis {} may differ", i,
                     toString(x), x.shape[i], toString(indices), indices.shape[i], axis);
  TensorType result{x.dtype, indices.shape};
  TG_RETURN_IF_ERROR(checkSize("gather_elements", result));
  return one(result);
}

StatusOr<TensorTypes> inferScatter(std::span<const TensorType> inputs, const Attributes& attributes) {
  TG_RETURN_IF_ERROR(checkInputCount("scatter_elements_add", inputs, 2));
  TG_RETURN_IF_ERROR(checkKnown("scatter_elements_add", attributes, {attr::axis, attr::size}));
  const TensorType &updates = inputs[0], &indices = inputs[1];
  TG_ASSIGN_OR_RETURN(int axis, axisAttribute("scatter_elements_add", attributes, updates.shape.rank()));
  TG_ASSIGN_OR_RETURN(int64_t size, intAttribute("scatter_elements_add", attributes, attr::size));
  if (!isInteger(indices.dtype))
    return invalid("scatter_elements_add: indices are {}; expected integers", toString(indices));
  if (updates.dtype == DType::Bool)
    return invalid("scatter_elements_add: updates are {}; expected floats or integers", toString(updates));
  if (indices.shape != updates.shape)
    return invalid("scatter_elements_add: updates are {} but indices are {}; expected one shape", toString(updates),
                   toString(indices));
  TensorType result = updates;
  result.shape[axis] = size;
  TG_RETURN_IF_ERROR(checkSize("scatter_elements_add", result));
  return one(result);
}

#if TEGULA_REFERENCE
Status evaluateGather(std::span<const HostArray> inputs, const Attributes& attributes, std::span<HostArray> outputs) {
  int axis = static_cast<int>(attributes.getInt(attr::axis));
  AxisSplit from(inputs[0].shape(), axis), to(inputs[1].shape(), axis);
  InputValues<int64_t> indices(inputs[1]);
  return withComputeType(inputs[0].dtype(), [&](auto zero) {
    using T = decltype(zero);
    InputValues<T> x(inputs[0]);
    OutputValues<T> y(outputs[0]);
    for (int64_t o = 0; o < to.outer; ++o)
      for (int64_t k = 0; k < to.extent; ++k)
        for (int64_t i = 0; i < to.inner; ++i) {
          int64_t at = (o * to.extent + k) * to.inner + i, index = indices[at];
          bool inside = index >= 0 && index < from.extent;
          y[at] = inside ? x[(o * from.extent + index) * from.inner + i] : std::numeric_limits<T>::quiet_NaN();
        }
    y.store();
    return OkStatus();
  });
}

Status evaluateScatter(std::span<const HostArray> inputs, const Attributes& attributes, std::span<HostArray> outputs) {
  int axis = static_cast<int>(attributes.getInt(attr::axis));
  AxisSplit from(inputs[0].shape(), axis), to(outputs[0].shape(), axis);
  InputValues<int64_t> indices(inputs[1]);
  return withComputeType(inputs[0].dtype(), [&](auto zero) {
    using T = decltype(zero);
    InputValues<T> updates(inputs[0]);
    OutputValues<T> y(outputs[0]);
    for (int64_t o = 0; o < from.outer; ++o)
      for (int64_t k = 0; k < from.extent; ++k)
        for (int64_t i = 0; i < from.inner; ++i) {
          int64_t at = (o * from.extent + k) * from.inner + i, index = indices[at];
          if (index < 0 || index >= to.extent) continue;
          T& sum = y[(o * to.extent + index) * to.inner + i];
          if constexpr (std::is_same_v<T, double>)
            sum += updates[at];
          else
            sum = wrapAdd(sum, updates[at]);
        }
    y.store();
    return OkStatus();
  });
}
#endif

} // namespace

std::span<const Primitive> gatherElementsPrimitives() {
  static const Primitive table[] = {
      {"gather_elements", PrimitiveKind::Gather, 2, true, inferGather, TG_EVALUATE(evaluateGather)},
      {"scatter_elements_add", PrimitiveKind::Scatter, 2, true, inferScatter, TG_EVALUATE(evaluateScatter)},
  };
  return table;
}

} // namespace tegula
