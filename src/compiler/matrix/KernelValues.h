// What names stand for while a tile kernel is turned into tile operations, and the operations on them.
// Private to compiler/matrix: needs the MLIR headers.
#pragma once

#include "compiler/codegen/Mlir.h"

#include "compiler/matrix/TileKernel.h"
#include "compiler/tile/TileDialect.h"

namespace tegula::matrix {

using mlir::Value; // not the graph's tegula::Value

/// Where a tile lies along one axis: [start, start + extent), at most `bound`. extent null: the bound.
struct TileCoord {
  mlir::Value start, extent;
  int64_t bound = 1;
};

struct KernelValue {
  enum class Kind : uint8_t { None, Int, Float, Bool, Number /* index at run time */, Tile, Coord, Operand };
  Kind kind = Kind::None;
  int64_t integer = 0;
  double real = 0;
  mlir::Value value; // Number: index; Tile
  TileCoord coord;

  static KernelValue none() { return {}; }
  static KernelValue operand() { return {Kind::Operand}; }
  static KernelValue ofInt(int64_t v) { return {Kind::Int, v, static_cast<double>(v)}; }
  static KernelValue ofFloat(double v) { return {Kind::Float, 0, v}; }
  static KernelValue ofBool(bool v) { return {Kind::Bool, v, static_cast<double>(v)}; }
  static KernelValue ofNumber(mlir::Value v) { return {Kind::Number, 0, 0, v}; }
  static KernelValue ofCoord(TileCoord c) { return {Kind::Coord, 0, 0, {}, c}; }
  /// A tile or an index.
  static KernelValue ofValue(mlir::Value v) { return {v.getType().isIndex() ? Kind::Number : Kind::Tile, 0, 0, v}; }
  bool isTile() const { return kind == Kind::Tile; }
  bool isConstant() const { return kind == Kind::Int || kind == Kind::Float || kind == Kind::Bool; }
};

/// The element type of a program's value.
DType programType(const TileKernelSource&, const Program&);

/// Emits tile operations at the builder's insertion point.
class TileOps {
public:
  TileOps(const TileKernelSource& source, mlir::OpBuilder& builder) : s_(source), b_(builder) {}

  mlir::Location loc() { return b_.getUnknownLoc(); }

  // Indices.
  Value scalar(int64_t slot);
  Value index(int64_t v);
  Value add(Value a, Value c);
  Value sub(Value a, Value c);
  Value mul(Value a, Value c);
  Value div(Value a, Value c);
  Value rem(Value a, Value c);
  Value min(Value a, Value c);
  Value max(Value a, Value c);
  Value ceilDiv(Value a, Value c);

  // Windows. openWindows makes every window's view for the batch of this work item.
  void openWindows(const Value (&batch)[kBatchAxes]);
  Value load(int32_t window, const TileCoord& row, const TileCoord& col);
  void store(int32_t window, Value tile, const TileCoord& row, const TileCoord& col);
  /// A program's value at a place; `result` stands for the kernel's own result there.
  Value program(const Program&, const TileCoord& row, const TileCoord& col, Value result);
  /// Repeats a tile of one row or column so that it has the bounds of the place.
  Value expand(Value tile, const TileCoord& row, const TileCoord& col);

  // Tiles.
  mlir::Type type(DType);
  /// As `type`, but what kernels call f32 is f64 where operands are f64.
  mlir::Type accumulating(DType);
  Value splat(const KernelValue& constant, mlir::Type element, const TileCoord& rows, const TileCoord& cols);
  Value single(const KernelValue& constant, mlir::Type element) {
    return splat(constant, element, TileCoord{}, TileCoord{});
  }
  Value cast(Value tile, mlir::Type element);
  Value transpose(Value tile);
  Value reduce(llvm::StringRef kind, int64_t axis, Value tile);
  Value iota(int axis, const TileCoord&);
  /// A tile from a tile, number or constant of element type `element` if it says none itself.
  StatusOr<Value> tileOf(const KernelValue&, mlir::Type element);
  StatusOr<KernelValue> unary(lang::Op, const KernelValue&);
  StatusOr<KernelValue> binary(lang::Op, const KernelValue&, const KernelValue&);
  /// An elementwise function by name (`where` is select), operands brought to one type.
  StatusOr<KernelValue> apply(Symbol function, llvm::ArrayRef<KernelValue>);
  StatusOr<KernelValue> dot(Value a, Value b, const KernelValue& accumulator);

  // Values that loops carry.
  StatusOr<Value> carried(const KernelValue&);
  StatusOr<Value> carriedAs(const KernelValue&, mlir::Type);

private:
  Value map(llvm::StringRef fn, llvm::ArrayRef<Value> inputs, mlir::Type element);
  StatusOr<mlir::Type> common(llvm::ArrayRef<KernelValue>);

  const TileKernelSource& s_;
  mlir::OpBuilder& b_;
  llvm::SmallVector<Value> views_;
};

} // namespace tegula::matrix
