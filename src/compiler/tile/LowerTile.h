// From the tile dialect to vectors, scf and addresses.
//
// A register-resident tile of R x C elements becomes R * ceil(C / lanes) vectors, row by row; a tile of one column
// becomes one vector a row with the element in every lane, so that repeating it costs nothing. Extents are index values
// beside the vectors (none: the extent is the bound). Lanes past the extent hold unspecified numbers: loads, stores and
// reductions mask them, maps compute on them (nothing traps).
//
// TileLowering visits a kernel's operations in order and replaces each at its place. Other residences add themselves as
// a rule: lowerTiles(module, rules) asks every rule in turn for an operation before the built-in ones.
#pragma once

#include "base/Status.h"
#include "compiler/tile/Elements.h"
#include "compiler/tile/TileDialect.h"
#include <functional>

namespace tegula::tile {

/// A tile after lowering.
struct TileValue {
  TileType type;
  mlir::Value rowExtent, colExtent;       // null: the bound
  mlir::SmallVector<mlir::Value> vectors; // empty: not register-resident (then a rule knows where it is)

  int64_t vectorsPerRow(int64_t lanes) const { return type.getCols() == 1 ? 1 : (type.getCols() + lanes - 1) / lanes; }
};

class TileLowering {
public:
  TileLowering(mlir::func::FuncOp function);

  /// Lowers one operation whose operands are lowered; the insertion point is at it. False: not mine.
  using Rule = std::function<mlir::FailureOr<bool>(TileLowering&, mlir::Operation*)>;

  mlir::LogicalResult run(llvm::ArrayRef<Rule> rules);

  // For rules:
  VectorEmitter& emit() { return emitter_; }
  mlir::OpBuilder& builder() { return builder_; }
  int64_t lanes() const { return emitter_.lanes; }
  const TileValue& valueOf(mlir::Value tile) const { return tiles_.find(tile)->second; }
  void setValue(mlir::Value tile, TileValue value) { tiles_[tile] = std::move(value); }
  /// Vector (row, column group) of a tile; rows and columns of 1 repeat.
  mlir::Value vectorAt(const TileValue&, int64_t row, int64_t group) const;
  /// Which lanes of (row, group) exist; null: all do.
  mlir::Value maskAt(const TileValue&, int64_t row, int64_t group);
  /// The kernel's arguments.
  mlir::Value bindingsArgument(), scalarsArgument(), scratchArgument();
  /// Address of element [row, col] of a view.
  mlir::Value addressOf(mlir::Value view, mlir::Value row, mlir::Value col);

private:
  mlir::LogicalResult lowerBlock(mlir::Block&);
  mlir::LogicalResult lowerOperation(mlir::Operation*);
  mlir::LogicalResult lowerFor(mlir::scf::ForOp);
  mlir::LogicalResult lowerIf(mlir::scf::IfOp);
  mlir::FailureOr<bool> lowerTileOperation(mlir::Operation*);
  void lowerMap(MapOp);
  void lowerAccumulate(AccumulateOp);
  void lowerReduce(ReduceOp);
  void lowerSplat(SplatOp);
  void lowerIota(IotaOp);
  void lowerNeutral(NeutralOp);
  void lowerExtract(ExtractOp);
  void lowerScalar(ScalarOp);
  TileValue emptyTile(mlir::Value result, mlir::Value rowExtent = {}, mlir::Value colExtent = {}) const;
  /// The vectors of a tile-typed or plain value, for carrying through scf.
  void flatten(mlir::Value, mlir::SmallVectorImpl<mlir::Value>&) const;
  /// Takes the values of `tile` from the front of `flat`.
  void unflatten(mlir::Value tile, const TileValue& like, mlir::ValueRange& flat);

  mlir::func::FuncOp function_;
  mlir::OpBuilder builder_;
  VectorEmitter emitter_;
  llvm::DenseMap<mlir::Value, TileValue> tiles_;
  mlir::SmallVector<mlir::Operation*> dead_;
  llvm::ArrayRef<Rule> rules_;
};

/// Lowers every function of the module that has the attribute tile.lanes. Fails with MLIR's diagnostics.
Status lowerTiles(mlir::ModuleOp, llvm::ArrayRef<TileLowering::Rule> rules = {});

// Memory operations (LowerMemory.cpp).
void lowerLoad(TileLowering&, LoadOp);
void lowerGather(TileLowering&, GatherOp);
void lowerStore(TileLowering&, StoreOp);

} // namespace tegula::tile
