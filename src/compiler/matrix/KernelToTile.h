// From the text of a tile kernel to the tile dialect.
//
//   grid      work items: batch, then blocks of the grid's dimensions (block sizes are run-time scalars)
//   tiles     scf.for over blocks with a static bound, the last one ragged
//   names     tile values; those assigned in a loop and alive before it are carried
//   x[i, :]   tile.load; prologues are maps on what was loaded
//   y[i, j]=  tile.store, after the epilogue
//   acc + dot(a, b), acc += dot(a, b)   one tile.dot
// `if` on attributes and on the presence of optional operands is resolved here.
// Private to compiler/: needs the MLIR headers.
#pragma once

#include "compiler/codegen/Mlir.h"

#include "compiler/matrix/TileKernel.h"

namespace tegula::matrix {

/// Name of the kernel function in the module.
constexpr const char* kKernelName = "kernel";

/// A module with one function in the tile dialect, to be lowered by tile/LowerScratch.h.
/// Fails: a statement or function that the lowering does not know, with the kernel's name and line.
StatusOr<mlir::OwningOpRef<mlir::ModuleOp>> buildTileModule(const TileKernelSource&, mlir::MLIRContext&);

} // namespace tegula::matrix
