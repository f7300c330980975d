// From a loop kernel to tile IR. Tiles are 1 x W along the vector axis, or 1 x 1 for values that do not vary along it.
//
// The nest: work items give the parallel axes; inside, values are computed at the outermost loop where everything they
// depend on is known; reductions are loops over their folded axes, all that are ready together sharing one loop; a
// value needed again after a reduction is computed again. Before a point's outputs are stored, all its inputs have been
// read, so an output may be an input's memory.
//
// Sums: a folded axis is walked in blocks of LoopSchedule::blockTiles steps with a partial sum each, lanes and vectors
// of the vector axis apart; the order depends on the schedule and extents only.
#pragma once

#include "compiler/loop/LoopKernel.h"
#include "compiler/tile/TileDialect.h"

namespace tegula::loop {

/// Appends the kernel function `entry` to the module.
void emitLoop(const LoopKernel&, mlir::ModuleOp, std::string_view entry);

} // namespace tegula::loop
