// Packing: bringing an operand of a matrix product into the order in which the register kernel (LowerDot.h) reads it.
//
//   rows    [row][k]          left operand: k contiguous, `pitch` elements from row to row
//   panels  [panel][k][width] right operand: panels of `width` columns, one row of a panel after the other;
//                             pairs of k are interleaved for the bf16 dot: [panel][k/2][width][2]
//
// Any tile can be packed, so casts and other elementwise work of a prologue happen here, once per element of a block. A
// source that is contiguous the other way is transposed in registers, a square of vectors at a time. Past the extents
// of the source nothing is read; panels are filled up with zeros to the width and to whole pairs.
#pragma once

#include "compiler/tile/LazyTile.h"

namespace tegula::tile {

enum class DotFamily : uint8_t { Fma, Bf16Dot };

/// How to have memory brought to the caches before it is packed: a request at a time, so that the requests can be
/// spread over the work that is done meanwhile. A block from main memory takes a tenth of the time of its product.
struct Ahead {
  mlir::Value parts; // index: how many requests make a block; null: none are made
  /// Requests one part of the block that starts at `k` and, of panels, at column `col`. None of it need exist.
  std::function<void(mlir::Value part, mlir::Value k, mlir::Value col)> fetch;
};

/// A packed left operand: element type of the packed form is f64, f32 or (Bf16Dot) bf16.
struct Packed {
  mlir::Value base;
  int64_t pitch = 0; // from row to row, in elements
  Ahead ahead = {};
};

/// Elements from row to row for rows of `depth` (a bound).
int64_t rowsPitch(int64_t depth, mlir::Type element);
/// For blocks of rows of `source` [R, K].
Ahead aheadOfRows(KernelEmitter&, const LazyTileRef& source);
/// source [R, K] to `base`, in whole vectors along either axis.
void packRows(KernelEmitter&, VectorEmitter&, const LazyTile& source, mlir::Value base, int64_t pitch,
              mlir::Type element, DotFamily);

/// Elements from panel to panel for panels of `depth` (a bound).
int64_t panelPitch(int64_t depth, int64_t width, int64_t lanes);
/// For groups of `width` columns of `source` [K, N].
Ahead aheadOfPanels(KernelEmitter&, const LazyTileRef& source, int64_t width);
/// Columns from `col`, at most `count` panels of `width` and none past the source's extent, of source [K, N] to `base`.
/// Several at once read long pieces of a row: a narrow panel of a wide matrix would touch a page for two cache lines.
void packPanels(KernelEmitter&, VectorEmitter&, const LazyTile& source, mlir::Value col, int64_t count,
                mlir::Value base, int64_t pitch, int64_t width, mlir::Type element, DotFamily);

} // namespace tegula::tile
