// The emitter's state: which axes are bound to which index, which values are known in which loop. Private to EmitLoop.
#pragma once

#include "compiler/loop/Dispatch.h"
#include "compiler/loop/EmitLoop.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace tegula::loop {

class LoopEmitter {
public:
  using V = mlir::Value; // an SSA value
  using Vs = llvm::SmallVector<mlir::Value, 4>;

  LoopEmitter(const LoopKernel&, mlir::OpBuilder&, mlir::Location);
  void run(mlir::ModuleOp, std::string_view entry);

private:
  // ------------------------------------------------------------------------------------------------ nest
  // (EmitLoop.cpp)
  void emitItem(V item);
  void emitRows(V rowBlock, llvm::function_ref<void()> body);
  /// Body once per tile of [lo, hi) along the vector axis: full tiles, then vectors with a ragged end.
  void forTiles(V lo, V hi, llvm::function_ref<void()> body);
  void emitPoint();
  void emitStores(llvm::ArrayRef<int> axes, llvm::ArrayRef<Store> stores);
  void emitStoreLeaf(llvm::ArrayRef<Store> stores);
  void emitAccumulate(const Store&);
  void emitScan();

  // ---------------------------------------------------------------------------------------- reductions
  // (EmitReduce.cpp)
  /// Makes everything that `targets` need and that the bound axes determine known in this scope.
  void prepare(llvm::ArrayRef<int> targets);
  void hoist(int value);
  void collectReady(int value, llvm::SmallVectorImpl<int>& ready);
  void emitReductions(llvm::ArrayRef<int> values);
  Vs reduceOver(llvm::ArrayRef<int> axes, llvm::ArrayRef<int> values);
  Vs reduceAlongVector(llvm::ArrayRef<int> values);
  /// Steps of [lo, hi), in blocks with accumulators of their own. `width`: of the accumulators.
  Vs blockedLoop(llvm::ArrayRef<int> values, V lo, V hi, int64_t step, int64_t width,
                 llvm::function_ref<Vs(V)> tilesAt);
  Vs inputTiles(llvm::ArrayRef<int> values, int64_t width);
  Vs neutrals(llvm::ArrayRef<int> values, int64_t width);
  V accumulate(int value, V acc, V x);
  std::pair<V, V> rangeOf(int axis);
  llvm::SmallVector<int> inputsOf(llvm::ArrayRef<int> values) const;

  // --------------------------------------------------------------------------------------------- values
  // (EmitValue.cpp)
  V eval(int value);
  V emitLoad(const Instruction&);
  V emitNumber(const Instruction&);
  V known(int value) const;
  /// Offset of an operand's element at the bound axes (but the vector axis), subscripts included; `guard`: all inside.
  /// A subscript that varies along the vector axis is left to the caller (`varying`).
  struct Place {
    V offset, guard;
    int varying = -1;
  };
  Place place(int operand);
  V view(int operand, V offset);
  void store(int operand, V tile, const Place&);
  /// `tile` at the current width and extent.
  V widen(V tile);
  V splat(V scalar, DType, int64_t width);
  tile::TileType tileType(DType, int64_t width);
  bool isWide(AxisSet axes) const { return k_.vectorAxis >= 0 && (axes & bound_ & axisBit(k_.vectorAxis)); }
  int64_t widthOf(AxisSet axes) const { return isWide(axes) ? width_ : 1; }

  // -------------------------------------------------------------------------------------------------------
  // conveniences
  V index(int64_t value);
  V scalar(int slot); // loaded once, at the function's entry
  V add(V a, V c);
  V mul(V a, V c);
  V sub(V a, V c);
  V min(V a, V c);
  V div(V a, V c);
  V rem(V a, V c);
  V map(llvm::StringRef fn, llvm::ArrayRef<V> inputs, DType, int64_t width);
  mlir::scf::ForOp openFor(V lo, V hi, V step, mlir::ValueRange carried = {}); // leaves the insertion point inside
  llvm::SmallVector<int> axesOf(AxisSet) const;                                // in order, the vector axis last
  void bind(int axis, V at);
  void unbind(int axis);

  /// Values known since a scope was opened are forgotten when it closes.
  class Scope {
  public:
    explicit Scope(LoopEmitter& e) : e_(e), guard_(e.b_), bound_(e.bound_), width_(e.width_), extent_(e.extent_) {
      e.known_.emplace_back();
    }
    ~Scope() {
      e_.known_.pop_back();
      e_.bound_ = bound_;
      e_.width_ = width_;
      e_.extent_ = extent_;
    }

  private:
    LoopEmitter& e_;
    mlir::OpBuilder::InsertionGuard guard_;
    AxisSet bound_;
    int64_t width_;
    V extent_;
  };

  const LoopKernel& k_;
  ScalarSlots slots_;
  mlir::OpBuilder& b_;
  mlir::Location loc_;
  std::vector<int> bindings_; // of operands; -1 for numbers
  mlir::Block* entry_ = nullptr;
  llvm::DenseMap<int, V> scalars_;
  std::vector<V> at_; // index of each bound axis
  AxisSet bound_ = 0;
  int64_t width_ = 1; // of tiles along the vector axis, while it is bound
  V extent_;          // elements of the current tile that exist; null: all
  V splitLo_, splitHi_;
  V item_;
  llvm::SmallVector<llvm::DenseMap<int, V>> known_;
};

} // namespace tegula::loop
