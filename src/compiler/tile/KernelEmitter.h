// Conveniences for emitting kernels that compute on memory: 64-bit address arithmetic, vectors, masks and structured
// loops. Everything that LowerDot, Pack and LowerScratch emit goes through this class, so it is the one place of theirs
// that knows how a masked access or a transpose is spelt. (LowerTile, whose tiles are registers, has VectorEmitter.)
//
//   KernelEmitter e(builder, loc);
//   e.loop(e.index(0), rows, 12, [&](Value r) { e.store(e.load(e.element(a, f32, r), vec), e.element(b, f32, r)); });
//
// Indices are of type `index` and count elements. Private to compiler/: needs the MLIR headers.
// Threads: as the builder's context.
#pragma once

#include "compiler/codegen/Mlir.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace tegula {

class KernelEmitter {
public:
  using Value = mlir::Value;
  using Values = llvm::SmallVector<mlir::Value, 8>;

  KernelEmitter(mlir::OpBuilder& builder, mlir::Location loc);

  mlir::OpBuilder& builder() { return b_; }
  mlir::Location loc() const { return loc_; }

  // Indices.
  Value index(int64_t value);
  Value add(Value a, Value b);
  Value add(Value a, int64_t b);
  Value sub(Value a, Value b);
  Value mul(Value a, Value b);
  Value mul(Value a, int64_t b);
  Value div(Value a, Value b); // of non-negative numbers
  Value rem(Value a, Value b);
  Value min(Value a, Value b);
  Value max(Value a, Value b);
  Value ceilDiv(Value a, Value b);
  Value roundUp(Value a, int64_t unit);
  Value less(Value a, Value b); // i1
  Value equal(Value a, Value b);

  // Memory. `element` is base + at elements of type `type`.
  Value element(Value base, mlir::Type type, Value at);
  Value element(Value base, mlir::Type type, int64_t at);
  /// Loads and stores aligned to one element; `type` may be a vector.
  Value load(Value address, mlir::Type type);
  void store(Value value, Value address);
  /// Lanes where `mask` is false are neither read nor written; read lanes that are absent give zero.
  Value loadMasked(Value address, mlir::VectorType type, Value mask);
  void storeMasked(Value value, Value address, Value mask);
  /// Asks for the cache line of `address`, which may be anywhere.
  void prefetch(Value address);
  /// Lane l is at base + l * stride elements. `mask` may be null: every lane.
  Value gather(Value base, Value stride, mlir::VectorType type, Value mask);
  void scatter(Value value, Value base, Value stride, Value mask);

  // Vectors.
  mlir::VectorType vectorOf(mlir::Type element, int64_t lanes);
  Value splat(Value scalar, int64_t lanes);
  Value zero(mlir::Type type); // scalar or vector of any arithmetic type
  Value constant(mlir::Type type, double value);
  Value fma(Value a, Value b, Value c);
  /// i1 lanes: lane < count (which may be negative or above the lane count).
  Value firstLanes(Value count, int64_t lanes);
  Value lanes(int64_t count); // vector<count x i64> 0, 1, 2, …
  /// rows.size() vectors of as many lanes, transposed in registers. Requires: a power of two.
  Values transpose(Values rows);
  /// Folds the lanes in a fixed tree with `combine`.
  Value foldLanes(Value vector, llvm::function_ref<Value(Value, Value)> combine);

  // Control. Loops run while the counter is below `end`.
  void loop(Value begin, Value end, int64_t step, llvm::function_ref<void(Value)> body);
  void loop(Value begin, Value end, Value step, llvm::function_ref<void(Value)> body);
  Values loop(Value begin, Value end, Value step, mlir::ValueRange carried,
              llvm::function_ref<Values(Value, mlir::ValueRange)> body);
  void branch(Value condition, llvm::function_ref<void()> then, llvm::function_ref<void()> otherwise = nullptr);
  /// Both arms give values of the same types.
  Values choose(Value condition, llvm::function_ref<Values()> then, llvm::function_ref<Values()> otherwise);

private:
  mlir::OpBuilder& b_;
  mlir::Location loc_;
};

} // namespace tegula
