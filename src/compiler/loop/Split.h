// Folding everything to scalars: partial results of chunks in parallel, then one work item that folds those.
#pragma once

#include "compiler/loop/Analysis.h"
#include "compiler/loop/LoopSchedule.h"

namespace tegula::loop {

/// True if every result is a scalar made from reductions that need no other reduction.
bool canSplit(const LoopKernel&);

/// Two dispatches. Chunks have a fixed number of points, so the order of a sum does not depend on threads.
/// Requires: canSplit, axes collapsed.
StatusOr<GroupSchedule> scheduleSplit(LoopProblem, const Target&);

} // namespace tegula::loop
