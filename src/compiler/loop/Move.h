// Pad and concatenate: pieces copied into a larger result, one dispatch a piece.
#pragma once

#include "compiler/Target.h"
#include "compiler/loop/AxisMemory.h"

namespace tegula::loop {

/// `node` is the only node of the group's body: pad or concatenate.
StatusOr<GroupSchedule> scheduleMove(const Group&, const Node& node, const Target&, AxisMemory&);

/// A dispatch that writes `value` to every element of a strided result.
StatusOr<GroupDispatch> fillDispatch(OperandRef, const TensorType&, const Shape& strides, double value, const Target&,
                                     AxisMemory&);

/// A dispatch that copies (and converts) between strided windows of one shape. Offsets and strides in elements.
struct Window {
  OperandRef ref;
  DType dtype;
  int64_t offset;
  Shape strides;
};
StatusOr<GroupDispatch> copyDispatch(const Window& from, const Window& to, const Shape& shape, const Target&,
                                     AxisMemory&);

} // namespace tegula::loop
