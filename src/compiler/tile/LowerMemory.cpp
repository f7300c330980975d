// Loads, gathers and stores of register-resident tiles. Memory past the extent is never touched: ragged vectors are
// masked, elements of one column are read behind a branch.
#include "compiler/codegen/Mlir.h"

#include "compiler/tile/LowerTile.h"

namespace tegula::tile {

using namespace mlir;

namespace {

/// Addresses and masked accesses of one view.
class ViewAccess {
public:
  ViewAccess(TileLowering& lowering, Value view, Value row, Value col)
      : lowering_(lowering), e_(lowering.emit()), b_(lowering.builder()), view_(view.getDefiningOp<ViewOp>()),
        row_(row), col_(col), element_(cast<ViewType>(view.getType()).getElementType()) {}

  Type element() const { return element_; }
  bool unitColumns() { return cast<ViewType>(view_.getResult().getType()).getUnit() == Unit::Col; }
  Value columnStride() { return view_.getColStride(); }

  /// Address of element (row + r, col + c).
  Value address(int64_t r, int64_t c) { return lowering_.addressOf(view_.getResult(), plus(row_, r), plus(col_, c)); }
  /// Addresses of the lanes of a vector: base + lane * column stride (+ displacement in elements).
  Value addresses(Value base, Value displacement = {}) {
    Type i64 = b_.getI64Type();
    Value stride = e_.splat(arith::IndexCastOp::create(b_, e_.loc, i64, columnStride()));
    Value offsets = arith::MulIOp::create(b_, e_.loc, e_.laneNumbers(i64), stride);
    if (displacement) offsets = arith::AddIOp::create(b_, e_.loc, offsets, displacement);
    Type pointers = e_.vectorOf(LLVM::LLVMPointerType::get(b_.getContext()));
    return LLVM::GEPOp::create(b_, e_.loc, pointers, memoryType(element_), base, ArrayRef<LLVM::GEPArg>{offsets});
  }

  int32_t alignment() const { return static_cast<int32_t>(memoryBytes(element_)); }

  Value loadVector(Value base, Value mask, Value fill) {
    VectorType memory = e_.vectorOf(memoryType(element_));
    if (!unitColumns()) return gatherVector(addresses(base), mask, fill);
    if (!mask) return LLVM::LoadOp::create(b_, e_.loc, memory, base, static_cast<unsigned>(alignment()));
    return LLVM::MaskedLoadOp::create(b_, e_.loc, memory, base, mask, fill, b_.getI32IntegerAttr(alignment()),
                                      UnitAttr{});
  }
  Value gatherVector(Value pointers, Value mask, Value fill) {
    VectorType memory = e_.vectorOf(memoryType(element_));
    if (!mask) mask = e_.constantInt(e_.vectorOf(b_.getI1Type()), 1);
    return LLVM::masked_gather::create(b_, e_.loc, memory, pointers, mask, ValueRange{fill},
                                       b_.getI32IntegerAttr(alignment()));
  }
  /// One element if `exists` (null: surely), else `fill`.
  Value loadScalar(Value base, Value exists, Value fill) {
    Type memory = memoryType(element_);
    auto load = [&] {
      return LLVM::LoadOp::create(b_, e_.loc, memory, base, static_cast<unsigned>(alignment())).getResult();
    };
    if (!exists) return load();
    auto branch = scf::IfOp::create(b_, e_.loc, TypeRange{memory}, exists, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(b_, e_.loc, load());
    b_.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b_, e_.loc, fill);
    return branch.getResult(0);
  }

  /// `fill` in memory form.
  Value fillScalar(double fill) {
    Value x = e_.constant(registerType(element_), fill);
    if (element_.isInteger(1)) x = e_.constantInt(b_.getI1Type(), fill != 0);
    return e_.encode(x, element_);
  }

private:
  Value plus(Value index, int64_t by) {
    return by == 0 ? index : arith::AddIOp::create(b_, e_.loc, index, e_.index(by)).getResult();
  }

