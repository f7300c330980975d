// Lowering of kernels whose tiles are too large for registers: tiles are lazily evaluated expressions (LazyTile.h), and
// what must be kept (accumulators, values carried by loops, results of reductions, tiles used more than once) has a
// place in the kernel's scratch memory.
//
//   dot                 accumulates into a block in scratch; in place when the old accumulator is used no more
//   load, splat, iota, map, transpose   cost nothing until something consumes them
//   store, reduce, dot  loop over vectors of their operands
//   for                 tiles carried from step to step live in one buffer each
//   for, dot            an operand of a dot that does not change in a loop is packed before the loop
//
// Extents are as LowerTile.h says. Scratch is laid out at compile time, by the kernel alone: an image from another
// machine must not need more than this one gives it.
#pragma once

#include "base/Status.h"
#include "compiler/tile/TileDialect.h"

namespace tegula::tile {

/// A function with this attribute is lowered here rather than by LowerTile.
constexpr const char* kScratchAttribute = "tile.scratch";

/// Lowers the kernels of `module` that have kScratchAttribute; returns the bytes of scratch that a worker needs (a
/// multiple of 64). Fails with the diagnostics of the operation that has no lowering.
StatusOr<int64_t> lowerScratchTiles(mlir::ModuleOp module);

} // namespace tegula::tile
