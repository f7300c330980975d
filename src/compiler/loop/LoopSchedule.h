// From the pattern to the loop nest: fewer axes, the vector axis, the template and its parameters.
// Threads: pure functions.
#pragma once

#include "compiler/Target.h"
#include "compiler/loop/LoopKernel.h"

namespace tegula::loop {

/// Merges axes that every operand walks as one (the outer stride is the inner one times the inner extent), or that none
/// has. An axis of extent 1 is not special (AxisMemory.h says how a batch of one still has the kernel of any batch).
/// Returns the merges in order, each (kept axis, axis that went), in the numbering of its time.
std::vector<std::pair<int, int>> collapseAxes(LoopProblem&);

/// The axis that chooseSchedule would make the vector axis; -1: none.
int fastestAxis(const LoopKernel&);

/// Chooses vector axis, template and parameters; afterwards strides off the vector axis are all run-time values.
///
/// - Vector axis: the one along which the operands move most cheaply (by one element, or not at all; a step of several
///   elements costs a gather), preferring parallel axes, then inner ones.
/// - Lanes: a vector register of the target filled with 32-bit elements; with 64-bit ones if there are no narrower.
/// - Vectors a tile: enough to overlap the latency of an addition; fewer when the body holds polynomials, whose own
///   instructions overlap, or many live values. How many and what share of the registers: [schedule] of the target.
void chooseSchedule(LoopProblem&, const Target&);

/// Work of one item in points: what fills the target's first-level cache once.
int64_t grainPoints(const LoopKernel&, const Target&);

} // namespace tegula::loop
