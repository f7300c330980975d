// A group becomes loop problems, and those dispatches: one, or several where a later one needs all of an earlier.
#include "compiler/loop/LoopGroups.h"

#include "compiler/loop/Move.h"
#include "compiler/loop/Scatter.h"
#include "compiler/loop/Split.h"

namespace tegula::loop {
namespace {

/// The only node of a body besides its inputs, or null.
const Node* onlyNode(const Graph& body) {
  const Node* only = nullptr;
  for (const Node& n : body.nodes()) {
    if (n.kind == Node::Kind::Input) continue;
    if (only) return nullptr;
    only = &n;
  }
  return only;
}

} // namespace

StatusOr<GroupSchedule> schedule(const Group& group, const Target& target, AxisMemory& memory) {
  if (const Node* node = onlyNode(group.body); node && node->kind == Node::Kind::Primitive) {
    const Primitive* primitive = findPrimitive(node->op);
    if (primitive && primitive->kind == PrimitiveKind::Move) return scheduleMove(group, *node, target, memory);
    if (primitive && primitive->kind == PrimitiveKind::Scatter) return scheduleScatter(group, *node, target, memory);
  }
  TG_ASSIGN_OR_RETURN(LoopProblem problem, analyse(group));
  memory.collapse(problem);
  if (canSplit(problem.kernel)) return scheduleSplit(std::move(problem), target);
  chooseSchedule(problem, target);
  GroupSchedule result;
  result.dispatches.push_back(makeDispatch(problem, target));
  return result;
}

} // namespace tegula::loop