  TileLowering& lowering_;
  VectorEmitter& e_;
  OpBuilder& b_;
  ViewOp view_;
  Value row_, col_;
  Type element_;
};

TileValue resultTile(Value result, Value rowExtent, Value colExtent) {
  auto type = cast<TileType>(result.getType());
  return {type, type.getRows() == 1 ? Value{} : rowExtent, type.getCols() == 1 ? Value{} : colExtent, {}};
}

/// The extents of a load of bound 1 still say whether there is anything to read.
Value existsOf(TileLowering& lowering, LoadOp op, int64_t row) {
  OpBuilder& b = lowering.builder();
  Value exists = op.getGuard();
  auto require = [&](Value condition) {
    exists = exists ? arith::AndIOp::create(b, op.getLoc(), exists, condition).getResult() : condition;
  };
  auto above = [&](Value extent, int64_t i) {
    return arith::CmpIOp::create(b, op.getLoc(), arith::CmpIPredicate::sgt, extent, lowering.emit().index(i))
        .getResult();
  };
  if (op.getRowExtent()) require(above(op.getRowExtent(), row));
  auto type = cast<TileType>(op.getResult().getType());
  if (op.getColExtent() && type.getCols() == 1) require(above(op.getColExtent(), 0));
  return exists;
}

Value both(TileLowering& lowering, Value mask, Value guard) {
  if (!guard) return mask;
  Value lanes = lowering.emit().splat(guard);
  return mask ? arith::AndIOp::create(lowering.builder(), lowering.emit().loc, mask, lanes).getResult() : lanes;
}

} // namespace

Value TileLowering::addressOf(Value view, Value row, Value col) {
  auto op = view.getDefiningOp<ViewOp>();
  Location loc = op.getLoc();
  auto type = cast<ViewType>(view.getType());
  Type pointer = LLVM::LLVMPointerType::get(op.getContext());
  Value slot = LLVM::GEPOp::create(builder_, loc, pointer, pointer, bindingsArgument(),
                                   ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(op.getBinding())});
  Value base = LLVM::LoadOp::create(builder_, loc, pointer, slot, /*alignment=*/8, /*isVolatile=*/false,
                                    /*isNonTemporal=*/false, /*isInvariant=*/true);
  auto scaled = [&](Value index, Value stride, bool unit) {
    return unit ? index : arith::MulIOp::create(builder_, loc, index, stride).getResult();
  };
  Value offset =
      arith::AddIOp::create(builder_, loc, op.getOffset(), scaled(row, op.getRowStride(), type.getUnit() == Unit::Row));
  offset = arith::AddIOp::create(builder_, loc, offset, scaled(col, op.getColStride(), type.getUnit() == Unit::Col));
  Value elements = arith::IndexCastOp::create(builder_, loc, builder_.getI64Type(), offset);
  return LLVM::GEPOp::create(builder_, loc, pointer, memoryType(type.getElementType()), base,
                             ArrayRef<LLVM::GEPArg>{elements});
}

void lowerLoad(TileLowering& lowering, LoadOp op) {
  VectorEmitter& e = lowering.emit();
  ViewAccess view(lowering, op.getView(), op.getRow(), op.getCol());
  TileValue value = resultTile(op.getResult(), op.getRowExtent(), op.getColExtent());
  Value fill = view.fillScalar(op.getFill() ? op.getFill()->convertToDouble() : 0.0), fills;
  for (int64_t r = 0; r < value.type.getRows(); ++r)
    for (int64_t g = 0; g < value.vectorsPerRow(e.lanes); ++g) {
      Value base = view.address(r, g * e.lanes);
      if (value.type.getCols() == 1) {
        Value element = view.loadScalar(base, existsOf(lowering, op, r), fill);
        value.vectors.push_back(e.splat(e.decode(element, view.element())));
        continue;
      }
      if (!fills) fills = e.splat(fill);
      Value mask = both(lowering, lowering.maskAt(value, r, g), op.getGuard());
      value.vectors.push_back(e.decode(view.loadVector(base, mask, fills), view.element()));
    }
  lowering.setValue(op.getResult(), std::move(value));
}

