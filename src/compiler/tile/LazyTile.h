// Tiles while they are being lowered: expressions over memory that are evaluated one vector at a time, where they are
// needed.
//
//   memory   a strided window: an operand, or a buffer in the kernel's scratch
//   splat    one scalar everywhere
//   iota     start + index along an axis
//   map      an elementwise function of other tiles
//
// A tile is evaluated along an axis: axis 1 gives elements (r, c), (r, c+1), …; axis 0 gives (r, c), (r+1, c), …. An
// axis whose bound is 1 repeats. Elements past the extent are never read: the caller masks them. Private to compiler/:
// needs the MLIR headers.
#pragma once

#include "compiler/tile/Elements.h"
#include "compiler/tile/KernelEmitter.h"
#include <memory>
#include <string>

namespace tegula::tile {

struct LazyTile;
using LazyTileRef = std::shared_ptr<const LazyTile>;

struct LazyTile {
  enum class Kind : uint8_t { Memory, Splat, Iota, Map };
  Kind kind = Kind::Memory;
  int64_t rows = 1, cols = 1;       // bounds
  mlir::Value rowExtent, colExtent; // index
  mlir::Type element;
  // Memory
  mlir::Value base;                 // address of element (0, 0)
  mlir::Value rowStride, colStride; // in elements
  int unitAxis = -1;                // the axis whose stride is 1, or -1
  int64_t scratchPitch = 0;         // > 0: in scratch, with this distance between vectors along unitAxis
  int64_t panelWidth = 0;           // > 0: panels of this many elements along unitAxis, each with pitch panelWidth
  int64_t panelStride = 0;          // elements from panel to panel
  // Splat: a scalar in register form; Iota: start (index) and axis
  mlir::Value scalar;
  int axis = 0;
  // Map
  std::string function;
  std::vector<LazyTileRef> inputs;

  int64_t bound(int along) const { return along == 0 ? rows : cols; }
  mlir::Value extent(int along) const { return along == 0 ? rowExtent : colExtent; }
  bool inScratch() const { return scratchPitch > 0; }
};

/// The same elements with rows and columns exchanged.
LazyTileRef transposed(const LazyTileRef&);

/// The axis along which the memory behind a tile is contiguous; -1 if it does not matter.
int contiguousAxis(const LazyTile&);

/// `lanes` elements from (r, c) along `axis`, in register form. `mask` (or null) says which lanes exist.
mlir::Value evaluate(KernelEmitter&, VectorEmitter&, const LazyTile&, mlir::Value r, mlir::Value c, int axis,
                     mlir::Value mask);

/// Asks for the cache lines of element (r, c), which need not exist, before they are evaluated.
void prefetch(KernelEmitter&, const LazyTile&, mlir::Value r, mlir::Value c);

/// Stores register-form lanes to (r, c) of a window, along `axis`.
void storeLanes(KernelEmitter&, VectorEmitter&, mlir::Value lanes, const LazyTile& window, mlir::Value r, mlir::Value c,
                int axis, mlir::Value mask);

/// Runs `body(r, c, mask)` over an extent in whole vectors along `axis`, the ragged last one masked (mask null: full).
void forEachVector(KernelEmitter&, VectorEmitter&, mlir::Value rows, mlir::Value cols, int axis,
                   llvm::function_ref<void(mlir::Value r, mlir::Value c, mlir::Value mask)> body);

} // namespace tegula::tile
