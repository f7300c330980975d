// Private to LowerScratch.cpp and ScratchDots.cpp: the walk over one kernel. LowerScratch.h says what it does.
#pragma once

#include "compiler/codegen/Mlir.h"

#include "compiler/tile/LowerDot.h"
#include "compiler/tile/LowerScratch.h"

namespace tegula::tile {

constexpr int64_t kCacheLine = 64;

inline int64_t roundUp(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

/// A splat of +0.
bool isZeros(mlir::Value tile);

class ScratchLowering {
public:
  explicit ScratchLowering(mlir::func::FuncOp function)
      : function_(function), builder_(function.getContext()), e_(builder_, function.getLoc()),
        v_(builder_, function.getLoc(), function->getAttrOfType<mlir::IntegerAttr>(kLanesAttribute).getInt()) {}

  mlir::LogicalResult run();
  int64_t scratchBytes() const { return scratchBytes_; }

private:
  using Kind = LazyTile::Kind;

  mlir::LogicalResult lowerBlock(mlir::Block&);
  mlir::LogicalResult lowerOperation(mlir::Operation*);
  mlir::LogicalResult lowerTileOperation(mlir::Operation*);
  mlir::LogicalResult lowerFor(mlir::scf::ForOp);
  mlir::LogicalResult lowerIf(mlir::scf::IfOp);
  void lowerScalar(ScalarOp);
  void lowerLoad(LoadOp);
  void lowerStore(StoreOp);
  void lowerSplat(SplatOp);
  void lowerIota(IotaOp);
  void lowerMap(MapOp);
  void lowerReduce(ReduceOp);
  void lowerTranspose(TransposeOp);
  void lowerDot(DotOp);

  // Buffers.
  mlir::Value allocate(int64_t bytes);
  /// A buffer for a tile of these bounds, in whole register kernels so that it can be an accumulator if it lies by rows.
  /// One column lies as a vector, except for a dot.
  LazyTileRef buffer(int64_t rows, int64_t cols, mlir::Value rowExtent, mlir::Value colExtent, mlir::Type element,
                     bool forDot = false);
  /// Rows of a buffer of at least so many: whole vectors of them, and whole register kernels.
  int64_t wholeRows(int64_t rows) const;
  /// The same in panels as wide as the register kernel of `op`: for accumulators of many panels.
  LazyTileRef panelBuffer(DotOp op, const LazyTile& like);
  void copy(const LazyTile& from, const LazyTile& to);
  LazyTileRef materialise(const LazyTileRef&);
  /// Worth a buffer: evaluated more than once, and dear or small.
  bool shouldKeep(mlir::Value tile, const LazyTile&) const;
  void define(mlir::Value tile, LazyTileRef);

  // Dots.
  DotShape shapeOf(DotOp op) const;
  mlir::Type packedElement(DotOp op) const;
  Packed packA(DotOp, const LazyTileRef&);
  LazyTileRef accumulatorFor(DotOp);
  bool isLastUse(mlir::Value tile, mlir::Operation* user) const;
  void packInvariants(mlir::scf::ForOp);
  Panels packAllPanels(DotOp, const LazyTileRef&);
  Panels panelsOf(DotOp, const LazyTileRef&);
  DotOp startsFresh(mlir::scf::ForOp, unsigned argument) const;

  // Epilogues in the last step of a loop (FinishDots.cpp).
  void planFinish(mlir::scf::ForOp);
  LazyTileRef finishingAccumulator(mlir::scf::ForOp, DotOp, const LazyTile& like);
  void finishInLastStep(mlir::scf::ForOp loop, mlir::scf::ForOp lowered, DotOp, const LazyTileRef& block);
  void emitFinish(mlir::scf::ForOp, const LazyTileRef& result, mlir::Value row, mlir::Value col);

  const LazyTileRef& tile(mlir::Value v) const { return tiles_.find(v)->second; }

  mlir::func::FuncOp function_;
  mlir::OpBuilder builder_;
  KernelEmitter e_;
  VectorEmitter v_;
  llvm::DenseMap<mlir::Value, LazyTileRef> tiles_;
  using PackedKey = std::pair<mlir::Value, mlir::Type>; // and the element that it was packed to
  llvm::DenseMap<PackedKey, Packed> packedRows_;        // operands packed ahead of a loop
  llvm::DenseMap<PackedKey, Panels> packedPanels_;
  llvm::DenseMap<mlir::Operation*, mlir::Value>
      firstStep_; // dots whose accumulator holds nothing in the first step of their loop
  llvm::DenseMap<mlir::Operation*, mlir::scf::ForOp> loopOfYield_; // the loop as it was written, with its tiles
  llvm::DenseMap<mlir::Operation*, mlir::SmallVector<mlir::Operation*>> finish_; // of loops: their epilogue
  llvm::DenseMap<mlir::Operation*, DotFinish> finishOf_;                         // of the dots in them
  llvm::SmallPtrSet<mlir::Operation*, 16> finishing_;                            // all of those operations
  mlir::Value firstRow_, firstColumn_;                     // while a part is finished: its place in the block
  int64_t mostRows_ = INT64_MAX, mostColumns_ = INT64_MAX; // and its bounds
  bool failed_ = false;                                    // an epilogue could not be lowered
  mlir::SmallVector<mlir::Operation*> dead_;
  int64_t scratchBytes_ = 0;
  int64_t dotRows_ = 1, colUnit_ = 1; // of the largest register kernel: buffers hold whole ones
  int dots_ = 0;                      // several: code for ragged ends is kept small
};

} // namespace tegula::tile