void lowerGather(TileLowering& lowering, GatherOp op) {
  VectorEmitter& e = lowering.emit();
  OpBuilder& b = lowering.builder();
  ViewAccess view(lowering, op.getView(), op.getRow(), op.getCol());
  TileValue index = lowering.valueOf(op.getIndex());
  TileValue value = resultTile(op.getResult(), index.rowExtent, index.colExtent);
  Type i64 = b.getI64Type();
  auto wide = [&](Value v) { return e.splat(arith::IndexCastOp::create(b, op.getLoc(), i64, v)); };
  Value stride = wide(op.getStride()), bound = wide(op.getBound());
  Value fills = e.splat(view.fillScalar(op.getFill().convertToDouble()));
  for (int64_t g = 0; g < value.vectorsPerRow(e.lanes); ++g) {
    Value numbers = lowering.vectorAt(index, 0, g);
    if (numbers.getType() != e.vectorOf(i64)) {
      bool isUnsigned = isUnsignedElement(index.type.getElementType());
      numbers = isUnsigned ? arith::ExtUIOp::create(b, op.getLoc(), e.vectorOf(i64), numbers).getResult()
                           : arith::ExtSIOp::create(b, op.getLoc(), e.vectorOf(i64), numbers).getResult();
    }
    // One unsigned comparison refuses negative indices too.
    Value inside = arith::CmpIOp::create(b, op.getLoc(), arith::CmpIPredicate::ult, numbers, bound);
    Value exists = lowering.maskAt(value, 0, g);
    Value mask = exists ? arith::AndIOp::create(b, op.getLoc(), inside, exists).getResult() : inside;
    mask = both(lowering, mask, op.getGuard());
    Value displacement = arith::MulIOp::create(b, op.getLoc(), numbers, stride);
    Value pointers = view.addresses(view.address(0, g * e.lanes), displacement);
    value.vectors.push_back(e.decode(view.gatherVector(pointers, mask, fills), view.element()));
  }
  lowering.setValue(op.getResult(), std::move(value));
}

void lowerStore(TileLowering& lowering, StoreOp op) {
  VectorEmitter& e = lowering.emit();
  OpBuilder& b = lowering.builder();
  Location loc = op.getLoc();
  ViewAccess view(lowering, op.getView(), op.getRow(), op.getCol());
  TileValue tile = lowering.valueOf(op.getTile());
  Attribute alignment = b.getI32IntegerAttr(view.alignment());
  for (int64_t r = 0; r < tile.type.getRows(); ++r)
    for (int64_t g = 0; g < tile.vectorsPerRow(e.lanes); ++g) {
      Value base = view.address(r, g * e.lanes), vector = lowering.vectorAt(tile, r, g);
      if (tile.type.getCols() == 1) {
        Value element = e.encode(e.lane(vector, 0), view.element());
        OpBuilder::InsertionGuard guard(b);
        if (tile.rowExtent) {
          Value exists = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, e.index(r), tile.rowExtent);
          b.setInsertionPointToStart(scf::IfOp::create(b, loc, exists, /*withElseRegion=*/false).thenBlock());
        }
        LLVM::StoreOp::create(b, loc, element, base, static_cast<unsigned>(view.alignment()));
        continue;
      }
      Value mask = lowering.maskAt(tile, r, g), memory = e.encode(vector, view.element());
      if (!view.unitColumns()) {
        if (!mask) mask = e.constantInt(e.vectorOf(b.getI1Type()), 1);
        LLVM::masked_scatter::create(b, loc, memory, view.addresses(base), mask, cast<IntegerAttr>(alignment));
      } else if (mask) {
        LLVM::MaskedStoreOp::create(b, loc, memory, base, mask, cast<IntegerAttr>(alignment));
      } else {
        LLVM::StoreOp::create(b, loc, memory, base, static_cast<unsigned>(view.alignment()));
      }
    }
}

} // namespace tegula::tile
