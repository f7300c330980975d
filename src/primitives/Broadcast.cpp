// broadcast: an array repeated along axes that it lacks or has with extent 1.
#include "primitives/Families.h"
#include "primitives/InferRules.h"
#include "primitives/Values.h"

namespace tegula {
namespace {

StatusOr<TensorTypes> infer(std::span<const TensorType> inputs, const Attributes& attributes) {
  TG_RETURN_IF_ERROR(checkInputCount("broadcast", inputs, 1));
  TG_RETURN_IF_ERROR(checkKnown("broadcast", attributes, {attr::shape, attr::axes}));
  const TensorType& x = inputs[0];
  TG_ASSIGN_OR_RETURN(Shape shape, intsAttribute("broadcast", attributes, attr::shape));
  TG_ASSIGN_OR_RETURN(Shape axes, intsAttribute("broadcast", attributes, attr::axes, x.shape.rank()));
  TG_RETURN_IF_ERROR(checkAxes("broadcast", attr::axes, axes, shape.rank()));
  TensorType result{x.dtype, shape};
  TG_RETURN_IF_ERROR(checkSize("broadcast", result));
  for (int i = 0; i < axes.rank(); ++i) {
    int to = static_cast<int>(axes[i]);
    if (i > 0 && axes[i] <= axes[i - 1])
      return invalid("broadcast: axes {} are not increasing; transpose first", toString(axes));
    if (x.shape[i] != 1 && x.shape[i] != shape[to])
      return invalid("broadcast: axis {} of {} has extent {} but axis {} of the result {} has {}; only 1 repeats", i,
                     toString(x), x.shape[i], to, toString(shape), shape[to]);
  }
  return one(result);
}

#if TEGULA_REFERENCE
Status evaluate(std::span<const HostArray> inputs, const Attributes& attributes, std::span<HostArray> outputs) {
  const HostArray& x = inputs[0];
  const Shape &shape = outputs[0].shape(), &axes = attributes.getInts(attr::axes);
  Shape strides;
  for (int i = 0; i < shape.rank(); ++i) strides.push_back(0);
  for (int i = 0; i < axes.rank(); ++i)
    if (x.shape()[i] != 1) strides[static_cast<int>(axes[i])] = x.strides()[i];
  outputs[0].copyFrom(HostArray::wrap({x.dtype(), shape}, strides, const_cast<void*>(x.data()), nullptr));
  return OkStatus();
}
#endif

} // namespace

std::span<const Primitive> broadcastPrimitives() {
  static const Primitive table[] = {
      {"broadcast", PrimitiveKind::Broadcast, 1, true, infer, TG_EVALUATE(evaluate)},
  };
  return table;
}

} // namespace tegula
