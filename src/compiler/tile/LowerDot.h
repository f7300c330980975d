// Matrix products of packed operands: the register kernel and the loops around it.
//
//   for each panel of B (width columns)          B panel: in L1
//     for each MR rows of A                      A block: in L2
//       acc[MR][width] in registers              loaded from scratch, or zeros in the first step of a reduction
//         for k: acc[r][:] += a[r][k] * b[k][:]  exact order of k: any blocking of rows and columns gives the same bits
//       acc back to scratch
//
// Ragged last rows take the smallest register kernel that holds them; the surplus rows compute on whatever the padding of
// scratch holds and are never looked at.
#pragma once

#include "compiler/tile/Pack.h"

namespace tegula::tile {

/// What a schedule says about one dot: registers as rows x (width / lanes) accumulators.
struct DotShape {
  int64_t rows = 1, width = 1; // MR and NR, in elements; NR is a multiple of the lanes
  DotFamily family = DotFamily::Fma;
};

/// An accumulator block in scratch: row-major with a static pitch, padded to whole register kernels.
struct DotBlock {
  mlir::Value base;
  int64_t pitch = 0;
  mlir::Type element; // f32 or f64
};

/// block[0:rows, 0:cols] += A · B for packed A (rows) and, per panel, B. `panel(j)` gives the address of the packed panel
/// that starts at column j, packing it if need be. `fresh` (i1 or null): the block holds nothing yet and counts as zeros.
void emitDot(KernelEmitter&, VectorEmitter&, const DotShape&, const Packed& a, llvm::function_ref<mlir::Value(mlir::Value j)> panel,
             mlir::Value rows, mlir::Value cols, mlir::Value depth, const DotBlock&, mlir::Value fresh);

} // namespace tegula::tile
