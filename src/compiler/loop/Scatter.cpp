// Scatters as fill, accumulate and, for narrow floats, round.
#include "compiler/loop/Scatter.h"

#include "compiler/loop/Analysis.h"
#include "compiler/loop/Dispatch.h"
#include "compiler/loop/LoopSchedule.h"
#include "compiler/loop/Move.h"

namespace tegula::loop {
namespace {

/// Adds every update to its place in `sums` (row-major if a temporary).
StatusOr<LoopProblem> accumulateProblem(const Group& group, const Node& node, const Window& sums) {
  const TensorType &updates = group.body.typeOf(node.inputs[0]), &indices = group.body.typeOf(node.inputs[1]);
  int axis = static_cast<int>(node.attrs.getInt("axis"));
  bool elements = node.op == Symbol("scatter_elements_add");
  DraftKernel draft;
  std::vector<int> dims;
  for (int64_t extent : updates.shape) dims.push_back(draft.dims.add(extent));
  auto inputOperand = [&](Value v, DType dtype) {
    DraftOperand operand;
    operand.dtype = dtype;
    operand.ref.index = 0;
    while (group.body.inputs()[static_cast<size_t>(operand.ref.index)].node != v.node) ++operand.ref.index;
    return operand;
  };
  DraftOperand from = inputOperand(node.inputs[0], updates.dtype), at = inputOperand(node.inputs[1], indices.dtype), to;
  const Shape &updateStrides = group.inputLayouts[static_cast<size_t>(from.ref.index)].strides,
              &indexStrides = group.inputLayouts[static_cast<size_t>(at.ref.index)].strides;
  for (size_t i = 0; i < dims.size(); ++i) from.dims.push_back({dims[i], updateStrides[static_cast<int>(i)]});
  int first = elements ? 0 : axis, taken = elements ? 1 : indices.shape.rank();
  for (int i = 0; i < indices.shape.rank(); ++i)
    at.dims.push_back({dims[static_cast<size_t>(first) + static_cast<size_t>(i)], indexStrides[i]});
  int index = draft.cast(draft.load(std::move(at)), DType::I64);
  int update = draft.cast(draft.load(std::move(from)), sums.dtype);
  to.dtype = sums.dtype;
  to.ref = sums.ref;
  to.offset = sums.offset;
  int rank = sums.strides.rank();
  for (int i = 0; i < rank; ++i)
    if (i != axis) to.dims.push_back({dims[static_cast<size_t>(i < axis ? i : i + taken - 1)], sums.strides[i]});
  to.subscripts.push_back({index, sums.strides[axis], node.attrs.getInt("size")});
  draft.store(std::move(to), update, /*accumulate=*/true);
  return draft.finish();
}

} // namespace

StatusOr<GroupSchedule> scheduleScatter(const Group& group, const Node& node, const Target& target,
                                        AxisMemory& memory) {
  for (const Layout& layout : group.inputLayouts)
    if (layout.kind != Layout::Kind::Strided)
      return unsupported("{} of a {} operand; relayout it first", node.op.text(), toString(layout));
  const TensorType& type = node.results[0];
  GroupSchedule result;
  result.reason = "scatter: zeros, then sums in order";
  Window output{{OperandRef::Kind::Output, 0}, type.dtype, 0, group.outputLayouts[0].strides}, sums = output;
  if (accumulatorType(type.dtype) != type.dtype) {
    sums = {{OperandRef::Kind::Temporary, 0}, accumulatorType(type.dtype), 0, rowMajorStrides(type.shape)};
    result.temporaryBytes.push_back(std::max<int64_t>(type.shape.elements(), 1) * sizeBytes(sums.dtype));
  }
  TG_ASSIGN_OR_RETURN(GroupDispatch zero,
                      fillDispatch(sums.ref, {sums.dtype, type.shape}, sums.strides, 0, target, memory));
  result.dispatches.push_back(std::move(zero));
  TG_ASSIGN_OR_RETURN(LoopProblem problem, accumulateProblem(group, node, sums));
  memory.collapse(problem);
  chooseSchedule(problem, target);
  result.dispatches.push_back(makeDispatch(problem, target));
  if (sums.dtype == type.dtype) return result;
  TG_ASSIGN_OR_RETURN(GroupDispatch rounded, copyDispatch(sums, output, type.shape, target, memory));
  result.dispatches.push_back(std::move(rounded));
  return result;
}

} // namespace tegula::loop
