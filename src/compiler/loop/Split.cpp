// Full reductions as two dispatches.
#include "compiler/loop/Split.h"

#include "compiler/loop/Dispatch.h"

namespace tegula::loop {
namespace {

std::vector<int> reductionsOf(const LoopKernel& k) {
  std::vector<int> values;
  for (size_t i = 0; i < k.body.size(); ++i)
    if (k.body[i].kind == Instruction::Kind::Reduce) values.push_back(static_cast<int>(i));
  return values;
}

/// The first kernel: every reduction over a chunk of the outermost folded axis, stored at the item's place.
LoopProblem partialProblem(const LoopProblem& whole, const std::vector<int>& reductions) {
  LoopProblem p = whole;
  p.kernel.stores.clear();
  p.kernel.kind = Template::Split;
  p.kernel.splitAxis = 0;
  while (!(p.kernel.sequentialAxes() & axisBit(p.kernel.splitAxis))) ++p.kernel.splitAxis;
  for (size_t i = 0; i < reductions.size(); ++i) {
    Operand operand{Operand::Role::Output,
                    p.kernel.body[static_cast<size_t>(reductions[i])].dtype,
                    std::vector<StrideClass>(static_cast<size_t>(p.kernel.axes), StrideClass::Absent),
                    {},
                    true};
    p.kernel.stores.push_back({static_cast<int>(p.kernel.operands.size()), reductions[i], false});
    p.kernel.operands.push_back(std::move(operand));
    p.at.operands.push_back({{OperandRef::Kind::Temporary, static_cast<int32_t>(i)},
                             0,
                             std::vector<int64_t>(static_cast<size_t>(p.kernel.axes), 0),
                             {}});
  }
  prune(p);
  return p;
}

/// The second kernel: the same body with each reduction over the partial results along one axis.
LoopProblem finalProblem(const LoopProblem& whole, const std::vector<int>& reductions, int64_t chunks) {
  LoopProblem p = whole;
  LoopKernel& k = p.kernel;
  k.axes = 1;
  p.at.extents = {chunks};
  for (size_t o = 0; o < k.operands.size(); ++o) {
    k.operands[o].strides.assign(1, StrideClass::Absent); // only scalars survive pruning
    p.at.operands[o].strides.assign(1, 0);
  }
  std::vector<Instruction> body;
  std::vector<int> moved(k.body.size());
  for (size_t i = 0; i < k.body.size(); ++i) {
    Instruction instruction = k.body[i];
    for (int& input : instruction.inputs) input = moved[static_cast<size_t>(input)];
    if (instruction.kind == Instruction::Kind::Reduce) {
      auto which = std::find(reductions.begin(), reductions.end(), static_cast<int>(i)) - reductions.begin();
      Instruction load;
      load.kind = Instruction::Kind::Load;
      load.dtype = instruction.dtype;
      load.operand = static_cast<int>(k.operands.size());
      k.operands.push_back({Operand::Role::Input, instruction.dtype, {StrideClass::Unit}, {}, false});
      p.at.operands.push_back({{OperandRef::Kind::Temporary, static_cast<int32_t>(which)}, 0, {1}, {}});
      body.push_back(std::move(load));
      instruction.inputs = {static_cast<int>(body.size()) - 1};
      instruction.folded = axisBit(0);
    }
    moved[i] = static_cast<int>(body.size());
    body.push_back(std::move(instruction));
  }
  k.body = std::move(body);
  for (Store& s : k.stores) s.value = moved[static_cast<size_t>(s.value)];
  for (Operand& o : k.operands)
    for (int& v : o.subscripts) v = moved[static_cast<size_t>(v)];
  inferAxes(k);
  prune(p);
  inferAxes(k);
  return p;
}

} // namespace

bool canSplit(const LoopKernel& k) {
  bool reduces = false;
  AxisSet folded = 0;
  for (const Instruction& i : k.body) {
    if (i.kind == Instruction::Kind::Scan || i.level > 1) return false;
    if (i.kind != Instruction::Kind::Reduce) continue;
    if (i.axes != 0 || (reduces && i.folded != folded)) return false;
    reduces = true;
    folded = i.folded;
  }
  for (const Store& s : k.stores)
    if (s.accumulate || k.storeAxes(s) != 0) return false;
  return reduces && folded != 0;
}

StatusOr<GroupSchedule> scheduleSplit(LoopProblem problem, const Target& target) {
  std::vector<int> reductions = reductionsOf(problem.kernel);
  GroupSchedule result;
  result.reason = "a full reduction: partial results of chunks, then their reduction";
  LoopProblem partial = partialProblem(problem, reductions);
  chooseSchedule(partial, target);
  GroupDispatch first = makeDispatch(partial, target);
  for (int r : reductions)
    result.temporaryBytes.push_back(std::max<int64_t>(first.items, 1) *
                                    sizeBytes(problem.kernel.body[static_cast<size_t>(r)].dtype));
  LoopProblem last = finalProblem(problem, reductions, first.items);
  chooseSchedule(last, target);
  result.dispatches.push_back(std::move(first));
  result.dispatches.push_back(makeDispatch(last, target));
  return result;
}

} // namespace tegula::loop
