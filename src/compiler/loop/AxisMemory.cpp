// Reusing the collapsed axes of earlier problems.
#include "compiler/loop/AxisMemory.h"

#include "compiler/loop/LoopSchedule.h"
#include "compiler/loop/Split.h"
#include <algorithm>

namespace tegula::loop {
namespace {

/// Everything but how operands move.
std::string structureOf(LoopKernel kernel) {
  for (Operand& o : kernel.operands) std::fill(o.strides.begin(), o.strides.end(), StrideClass::Absent);
  return patternText(kernel);
}

int foldedSteps(const LoopProblem& p) {
  int axes = 0;
  for (int a = 0; a < p.kernel.axes; ++a)
    axes += (p.kernel.sequentialAxes() & axisBit(a)) && p.at.extents[static_cast<size_t>(a)] != 1;
  return axes;
}

/// Does the remembered kernel walk the one folded axis of more than one step as the fresh one would?
bool sameFolds(const LoopProblem& fresh, const LoopProblem& remembered) {
  auto walked = [](const LoopProblem& p, bool& inner) {
    int64_t extent = 1;
    inner = false;
    for (int a = 0; a < p.kernel.axes; ++a) {
      if (!(p.kernel.sequentialAxes() & axisBit(a)) || p.at.extents[static_cast<size_t>(a)] == 1) continue;
      extent = p.at.extents[static_cast<size_t>(a)];
      inner = a == fastestAxis(p.kernel);
    }
    return extent;
  };
  bool freshInner, rememberedInner;
  return walked(fresh, freshInner) == walked(remembered, rememberedInner) && freshInner == rememberedInner;
}

} // namespace

std::optional<LoopInstance> AxisMemory::adapt(const LoopInstance& instance, const Remembered& r) {
  LoopInstance at = instance;
  for (size_t o = 0; o < at.operands.size(); ++o)
    for (size_t a = 0; a < at.extents.size(); ++a) {
      int64_t& stride = at.operands[o].strides[a];
      if (r.moves[o][a] == (stride != 0)) continue;
      if (at.extents[a] != 1) return std::nullopt;
      stride = r.moves[o][a] ? 1 : 0; // one step: the stride is never used
    }
  for (auto [outer, inner] : r.merges) {
    auto a = static_cast<size_t>(outer), b = static_cast<size_t>(inner);
    int64_t extentA = at.extents[a], extentB = at.extents[b];
    for (OperandInstance& o : at.operands) {
      int64_t merged = extentB == 1 ? o.strides[a] : o.strides[b];
      if (extentA != 1 && extentB != 1 && o.strides[a] != o.strides[b] * std::max<int64_t>(extentB, 1))
        return std::nullopt;
      o.strides[a] = merged;
      o.strides.erase(o.strides.begin() + inner);
    }
    at.extents[a] = extentA * extentB;
    at.extents.erase(at.extents.begin() + inner);
  }
  for (size_t o = 0; o < at.operands.size(); ++o)
    for (size_t a = 0; a < at.extents.size(); ++a)
      if (r.kernel.operands[o].strides[a] == StrideClass::Unit && at.operands[o].strides[a] != 1 && at.extents[a] != 1)
        return std::nullopt;
  return at;
}

void AxisMemory::collapse(LoopProblem& problem) {
  constexpr size_t kMostRemembered = 8; // kinds of layout that one structure is seen with
  std::string structure = structureOf(problem.kernel);
  Remembered fresh;
  for (const OperandInstance& o : problem.at.operands) {
    fresh.moves.emplace_back();
    for (int64_t stride : o.strides) fresh.moves.back().push_back(stride != 0);
  }
  LoopProblem collapsed = problem;
  fresh.merges = collapseAxes(collapsed);
  if (canSplit(collapsed.kernel) || foldedSteps(collapsed) > 1) {
    problem = std::move(collapsed);
    return;
  }
  fresh.kernel = collapsed.kernel;
  absl::MutexLock lock(&mutex_);
  std::vector<Remembered>& known = seen_[structure];
  for (const Remembered& r : known) {
    std::optional<LoopInstance> at = adapt(problem.at, r);
    if (!at) continue;
    LoopProblem reused{r.kernel, *std::move(at)};
    if (canSplit(reused.kernel) || !sameFolds(collapsed, reused)) continue;
    problem = std::move(reused);
    return;
  }
  if (known.size() < kMostRemembered) known.push_back(std::move(fresh));
  problem = std::move(collapsed);
}

} // namespace tegula::loop
