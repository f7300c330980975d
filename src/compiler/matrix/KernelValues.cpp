// KernelValues: tile operations on what a kernel's names stand for.
#include "compiler/codegen/Mlir.h"

#include "compiler/matrix/KernelValues.h"

#include "compiler/tile/Elements.h"
#include "compiler/tile/MapFunctions.h"

namespace tegula::matrix {

using namespace mlir;
using lang::Op;
using tile::TileType;

DType programType(const TileKernelSource& s, const Program& p) {
  if (p.kind == Program::Kind::Window) return s.windows[static_cast<size_t>(p.index)].dtype;
  return p.dtype;
}

// ------------------------------------------------------------------------------------------------------------ indices

Value TileOps::scalar(int64_t slot) {
  return tile::ScalarOp::create(b_, loc(), b_.getIndexType(), static_cast<uint64_t>(slot));
}
Value TileOps::index(int64_t v) { return arith::ConstantIndexOp::create(b_, loc(), v); }
Value TileOps::add(Value a, Value c) { return arith::AddIOp::create(b_, loc(), a, c); }
Value TileOps::sub(Value a, Value c) { return arith::SubIOp::create(b_, loc(), a, c); }
Value TileOps::mul(Value a, Value c) { return arith::MulIOp::create(b_, loc(), a, c); }
Value TileOps::div(Value a, Value c) { return arith::DivUIOp::create(b_, loc(), a, c); }
Value TileOps::rem(Value a, Value c) { return arith::RemUIOp::create(b_, loc(), a, c); }
Value TileOps::min(Value a, Value c) { return arith::MinSIOp::create(b_, loc(), a, c); }
Value TileOps::max(Value a, Value c) { return arith::MaxSIOp::create(b_, loc(), a, c); }
Value TileOps::ceilDiv(Value a, Value c) { return div(add(a, sub(c, index(1))), c); }

// ------------------------------------------------------------------------------------------------------------ windows

void TileOps::openWindows(const Value (&batch)[kBatchAxes]) {
  for (size_t w = 0; w < s_.windows.size(); ++w) {
    const Window& window = s_.windows[w];
    int64_t slot = s_.strideSlot(static_cast<int32_t>(w));
    auto stride = [&](StrideClass c, int64_t at) {
      return c == StrideClass::Any ? scalar(at) : index(c == StrideClass::One ? 1 : 0);
    };
    Value row = stride(window.row, slot), col = stride(window.col, slot + 1), offset = index(0);
    for (int d = 0; d < kBatchAxes; ++d) offset = add(offset, mul(batch[d], scalar(slot + 2 + d)));
    tile::Unit unit = window.col == StrideClass::One   ? tile::Unit::Col
                      : window.row == StrideClass::One ? tile::Unit::Row
                                                       : tile::Unit::None;
    auto type = tile::ViewType::get(b_.getContext(), tile::elementType(b_.getContext(), window.dtype), unit);
    views_.push_back(tile::ViewOp::create(b_, loc(), type, static_cast<uint64_t>(w), offset, row, col));
  }
}

Value TileOps::load(int32_t window, const TileCoord& row, const TileCoord& col) {
  const Window& w = s_.windows[static_cast<size_t>(window)];
  bool oneRow = w.row == StrideClass::Zero, oneCol = w.col == StrideClass::Zero;
  Type element = tile::elementType(b_.getContext(), w.dtype);
  auto type = TileType::get(b_.getContext(), oneRow ? 1 : row.bound, oneCol ? 1 : col.bound, element);
  return tile::LoadOp::create(b_, loc(), type, views_[static_cast<size_t>(window)], oneRow ? index(0) : row.start,
                              oneCol ? index(0) : col.start, oneRow ? Value() : row.extent,
                              oneCol ? Value() : col.extent, Value(), FloatAttr());
}

void TileOps::store(int32_t window, Value tile, const TileCoord& row, const TileCoord& col) {
  tile::StoreOp::create(b_, loc(), tile, views_[static_cast<size_t>(window)], row.start, col.start);
}

Value TileOps::program(const Program& p, const TileCoord& row, const TileCoord& col, Value result) {
  switch (p.kind) {
  case Program::Kind::Window:
    return load(p.index, row, col);
  case Program::Kind::Result:
    return result;
  case Program::Kind::Constant:
    return single(isFloat(p.dtype) ? KernelValue::ofFloat(p.constant) : KernelValue::ofInt(p.integer), type(p.dtype));
  case Program::Kind::Absent:
    assert(false && "an absent operand is not read");
    return {};
  case Program::Kind::Apply:
    break;
  }
  SmallVector<Value> args;
  for (const Program& a : p.args) args.push_back(program(a, row, col, result));
  std::string_view fn = p.function.text();
  return map({fn.data(), fn.size()}, args, type(p.dtype));
}

Value TileOps::expand(Value tile, const TileCoord& row, const TileCoord& col) {
  auto have = cast<TileType>(tile.getType());
  if (have.getRows() == row.bound && have.getCols() == col.bound) return tile;
  Value yes = arith::ConstantOp::create(b_, loc(), b_.getBoolAttr(true));
  auto shape = TileType::get(b_.getContext(), row.bound, col.bound, b_.getI1Type());
  Value everywhere = tile::SplatOp::create(b_, loc(), shape, yes, row.extent, col.extent);
  return map("select", {everywhere, tile, tile}, have.getElementType());
}

// -------------------------------------------------------------------------------------------------------------- tiles

Type TileOps::type(DType d) { return tile::elementType(b_.getContext(), d); }
Type TileOps::accumulating(DType d) { return d == DType::F32 && s_.wide ? b_.getF64Type() : type(d); }

Value TileOps::splat(const KernelValue& constant, Type element, const TileCoord& rows, const TileCoord& cols) {
  Type scalar = tile::registerType(element);
  auto whole = [&] { // a float constant in a tile of integers holds one
    return constant.kind == KernelValue::Kind::Float ? static_cast<int64_t>(constant.real) : constant.integer;
  };
  auto bits = [&] { return APInt(64, static_cast<uint64_t>(whole())).trunc(scalar.getIntOrFloatBitWidth()); };
  TypedAttr attribute = isa<FloatType>(scalar) ? TypedAttr(b_.getFloatAttr(scalar, constant.real))
                                               : TypedAttr(IntegerAttr::get(scalar, bits()));
  Value x = arith::ConstantOp::create(b_, loc(), attribute);
  return tile::SplatOp::create(b_, loc(), TileType::get(b_.getContext(), rows.bound, cols.bound, element), x,
                               rows.extent, cols.extent);
}

Value TileOps::map(StringRef fn, ArrayRef<Value> inputs, Type element) {
  int64_t rows = 1, cols = 1;
  for (Value v : inputs) {
    auto t = cast<TileType>(v.getType());
    rows = std::max(rows, t.getRows());
    cols = std::max(cols, t.getCols());
  }
  return tile::MapOp::create(b_, loc(), TileType::get(b_.getContext(), rows, cols, element), fn, inputs);
}

Value TileOps::cast(Value tile, Type element) {
  if (mlir::cast<TileType>(tile.getType()).getElementType() == element) return tile;
  return map("cast", {tile}, element);
}

Value TileOps::transpose(Value tile) {
  auto t = mlir::cast<TileType>(tile.getType());
  return tile::TransposeOp::create(b_, loc(),
                                   TileType::get(b_.getContext(), t.getCols(), t.getRows(), t.getElementType()), tile);
}

Value TileOps::reduce(StringRef kind, int64_t axis, Value tile) {
  auto t = mlir::cast<TileType>(tile.getType());
  auto type =
      TileType::get(b_.getContext(), axis == 0 ? 1 : t.getRows(), axis == 1 ? 1 : t.getCols(), t.getElementType());
  return tile::ReduceOp::create(b_, loc(), type, kind, static_cast<uint64_t>(axis), tile);
}

Value TileOps::iota(int axis, const TileCoord& at) {
  auto type = TileType::get(b_.getContext(), axis == 0 ? at.bound : 1, axis == 1 ? at.bound : 1, b_.getI64Type());
  return tile::IotaOp::create(b_, loc(), type, static_cast<uint64_t>(axis), at.start, axis == 0 ? at.extent : Value(),
                              axis == 1 ? at.extent : Value());
}

StatusOr<Value> TileOps::tileOf(const KernelValue& v, Type element) {
  if (v.isTile()) return v.value;
  if (v.isConstant()) return single(v, element);
  if (v.kind != KernelValue::Kind::Number) return invalid("expected a tile or a number");
  Type wanted = isa<FloatType>(element) ? Type(b_.getI64Type()) : element;
  Value tile =
      tile::SplatOp::create(b_, loc(), TileType::get(b_.getContext(), 1, 1, wanted), v.value, Value(), Value());
  return cast(tile, element);
}

/// The one element type of operands: constants follow the tiles, floats go with the wider, whole numbers are i64.
StatusOr<Type> TileOps::common(ArrayRef<KernelValue> values) {
  Type found;
  bool real = false;
  for (const KernelValue& v : values) {
    real |= v.kind == KernelValue::Kind::Float;
    if (!v.isTile()) continue;
    Type t = mlir::cast<TileType>(v.value.getType()).getElementType();
    if (!found || found == t) {
      found = t;
      continue;
    }
    bool floats = isa<FloatType>(found) && isa<FloatType>(t);
    if (!floats) return invalid("operands of different element types: cast one of them");
    found = found.isF64() || t.isF64() ? Type(b_.getF64Type()) : Type(b_.getF32Type());
  }
  if (!found) found = real ? accumulating(DType::F32) : Type(b_.getI64Type());
  if (real && !isa<FloatType>(found)) return invalid("a whole-number tile meets a real number: cast one of them");
  return found;
}

static std::optional<int64_t> fold(Op op, int64_t a, int64_t c) {
  switch (op) {
  case Op::Add:
    return a + c;
  case Op::Sub:
    return a - c;
  case Op::Mul:
    return a * c;
  case Op::Less:
    return a < c;
  case Op::LessEqual:
    return a <= c;
  case Op::Greater:
    return a > c;
  case Op::GreaterEqual:
    return a >= c;
  case Op::Equal:
    return a == c;
  case Op::NotEqual:
    return a != c;
  case Op::And:
    return a && c;
  case Op::Or:
    return a || c;
  default:
    return std::nullopt;
  }
}

static bool isNumber(const KernelValue& v) {
  return v.kind == KernelValue::Kind::Number || v.kind == KernelValue::Kind::Int;
}

StatusOr<KernelValue> TileOps::unary(Op op, const KernelValue& v) {
  using Kind = KernelValue::Kind;
  if (op == Op::Pos) return v;
  if (op == Op::Not && v.isConstant()) return KernelValue::ofBool(v.real == 0);
  if (op == Op::Neg) {
    if (v.kind == Kind::Int) return KernelValue::ofInt(-v.integer);
    if (v.kind == Kind::Float) return KernelValue::ofFloat(-v.real);
    if (v.kind == Kind::Number) return KernelValue::ofNumber(sub(index(0), v.value));
    if (v.isTile()) return apply("neg", {v});
  }
  if (op == Op::Invert && v.isTile()) return apply("logical_not", {v});
  return invalid("`{}` does not apply here", lang::spelling(op));
}

StatusOr<KernelValue> TileOps::binary(Op op, const KernelValue& a, const KernelValue& c) {
  using Kind = KernelValue::Kind;
  if (op == Op::Is || op == Op::IsNot) return KernelValue::ofBool((a.kind == c.kind) == (op == Op::Is));
  if (!a.isTile() && !c.isTile()) {
    if (a.isConstant() && c.isConstant()) {
      if (a.kind != Kind::Float && c.kind != Kind::Float)
        if (auto r = fold(op, a.integer, c.integer)) return KernelValue::ofInt(*r);
      if (op == Op::Mul) return KernelValue::ofFloat(a.real * c.real);
      if (op == Op::Div && c.real != 0) return KernelValue::ofFloat(a.real / c.real);
      if (op == Op::Add) return KernelValue::ofFloat(a.real + c.real);
      if (op == Op::Sub) return KernelValue::ofFloat(a.real - c.real);
    }
    if (isNumber(a) && isNumber(c)) {
      Value x = a.kind == Kind::Int ? index(a.integer) : a.value, y = c.kind == Kind::Int ? index(c.integer) : c.value;
      if (op == Op::Add) return KernelValue::ofNumber(add(x, y));
      if (op == Op::Sub) return KernelValue::ofNumber(sub(x, y));
      if (op == Op::Mul) return KernelValue::ofNumber(mul(x, y));
    }
    return invalid("`{}` does not apply to these numbers", lang::spelling(op));
  }
  switch (op) {
  case Op::Add:
    return apply("add", {a, c});
  case Op::Sub:
    return apply("sub", {a, c});
  case Op::Mul:
    return apply("mul", {a, c});
  case Op::Div:
    return apply("div", {a, c});
  case Op::Mod:
    return apply("remainder", {a, c});
  case Op::Pow:
    return apply("pow", {a, c});
  case Op::Less:
    return apply("less", {a, c});
  case Op::LessEqual:
    return apply("less_equal", {a, c});
  case Op::Greater:
    return apply("less", {c, a});
  case Op::GreaterEqual:
    return apply("less_equal", {c, a});
  case Op::Equal:
    return apply("equal", {a, c});
  case Op::NotEqual: {
    TG_ASSIGN_OR_RETURN(KernelValue same, apply("equal", {a, c}));
    return apply("logical_not", {same});
  }
  case Op::BitAnd:
  case Op::And:
    return apply("logical_and", {a, c});
  case Op::BitOr:
  case Op::Or:
    return apply("logical_or", {a, c});
  default:
    return invalid("`{}` does not apply to tiles", lang::spelling(op));
  }
}

static bool isPredicate(StringRef fn) {
  return fn == "equal" || fn == "less" || fn == "less_equal" || fn == "is_nan" || fn.starts_with("logical_");
}

StatusOr<KernelValue> TileOps::apply(Symbol function, ArrayRef<KernelValue> values) {
  std::string_view text = function.text() == "where" ? "select" : function.text();
  StringRef fn(text.data(), text.size());
  if (!tile::isMapFunction(fn) || fn == "cast" || fn == "random_uniform")
    return invalid("`{}` is not a function of tile kernels", function.text());
  size_t first = fn == "select" ? 1 : 0; // the condition has a type of its own
  size_t arity = fn == "select" || fn == "fma" ? 3 : values.size();
  if (values.size() != arity) return invalid("`{}` takes {} operands, found {}", function.text(), arity, values.size());
  TG_ASSIGN_OR_RETURN(Type element, common(values.drop_front(first)));
  SmallVector<Value> operands;
  for (size_t i = 0; i < values.size(); ++i) {
    TG_ASSIGN_OR_RETURN(Value tile, tileOf(values[i], i < first ? Type(b_.getI1Type()) : element));
    operands.push_back(i < first ? tile : cast(tile, element));
  }
  return KernelValue::ofValue(map(fn, operands, isPredicate(fn) ? Type(b_.getI1Type()) : element));
}

StatusOr<KernelValue> TileOps::dot(Value a, Value c, const KernelValue& accumulator) {
  auto left = mlir::cast<TileType>(a.getType()), right = mlir::cast<TileType>(c.getType());
  Type element = accumulating(DType::F32);
  if (left.getCols() != right.getRows())
    return invalid("dot: the left tile has {} columns but the right one {} rows", left.getCols(), right.getRows());
  Value acc;
  if (accumulator.isTile()) {
    auto have = mlir::cast<TileType>(accumulator.value.getType());
    if (have.getRows() == left.getRows() && have.getCols() == right.getCols() && have.getElementType() == element)
      acc = accumulator.value;
  }
  bool separate = !acc && accumulator.kind != KernelValue::Kind::None;
  auto type = TileType::get(b_.getContext(), left.getRows(), right.getCols(), element);
  if (!acc)
    acc = splat(KernelValue::ofFloat(0), element, {Value(), Value(), left.getRows()},
                {Value(), Value(), right.getCols()});
  bool pairs = s_.schedule.dot == DotKind::Bf16Dot && left.getElementType().isBF16() && right.getElementType().isBF16();
  auto number = [](int64_t n) { return static_cast<uint64_t>(n); };
  Value product =
      tile::DotOp::create(b_, loc(), type, a, c, acc, pairs ? "bf16dot" : "fma", number(s_.schedule.registerRows),
                          number(s_.schedule.registerColumns), number(s_.schedule.unroll), number(s_.schedule.group));
  if (!separate) return KernelValue::ofValue(product);
  return binary(Op::Add, accumulator, KernelValue::ofValue(product));
}

// ------------------------------------------------------------------------------------------------------------ carried

StatusOr<Value> TileOps::carried(const KernelValue& v) {
  if (v.isTile() || v.kind == KernelValue::Kind::Number) return v.value;
  if (v.kind == KernelValue::Kind::Int) return index(v.integer);
  return invalid("a loop carries tiles and whole numbers only");
}

StatusOr<Value> TileOps::carriedAs(const KernelValue& v, Type type) {
  TG_ASSIGN_OR_RETURN(Value value, carried(v));
  if (value.getType() == type) return value;
  auto want = dyn_cast<TileType>(type), have = dyn_cast<TileType>(value.getType());
  if (!want || !have) return invalid("a carried value changes its kind");
  if (have.getRows() != want.getRows() || have.getCols() != want.getCols())
    return invalid("a carried tile changes its bounds");
  return cast(value, want.getElementType());
}

} // namespace tegula::matrix
