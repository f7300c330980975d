// Matrix products of packed operands: the register kernel and the loops around it.
//
//   for each group of panels of B                  packed, into L2
//     for each panel of the group                  B panel: in L1
//       for each MR rows of A                      A block: in L2
//         request a part of the next group, and of the next block of A (kernels with one dot)
//         acc[MR][width] in registers              loaded from scratch, or zeros in the first step of a reduction
//           for k: acc[r][:] += a[r][k] * b[k][:]  exact order of k: any blocking of rows and columns gives the same bits
//         acc back to scratch                      in the last step of a reduction then its epilogue: FinishDots.cpp
//
// Ragged last rows and columns take the smallest register kernel that holds them; the surplus computes on whatever the
// padding of scratch holds and is never looked at.
#pragma once

#include "compiler/tile/Pack.h"
#include <functional>

namespace tegula::tile {

/// What a schedule says about one dot: registers as rows x (width / lanes) accumulators.
struct DotShape {
  int64_t rows = 1, width = 1; // MR and NR, in elements; NR is a multiple of the lanes
  int64_t unroll = 1;          // steps of k (or pairs of them) in an iteration
  DotFamily family = DotFamily::Fma;
  bool compact = false; // fewer register kernels for ragged ends: less code, some surplus work
};

/// An accumulator block in scratch, padded to whole register kernels: row-major with a static pitch, or (panelStride
/// given) in panels of the register kernel's width, so that what one kernel loads and stores is one piece of memory.
struct DotBlock {
  mlir::Value base;
  int64_t pitch = 0;
  mlir::Type element;           // f32 or f64
  mlir::Value panelStride = {}; // index: elements from panel to panel; 0 where no panel outlives its turn
};

/// What happens to the rows x width elements of one register kernel when they are complete.
struct DotFinish {
  mlir::Value last;        // i1: this dot completes the block; null: nothing happens
  mlir::Value panelStride; // of a block whose panels are finished one by one
  /// Place in the block, address in scratch, and how much of the block is left from there.
  std::function<void(mlir::Value row, mlir::Value column, mlir::Value at, mlir::Value rows, mlir::Value cols)> block;
};

/// Where the packed panels of B are.
struct Panels {
  int64_t pitch = 0;      // elements from panel to panel
  int64_t groupWidth = 0; // columns that are packed at a time; 0: all are packed at `base`
  mlir::Value base;
  Ahead ahead;                               // for groups
  std::function<void(mlir::Value col)> pack; // brings the group that starts at `col` to `base`
};

/// block[0:rows, 0:cols] += A · B for packed A (rows) and B (panels). `fresh` (i1 or null): the block holds nothing yet
/// and counts as zeros.
void emitDot(KernelEmitter&, VectorEmitter&, const DotShape&, const Packed& a, const Panels& b, mlir::Value rows,
             mlir::Value cols, mlir::Value depth, const DotBlock&, mlir::Value fresh, const DotFinish&);

} // namespace tegula::tile
