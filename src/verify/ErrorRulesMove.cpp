// Error rules of moves and sources: bounds move with the elements.
#include "verify/ErrorRules.h"

#include <algorithm>
#include <cmath>

namespace tegula {
namespace {

bool movesElements(PrimitiveKind kind) {
  return kind == PrimitiveKind::Broadcast || kind == PrimitiveKind::View || kind == PrimitiveKind::Move ||
         kind == PrimitiveKind::Relayout || kind == PrimitiveKind::Gather;
}

Status move(ErrorRuleCall& call) {
  std::vector<HostArray> bounds;
  for (size_t i = 0; i < call.inputs.size(); ++i)
    bounds.push_back(call.primitive.kind == PrimitiveKind::Gather && i == 1 ? call.inputs[i].value
                                                                            : boundsArray(call.inputs[i]));
  Attributes attributes = call.attributes;
  if (attributes.has("value")) attributes.set("value", 0.0); // padding is exact
  std::vector<HostArray> out = {HostArray::zeros(DType::F64, call.results[0].shape)};
  TG_RETURN_IF_ERROR(call.primitive.evaluate(bounds, attributes, out));
  call.bounds[0] = out[0].toVector();
  for (double& e : call.bounds[0])
    if (std::isnan(e)) e = 0; // outside of a gather: NaN for certain
  return OkStatus();
}

/// What an index that is not certain reads is undecided.
Status leaveReadOpen(ErrorRuleCall& call) {
  const BoundedArray& indices = call.inputs[1];
  constexpr int64_t kNowhere = -1; // outside the axis: reads NaN
  HostArray places({DType::I64, indices.value.shape()});
  for (size_t i = 0; i < indices.bound.size(); ++i)
    places.setInt(static_cast<int64_t>(i), indices.bound[i] != 0 ? kNowhere : 0);
  std::vector<HostArray> in = {HostArray::zeros(DType::F64, call.inputs[0].value.shape()), places};
  TG_ASSIGN_OR_RETURN(std::vector<double> read, call.apply(in));
  for (size_t i = 0; i < read.size(); ++i)
    if (std::isnan(read[i])) call.bounds[0][i] = kUndecided;
  return OkStatus();
}

} // namespace

StatusOr<bool> moveErrorRule(ErrorRuleCall& call) {
  if (call.primitive.name == Symbol("random_uniform")) return true; // exact in its type
  if (call.primitive.kind == PrimitiveKind::Source) {               // rounded constants and indices
    std::vector<double> y = call.outputs[0].toVector();
    for (size_t i = 0; i < y.size(); ++i) call.bounds[0][i] = roundedBound(y[i], 0, call.results[0].dtype, 0);
    return true;
  }
  if (!movesElements(call.primitive.kind)) return false;
  TG_RETURN_IF_ERROR(move(call));
  bool indexed = call.primitive.kind == PrimitiveKind::Gather;
  if (indexed && std::ranges::any_of(call.inputs[1].bound, [](double e) { return e != 0; }))
    TG_RETURN_IF_ERROR(leaveReadOpen(call));
  return true;
}

} // namespace tegula
