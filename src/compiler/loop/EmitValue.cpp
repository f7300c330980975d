// Single values of a loop kernel: loads, numbers, maps, stores, and the index arithmetic under them.
#include "compiler/codegen/Mlir.h"

#include "compiler/loop/LoopEmitter.h"

#include "compiler/tile/Elements.h"

namespace tegula::loop {

using namespace mlir;
using V = LoopEmitter::V;

LoopEmitter::LoopEmitter(const LoopKernel& kernel, OpBuilder& builder, Location loc)
    : k_(kernel), slots_(kernel), b_(builder), loc_(loc), at_(static_cast<size_t>(kernel.axes)) {
  int next = 0;
  for (const Operand& o : k_.operands) bindings_.push_back(o.role == Operand::Role::Number ? -1 : next++);
  known_.emplace_back();
}

V LoopEmitter::index(int64_t value) { return arith::ConstantIndexOp::create(b_, loc_, value); }
V LoopEmitter::add(V a, V c) { return arith::AddIOp::create(b_, loc_, a, c); }
V LoopEmitter::sub(V a, V c) { return arith::SubIOp::create(b_, loc_, a, c); }
V LoopEmitter::mul(V a, V c) { return arith::MulIOp::create(b_, loc_, a, c); }
V LoopEmitter::min(V a, V c) { return arith::MinSIOp::create(b_, loc_, a, c); }
V LoopEmitter::div(V a, V c) { return arith::DivUIOp::create(b_, loc_, a, c); }
V LoopEmitter::rem(V a, V c) { return arith::RemUIOp::create(b_, loc_, a, c); }

V LoopEmitter::scalar(int slot) {
  V& v = scalars_[slot];
  if (v) return v;
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPointToStart(entry_);
  return v = tile::ScalarOp::create(b_, loc_, b_.getIndexType(), static_cast<uint64_t>(slot));
}

tile::TileType LoopEmitter::tileType(DType d, int64_t width) {
  return tile::TileType::get(b_.getContext(), 1, width, tile::elementType(b_.getContext(), d));
}

V LoopEmitter::map(StringRef fn, ArrayRef<V> inputs, DType d, int64_t width) {
  return tile::MapOp::create(b_, loc_, tileType(d, width), b_.getStringAttr(fn), ValueRange(inputs));
}

scf::ForOp LoopEmitter::openFor(V lo, V hi, V step, ValueRange carried) {
  auto loop = scf::ForOp::create(b_, loc_, lo, hi, step, carried);
  b_.setInsertionPointToStart(loop.getBody());
  return loop;
}

SmallVector<int> LoopEmitter::axesOf(AxisSet set) const {
  SmallVector<int> axes;
  for (int a = 0; a < k_.axes; ++a)
    if ((set & axisBit(a)) && a != k_.vectorAxis) axes.push_back(a);
  if (k_.vectorAxis >= 0 && (set & axisBit(k_.vectorAxis))) axes.push_back(k_.vectorAxis);
  return axes;
}

void LoopEmitter::bind(int axis, V at) {
  at_[static_cast<size_t>(axis)] = at;
  bound_ |= axisBit(axis);
}

V LoopEmitter::known(int value) const {
  for (const auto& scope : llvm::reverse(known_))
    if (auto it = scope.find(value); it != scope.end()) return it->second;
  return {};
}

V LoopEmitter::splat(V scalarValue, DType d, int64_t width) {
  V extent = width > 1 ? extent_ : V{};
  return tile::SplatOp::create(b_, loc_, tileType(d, width), scalarValue, V{}, extent);
}

V LoopEmitter::widen(V tileValue) {
  auto type = cast<tile::TileType>(tileValue.getType());
  if (type.getCols() == width_) return tileValue;
  Type element = type.getElementType();
  V element0 = tile::ExtractOp::create(b_, loc_, tile::registerType(element), tileValue, 0, 0);
  return tile::SplatOp::create(b_, loc_, tile::TileType::get(b_.getContext(), 1, width_, element), element0, V{},
                               extent_);
}

V LoopEmitter::eval(int value) {
  if (V v = known(value)) return v;
  const Instruction& i = k_.body[static_cast<size_t>(value)];
  V result;
  switch (i.kind) {
  case Instruction::Kind::Constant: {
    Type scalarType = tile::registerType(tile::elementType(b_.getContext(), i.dtype));
    TypedAttr attribute =
        isFloat(i.dtype)
            ? TypedAttr(b_.getFloatAttr(scalarType, i.number))
            : TypedAttr(IntegerAttr::get(
                  scalarType, APInt(64, static_cast<uint64_t>(i.integer)).trunc(scalarType.getIntOrFloatBitWidth())));
    V constant = arith::ConstantOp::create(b_, loc_, attribute);
    result = splat(constant, i.dtype, 1);
    break;
  }
  case Instruction::Kind::Parameter:
    result = splat(scalar(slots_.parameter(static_cast<int>(i.integer))), DType::I64, 1);
    break;
  case Instruction::Kind::Load:
    result = k_.operands[static_cast<size_t>(i.operand)].role == Operand::Role::Number ? emitNumber(i) : emitLoad(i);
    break;
  case Instruction::Kind::Map: {
    SmallVector<V> inputs;
    for (int input : i.inputs) inputs.push_back(eval(input));
    std::string_view fn = i.fn.text();
    result = map(StringRef(fn.data(), fn.size()), inputs, i.dtype, widthOf(i.axes));
    break;
  }
  case Instruction::Kind::Reduce:
  case Instruction::Kind::Scan:
    assert(false && "reductions are prepared before they are used");
  }
  known_.back()[value] = result;
  return result;
}

LoopEmitter::Place LoopEmitter::place(int operand) {
  const Operand& o = k_.operands[static_cast<size_t>(operand)];
  Place p;
  p.offset = scalar(slots_.offset(operand));
  for (int a = 0; a < k_.axes; ++a)
    if (a != k_.vectorAxis && o.strides[static_cast<size_t>(a)] != StrideClass::Absent)
      p.offset = add(p.offset, mul(at_[static_cast<size_t>(a)], scalar(slots_.stride(operand, a))));
  if (o.perItem) p.offset = add(p.offset, item_);
  for (int s = 0; s < static_cast<int>(o.subscripts.size()); ++s) {
    int value = o.subscripts[static_cast<size_t>(s)];
    V at = eval(value);
    if (isWide(k_.body[static_cast<size_t>(value)].axes)) {
      p.varying = s;
      continue;
    }
    V position = tile::ExtractOp::create(b_, loc_, b_.getIndexType(), at, 0, 0);
    V inside = arith::CmpIOp::create(b_, loc_, arith::CmpIPredicate::ult, position,
                                     scalar(slots_.subscriptExtent(operand, s)));
    p.guard = p.guard ? arith::AndIOp::create(b_, loc_, p.guard, inside).getResult() : inside;
    p.offset = add(p.offset, mul(position, scalar(slots_.subscriptStride(operand, s))));
  }
  return p;
}

V LoopEmitter::view(int operand, V offset) {
  const Operand& o = k_.operands[static_cast<size_t>(operand)];
  StrideClass along = k_.vectorAxis < 0 ? StrideClass::Absent : o.strides[static_cast<size_t>(k_.vectorAxis)];
  bool unit = along == StrideClass::Unit;
  V stride = unit ? index(1) : along == StrideClass::Absent ? index(0) : scalar(slots_.stride(operand, k_.vectorAxis));
  Type type = tile::ViewType::get(b_.getContext(), tile::elementType(b_.getContext(), o.dtype),
                                  unit ? tile::Unit::Col : tile::Unit::None);
  return tile::ViewOp::create(b_, loc_, type, static_cast<uint64_t>(bindings_[static_cast<size_t>(operand)]), offset,
                              index(0), stride);
}

V LoopEmitter::emitLoad(const Instruction& i) {
  const Operand& o = k_.operands[static_cast<size_t>(i.operand)];
  Place p = place(i.operand);
  V window = view(i.operand, p.offset), zero = index(0);
  bool moves = isWide(o.axes());
  V at = moves ? at_[static_cast<size_t>(k_.vectorAxis)] : zero;
  FloatAttr fill =
      b_.getF64FloatAttr(isFloat(i.dtype) ? i.number : static_cast<double>(static_cast<int64_t>(i.number)));
  if (p.varying >= 0) {
    V by = eval(o.subscripts[static_cast<size_t>(p.varying)]);
    return tile::GatherOp::create(b_, loc_, tileType(i.dtype, width_), window, zero, at, by,
                                  scalar(slots_.subscriptStride(i.operand, p.varying)),
                                  scalar(slots_.subscriptExtent(i.operand, p.varying)), p.guard, fill);
  }
  return tile::LoadOp::create(b_, loc_, tileType(i.dtype, moves ? width_ : 1), window, zero, at, V{},
                              moves ? extent_ : V{}, p.guard, p.guard ? fill : FloatAttr{});
}

V LoopEmitter::emitNumber(const Instruction& i) {
  const Operand& o = k_.operands[static_cast<size_t>(i.operand)];
  V base = place(i.operand).offset;
  if (!isWide(o.axes())) return splat(base, DType::I64, 1);
  auto vector = static_cast<size_t>(k_.vectorAxis);
  if (o.strides[vector] == StrideClass::Unit)
    return tile::IotaOp::create(b_, loc_, tileType(DType::I64, width_), 1, add(base, at_[vector]), V{}, extent_);
  V steps = tile::IotaOp::create(b_, loc_, tileType(DType::I64, width_), 1, at_[vector], V{}, extent_);
  V stride = splat(scalar(slots_.stride(i.operand, k_.vectorAxis)), DType::I64, 1);
  V scaled = map("mul", {steps, stride}, DType::I64, width_);
  return map("add", {scaled, splat(base, DType::I64, 1)}, DType::I64, width_);
}

void LoopEmitter::store(int operand, V tileValue, const Place& p) {
  const Operand& o = k_.operands[static_cast<size_t>(operand)];
  OpBuilder::InsertionGuard guard(b_);
  if (p.guard) b_.setInsertionPointToStart(scf::IfOp::create(b_, loc_, p.guard, /*withElseRegion=*/false).thenBlock());
  bool moves = isWide(o.axes());
  V at = moves ? at_[static_cast<size_t>(k_.vectorAxis)] : index(0);
  tile::StoreOp::create(b_, loc_, moves ? widen(tileValue) : tileValue, view(operand, p.offset), index(0), at);
}

} // namespace tegula::loop
