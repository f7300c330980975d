// Fills and copies between strided windows, and the primitives made of them.
#include "compiler/loop/Move.h"

#include "compiler/loop/Analysis.h"
#include "compiler/loop/Dispatch.h"
#include "compiler/loop/LoopSchedule.h"

namespace tegula::loop {
namespace {

StatusOr<GroupDispatch> dispatchOf(DraftKernel& draft, const Target& target, AxisMemory& memory) {
  TG_ASSIGN_OR_RETURN(LoopProblem problem, draft.finish());
  memory.collapse(problem);
  chooseSchedule(problem, target);
  return makeDispatch(problem, target);
}

DraftOperand windowOperand(const Window& w, const std::vector<int>& dims) {
  DraftOperand operand;
  operand.dtype = w.dtype;
  operand.ref = w.ref;
  operand.offset = w.offset;
  for (size_t i = 0; i < dims.size(); ++i) operand.dims.push_back({dims[i], w.strides[static_cast<int>(i)]});
  return operand;
}

Status checkStrided(const Layout& layout, const Node& node) {
  if (layout.kind == Layout::Kind::Strided) return OkStatus();
  return unsupported("{} of a {} operand; relayout it first", node.op.text(), toString(layout));
}

StatusOr<GroupSchedule> schedulePad(const Group& group, const Node& node, const Target& target, AxisMemory& memory) {
  const TensorType &x = group.body.typeOf(node.inputs[0]), &y = node.results[0];
  const Shape &low = node.attrs.getInts("low"), &interior = node.attrs.getInts("interior"),
              &strides = group.outputLayouts[0].strides;
  GroupSchedule result;
  result.reason = "pad: the value everywhere, then the elements";
  OperandRef output{OperandRef::Kind::Output, 0};
  TG_ASSIGN_OR_RETURN(GroupDispatch fill,
                      fillDispatch(output, y, strides, node.attrs.getFloat("value"), target, memory));
  Window from{{OperandRef::Kind::Input, 0}, x.dtype, 0, group.inputLayouts[0].strides}, to{output, y.dtype, 0, {}};
  for (int i = 0; i < y.shape.rank(); ++i) {
    to.offset += low[i] * strides[i];
    to.strides.push_back((interior[i] + 1) * strides[i]);
  }
  TG_ASSIGN_OR_RETURN(GroupDispatch copy, copyDispatch(from, to, x.shape, target, memory));
  result.dispatches.push_back(std::move(fill));
  result.dispatches.push_back(std::move(copy));
  return result;
}

StatusOr<GroupSchedule> scheduleConcatenate(const Group& group, const Node& node, const Target& target,
                                            AxisMemory& memory) {
  int axis = static_cast<int>(node.attrs.getInt("axis"));
  const Shape& strides = group.outputLayouts[0].strides;
  GroupSchedule result;
  result.reason = "concatenate: one copy an input";
  int64_t at = 0;
  for (Value v : node.inputs) {
    const TensorType& x = group.body.typeOf(v);
    int32_t index = 0; // the same operand may be concatenated twice
    while (group.body.inputs()[static_cast<size_t>(index)].node != v.node) ++index;
    Window from{{OperandRef::Kind::Input, index}, x.dtype, 0, group.inputLayouts[static_cast<size_t>(index)].strides};
    Window to{{OperandRef::Kind::Output, 0}, x.dtype, at * strides[axis], strides};
    TG_ASSIGN_OR_RETURN(GroupDispatch copy, copyDispatch(from, to, x.shape, target, memory));
    result.dispatches.push_back(std::move(copy));
    at += x.shape[axis];
  }
  return result;
}

} // namespace

StatusOr<GroupDispatch> fillDispatch(OperandRef ref, const TensorType& type, const Shape& strides, double value,
                                     const Target& target, AxisMemory& memory) {
  DraftKernel draft;
  std::vector<int> dims;
  for (int64_t extent : type.shape) dims.push_back(draft.dims.add(extent));
  int constant = draft.constant(type.dtype, value);
  draft.store(windowOperand({ref, type.dtype, 0, strides}, dims), constant);
  return dispatchOf(draft, target, memory);
}

StatusOr<GroupDispatch> copyDispatch(const Window& from, const Window& to, const Shape& shape, const Target& target,
                                     AxisMemory& memory) {
  DraftKernel draft;
  std::vector<int> dims;
  for (int64_t extent : shape) dims.push_back(draft.dims.add(extent));
  int element = draft.load(windowOperand(from, dims));
  draft.store(windowOperand(to, dims), draft.cast(element, to.dtype));
  return dispatchOf(draft, target, memory);
}

StatusOr<GroupSchedule> scheduleMove(const Group& group, const Node& node, const Target& target, AxisMemory& memory) {
  for (const Layout& layout : group.inputLayouts) TG_RETURN_IF_ERROR(checkStrided(layout, node));
  TG_RETURN_IF_ERROR(checkStrided(group.outputLayouts[0], node));
  return node.op == Symbol("pad") ? schedulePad(group, node, target, memory)
                                  : scheduleConcatenate(group, node, target, memory);
}

} // namespace tegula::loop
