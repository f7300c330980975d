// gather scatter_add: whole slices of an axis taken by index, and sums of slices put back by index. An index outside
// the axis (a negative one too) reads NaN or 0, and is skipped when adding.
#include "primitives/Families.h"
#include "primitives/InferRules.h"
#include "primitives/Values.h"

#include <limits>

namespace tegula {
namespace {

StatusOr<TensorTypes> inferGather(std::span<const TensorType> inputs, const Attributes& attributes) {
  TG_RETURN_IF_ERROR(checkInputCount("gather", inputs, 2));
  TG_RETURN_IF_ERROR(checkKnown("gather", attributes, {attr::axis}));
  const TensorType &x = inputs[0], &indices = inputs[1];
  TG_ASSIGN_OR_RETURN(int axis, axisAttribute("gather", attributes, x.shape.rank()));
  if (!isInteger(indices.dtype)) return invalid("gather: indices are {}; expected integers", toString(indices));
  TG_RETURN_IF_ERROR(checkRank("gather", x.shape.rank() - 1 + indices.shape.rank()));
  TensorType result{x.dtype, {}};
  for (int i = 0; i < axis; ++i) result.shape.push_back(x.shape[i]);
  for (int64_t extent : indices.shape) result.shape.push_back(extent);
  for (int i = axis + 1; i < x.shape.rank(); ++i) result.shape.push_back(x.shape[i]);
  TG_RETURN_IF_ERROR(checkSize("gather", result));
  return one(result);
}

StatusOr<TensorTypes> inferScatter(std::span<const TensorType> inputs, const Attributes& attributes) {
  TG_RETURN_IF_ERROR(checkInputCount("scatter_add", inputs, 2));
  TG_RETURN_IF_ERROR(checkKnown("scatter_add", attributes, {attr::axis, attr::size}));
  const TensorType &updates = inputs[0], &indices = inputs[1];
  TG_ASSIGN_OR_RETURN(int64_t size, intAttribute("scatter_add", attributes, attr::size));
  if (!isInteger(indices.dtype)) return invalid("scatter_add: indices are {}; expected integers", toString(indices));
  if (updates.dtype == DType::Bool)
    return invalid("scatter_add: updates are {}; expected floats or integers", toString(updates));
  int taken = indices.shape.rank(), rank = updates.shape.rank() - taken + 1;
  TG_RETURN_IF_ERROR(checkRank("scatter_add", rank));
  if (rank < 1)
    return invalid("scatter_add: updates {} have fewer axes than indices {}", toString(updates), toString(indices));
  TG_ASSIGN_OR_RETURN(int axis, axisAttribute("scatter_add", attributes, rank));
  for (int i = 0; i < taken; ++i)
    if (updates.shape[axis + i] != indices.shape[i])
      return invalid("scatter_add: axis {} of updates {} has extent {} but axis {} of indices {} has {}", axis + i,
                     toString(updates), updates.shape[axis + i], i, toString(indices), indices.shape[i]);
  TensorType result{updates.dtype, {}};
  for (int i = 0; i < axis; ++i) result.shape.push_back(updates.shape[i]);
  result.shape.push_back(size);
  for (int i = axis + taken; i < updates.shape.rank(); ++i) result.shape.push_back(updates.shape[i]);
  TG_RETURN_IF_ERROR(checkSize("scatter_add", result));
  return one(result);
}

#if TEGULA_REFERENCE
Status evaluateGather(std::span<const HostArray> inputs, const Attributes& attributes, std::span<HostArray> outputs) {
  AxisSplit split(inputs[0].shape(), static_cast<int>(attributes.getInt(attr::axis)));
  InputValues<int64_t> indices(inputs[1]);
  int64_t count = inputs[1].elements();
  return withComputeType(inputs[0].dtype(), [&](auto zero) {
    using T = decltype(zero);
    InputValues<T> x(inputs[0]);
    OutputValues<T> y(outputs[0]);
    T outside = std::numeric_limits<T>::quiet_NaN(); // 0 for integers
    for (int64_t o = 0; o < split.outer; ++o)
      for (int64_t k = 0; k < count; ++k) {
        int64_t index = indices[k];
        T* to = y.data() + (o * count + k) * split.inner;
        if (index < 0 || index >= split.extent)
          std::fill_n(to, split.inner, outside);
        else
          std::copy_n(x.data() + (o * split.extent + index) * split.inner, split.inner, to);
      }
    y.store();
    return OkStatus();
  });
}

Status evaluateScatter(std::span<const HostArray> inputs, const Attributes& attributes, std::span<HostArray> outputs) {
  AxisSplit split(outputs[0].shape(), static_cast<int>(attributes.getInt(attr::axis)));
  InputValues<int64_t> indices(inputs[1]);
  int64_t count = inputs[1].elements();
  return withComputeType(inputs[0].dtype(), [&](auto zero) {
    using T = decltype(zero);
    InputValues<T> updates(inputs[0]);
    OutputValues<T> y(outputs[0]);
    for (int64_t o = 0; o < split.outer; ++o)
      for (int64_t k = 0; k < count; ++k) {
        int64_t index = indices[k];
        if (index < 0 || index >= split.extent) continue;
        const T* from = updates.data() + (o * count + k) * split.inner;
        T* to = y.data() + (o * split.extent + index) * split.inner;
        for (int64_t i = 0; i < split.inner; ++i) {
          if constexpr (std::is_same_v<T, double>)
            to[i] += from[i];
          else
            to[i] = wrapAdd(to[i], from[i]);
        }
      }
    y.store();
    return OkStatus();
  });
}
#endif

} // namespace

std::span<const Primitive> gatherPrimitives() {
  static const Primitive table[] = {
      {"gather", PrimitiveKind::Gather, 2, true, inferGather, TG_EVALUATE(evaluateGather)},
      {"scatter_add", PrimitiveKind::Scatter, 2, true, inferScatter, TG_EVALUATE(evaluateScatter)},
  };
  return table;
}

} // namespace tegula
