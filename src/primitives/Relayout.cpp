// relayout: the same value in another memory layout (tensor/Layout.h). Host arrays are always strided, so the
// reference only copies.
#include "primitives/Families.h"
#include "primitives/InferRules.h"
#include "primitives/Values.h"

namespace tegula {
namespace {

StatusOr<TensorTypes> infer(std::span<const TensorType> inputs, const Attributes& attributes) {
  TG_RETURN_IF_ERROR(checkInputCount("relayout", inputs, 1));
  TG_RETURN_IF_ERROR(checkKnown("relayout", attributes, {attr::panelAxis, attr::panel, attr::pair}));
  TG_ASSIGN_OR_RETURN(int64_t axis, intAttribute("relayout", attributes, attr::panelAxis));
  TG_ASSIGN_OR_RETURN(int64_t panel, intAttribute("relayout", attributes, attr::panel));
  TG_ASSIGN_OR_RETURN(int64_t pair, intAttribute("relayout", attributes, attr::pair));
  if (axis != 0 && axis != 1)
    return invalid("relayout: panel_axis is {}; expected 0 (panels of rows) or 1 (panels of columns)", axis);
  if (panel < 0 || panel > INT32_MAX || pair < 0 || pair > INT32_MAX || (panel == 0) != (pair == 0))
    return invalid("relayout: panel is {} and pair is {}; expected both above 0, or both 0 for strided", panel, pair);
  if (panel != 0 && inputs[0].shape.rank() < 2)
    return invalid("relayout: x is {}; a blocked layout needs at least 2 axes", toString(inputs[0]));
  return one(inputs[0]);
}

#if TEGULA_REFERENCE
Status evaluate(std::span<const HostArray> inputs, const Attributes&, std::span<HostArray> outputs) {
  outputs[0].copyFrom(inputs[0]);
  return OkStatus();
}
#endif

} // namespace

std::span<const Primitive> relayoutPrimitives() {
  static const Primitive table[] = {
      {"relayout", PrimitiveKind::Relayout, 1, true, infer, TG_EVALUATE(evaluate)},
  };
  return table;
}

} // namespace tegula
