// slice transpose reshape: the same elements under other indices.
#include "primitives/Families.h"
#include "primitives/InferRules.h"
#include "primitives/Values.h"

namespace tegula {
namespace {

StatusOr<TensorTypes> inferSlice(std::span<const TensorType> inputs, const Attributes& attributes) {
  TG_RETURN_IF_ERROR(checkInputCount("slice", inputs, 1));
  TG_RETURN_IF_ERROR(checkKnown("slice", attributes, {attr::starts, attr::sizes, attr::steps}));
  const TensorType& x = inputs[0];
  int rank = x.shape.rank();
  TG_ASSIGN_OR_RETURN(Shape starts, intsAttribute("slice", attributes, attr::starts, rank));
  TG_ASSIGN_OR_RETURN(Shape sizes, intsAttribute("slice", attributes, attr::sizes, rank));
  TG_ASSIGN_OR_RETURN(Shape steps, intsAttribute("slice", attributes, attr::steps, rank));
  for (int i = 0; i < rank; ++i) {
    int64_t extent = x.shape[i], last = 0;
    if (steps[i] == 0) return invalid("slice: the step of axis {} is 0; expected 1, -1 or more in size", i);
    if (sizes[i] < 0) return invalid("slice: the size of axis {} is {}; expected 0 or more", i, sizes[i]);
    if (sizes[i] == 0) continue;
    bool overflows =
        __builtin_mul_overflow(sizes[i] - 1, steps[i], &last) || __builtin_add_overflow(last, starts[i], &last);
    if (overflows || starts[i] < 0 || starts[i] >= extent || last < 0 || last >= extent)
      return invalid("slice: axis {} of {} has extent {} but start {}, size {}, step {} reads {} to {}", i, toString(x),
                     extent, starts[i], sizes[i], steps[i], starts[i], last);
  }
  return one({x.dtype, sizes});
}

#if TEGULA_REFERENCE
Status evaluateSlice(std::span<const HostArray> inputs, const Attributes& attributes, std::span<HostArray> outputs) {
  const HostArray& x = inputs[0];
  const Shape &starts = attributes.getInts(attr::starts), &steps = attributes.getInts(attr::steps);
  if (outputs[0].elements() == 0) return OkStatus();
  int64_t offset = 0;
  Shape strides;
  for (int i = 0; i < x.shape().rank(); ++i) {
    offset += starts[i] * x.strides()[i];
    strides.push_back(steps[i] * x.strides()[i]);
  }
  auto* first = const_cast<uint8_t*>(x.as<uint8_t>()) + offset * sizeBytes(x.dtype());
  outputs[0].copyFrom(HostArray::wrap({x.dtype(), outputs[0].shape()}, strides, first, nullptr));
  return OkStatus();
}
#endif

StatusOr<TensorTypes> inferTranspose(std::span<const TensorType> inputs, const Attributes& attributes) {
  TG_RETURN_IF_ERROR(checkInputCount("transpose", inputs, 1));
  TG_RETURN_IF_ERROR(checkKnown("transpose", attributes, {attr::permutation}));
  const TensorType& x = inputs[0];
  TG_ASSIGN_OR_RETURN(Shape permutation, intsAttribute("transpose", attributes, attr::permutation, x.shape.rank()));
  TG_RETURN_IF_ERROR(checkAxes("transpose", attr::permutation, permutation, x.shape.rank()));
  TensorType result{x.dtype, {}};
  for (int64_t axis : permutation) result.shape.push_back(x.shape[static_cast<int>(axis)]);
  return one(result);
}

#if TEGULA_REFERENCE
Status evaluateTranspose(std::span<const HostArray> inputs, const Attributes& attributes,
                         std::span<HostArray> outputs) {
  outputs[0].copyFrom(inputs[0].transpose(attributes.getInts(attr::permutation).dims()));
  return OkStatus();
}
#endif

StatusOr<TensorTypes> inferReshape(std::span<const TensorType> inputs, const Attributes& attributes) {
  TG_RETURN_IF_ERROR(checkInputCount("reshape", inputs, 1));
  TG_RETURN_IF_ERROR(checkKnown("reshape", attributes, {attr::shape}));
  const TensorType& x = inputs[0];
  TG_ASSIGN_OR_RETURN(Shape shape, intsAttribute("reshape", attributes, attr::shape));
  TensorType result{x.dtype, shape};
  TG_RETURN_IF_ERROR(checkSize("reshape", result));
  if (shape.elements() != x.shape.elements())
    return invalid("reshape: {} has {} elements but {} has {}", toString(x), x.shape.elements(), toString(shape),
                   shape.elements());
  return one(result);
}

#if TEGULA_REFERENCE
Status evaluateReshape(std::span<const HostArray> inputs, const Attributes&, std::span<HostArray> outputs) {
  outputs[0].copyFrom(inputs[0].contiguous().reshape(outputs[0].shape()));
  return OkStatus();
}
#endif

} // namespace

std::span<const Primitive> viewPrimitives() {
  constexpr PrimitiveKind kKind = PrimitiveKind::View;
  static const Primitive table[] = {
      {"slice", kKind, 1, true, inferSlice, TG_EVALUATE(evaluateSlice)},
      {"transpose", kKind, 1, true, inferTranspose, TG_EVALUATE(evaluateTranspose)},
      {"reshape", kKind, 1, true, inferReshape, TG_EVALUATE(evaluateReshape)},
  };
  return table;
}

} // namespace tegula
