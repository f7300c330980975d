// Register and memory forms of element types; combining, neutral elements and folds of vectors.
#include "compiler/codegen/Mlir.h"

#include "compiler/tile/Elements.h"

#include "tensor/Element.h"
#include <limits>

namespace tegula::tile {

using namespace mlir;

namespace {

bool isNarrowFloat(Type element) { return element.isBF16() || element.isF16(); }

/// `like` with another scalar type: a vector of the same length, or the scalar.
Type withScalar(Type like, Type scalar) {
  if (auto vector = dyn_cast<VectorType>(like)) return VectorType::get(vector.getShape(), scalar);
  return scalar;
}

/// The least or largest value of an integer element type.
int64_t integerBound(Type element, bool largest) {
  unsigned bits = element.getIntOrFloatBitWidth();
  if (isUnsignedElement(element)) return largest ? (int64_t{1} << bits) - 1 : 0;
  int64_t most = bits == 64 ? std::numeric_limits<int64_t>::max() : (int64_t{1} << (bits - 1)) - 1;
  return largest ? most : -most - 1;
}

} // namespace

Type elementType(MLIRContext* context, DType d) {
  Builder b(context);
  switch (d) {
  case DType::Bool:
    return b.getI1Type();
  case DType::I8:
    return b.getI8Type();
  case DType::U8:
    return b.getIntegerType(8, false);
  case DType::I16:
    return b.getI16Type();
  case DType::U16:
    return b.getIntegerType(16, false);
  case DType::I32:
    return b.getI32Type();
  case DType::I64:
    return b.getI64Type();
  case DType::F16:
    return b.getF16Type();
  case DType::BF16:
    return b.getBF16Type();
  case DType::F32:
    return b.getF32Type();
  case DType::F64:
    return b.getF64Type();
  case DType::F8E4M3:
  case DType::F8E5M2:
    break;
  }
  assert(false && "8-bit floats have no tiles");
  return {};
}

Type registerType(Type element) {
  if (isNarrowFloat(element)) return Float32Type::get(element.getContext());
  if (auto integer = dyn_cast<IntegerType>(element)) return IntegerType::get(element.getContext(), integer.getWidth());
  return element;
}

Type memoryType(Type element) {
  if (isNarrowFloat(element)) return IntegerType::get(element.getContext(), 16);
  if (element.isInteger(1)) return IntegerType::get(element.getContext(), 8);
  return registerType(element);
}

int64_t memoryBytes(Type element) { return memoryType(element).getIntOrFloatBitWidth() / 8; }

bool isUnsignedElement(Type element) { return element.isUnsignedInteger() || element.isInteger(1); }

Value VectorEmitter::constant(Type type, double value) {
  Type scalar = getElementTypeOrSelf(type);
  if (auto integer = dyn_cast<IntegerType>(scalar)) return constantInt(type, saturatingTruncate<int64_t>(value));
  TypedAttr attribute = b.getFloatAttr(scalar, value);
  if (auto vector = dyn_cast<VectorType>(type)) attribute = DenseElementsAttr::get(vector, Attribute(attribute));
  return arith::ConstantOp::create(b, loc, attribute);
}

Value VectorEmitter::constantInt(Type type, int64_t value) {
  unsigned bits = getElementTypeOrSelf(type).getIntOrFloatBitWidth();
  APInt bitsOfValue = APInt(64, static_cast<uint64_t>(value)).trunc(bits);
  TypedAttr attribute = IntegerAttr::get(getElementTypeOrSelf(type), bitsOfValue);
  if (auto vector = dyn_cast<VectorType>(type)) attribute = DenseElementsAttr::get(vector, Attribute(attribute));
  return arith::ConstantOp::create(b, loc, attribute);
}

Value VectorEmitter::laneNumbers(Type integer) {
  SmallVector<Attribute> numbers;
  for (int64_t i = 0; i < lanes; ++i) numbers.push_back(b.getIntegerAttr(integer, i));
  return arith::ConstantOp::create(b, loc, DenseElementsAttr::get(vectorOf(integer), numbers));
}

Value VectorEmitter::mask(Value extent, int64_t first) {
  Type i32 = b.getI32Type(); // extents are within a tile's bound
  Value rest = arith::SubIOp::create(b, loc, arith::IndexCastOp::create(b, loc, i32, extent), constantInt(i32, first));
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, laneNumbers(i32), splat(rest));
}

Value VectorEmitter::decode(Value memory, Type element) {
  Type registers = withScalar(memory.getType(), registerType(element));
  if (element.isInteger(1))
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, memory, constantInt(memory.getType(), 0));
  if (element.isBF16()) {
    Type i32 = withScalar(memory.getType(), b.getI32Type());
    Value wide = arith::ExtUIOp::create(b, loc, i32, memory);
    return arith::BitcastOp::create(b, loc, registers, arith::ShLIOp::create(b, loc, wide, constantInt(i32, 16)));
  }
  if (element.isF16()) {
    Value half = arith::BitcastOp::create(b, loc, withScalar(memory.getType(), element), memory);
    return arith::ExtFOp::create(b, loc, registers, half);
  }
  return memory;
}

Value VectorEmitter::encode(Value inRegister, Type element) {
  Type memory = withScalar(inRegister.getType(), memoryType(element));
  if (element.isInteger(1)) return arith::ExtUIOp::create(b, loc, memory, inRegister);
  if (element.isBF16()) {
    Type i32 = withScalar(inRegister.getType(), b.getI32Type());
    Value bits = arith::BitcastOp::create(b, loc, i32, inRegister);
    return arith::TruncIOp::create(b, loc, memory, arith::ShRUIOp::create(b, loc, bits, constantInt(i32, 16)));
  }
  if (element.isF16()) {
    Value half = arith::TruncFOp::create(b, loc, withScalar(inRegister.getType(), element), inRegister);
    return arith::BitcastOp::create(b, loc, memory, half);
  }
  return inRegister;
}

Value VectorEmitter::round(Value x, Type element) {
  if (element.isF16()) {
    Value half = arith::TruncFOp::create(b, loc, withScalar(x.getType(), element), x);
    return arith::ExtFOp::create(b, loc, x.getType(), half);
  }
  if (!element.isBF16()) return x;
  // Adding half of the last place minus one, plus the last bit that stays, carries exactly when nearest-even rounds up.
  Type i32 = withScalar(x.getType(), b.getI32Type());
  Value bits = arith::BitcastOp::create(b, loc, i32, x);
  Value last =
      arith::AndIOp::create(b, loc, arith::ShRUIOp::create(b, loc, bits, constantInt(i32, 16)), constantInt(i32, 1));
  Value up = arith::AddIOp::create(b, loc, arith::AddIOp::create(b, loc, bits, constantInt(i32, 0x7fff)), last);
  Value quiet = arith::OrIOp::create(b, loc, bits, constantInt(i32, 0x400000)); // a NaN must not carry into infinity
  Value isNan = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNO, x, x);
  Value chosen = arith::SelectOp::create(b, loc, isNan, quiet, up);
  Value kept = arith::AndIOp::create(b, loc, chosen, constantInt(i32, 0xffff0000));
  return arith::BitcastOp::create(b, loc, x.getType(), kept);
}

Value VectorEmitter::narrowToOdd(Value x) {
  Type f32 = withScalar(x.getType(), b.getF32Type()), i32 = withScalar(x.getType(), b.getI32Type());
  Value nearest = arith::TruncFOp::create(b, loc, f32, x);
  Value back = arith::ExtFOp::create(b, loc, x.getType(), nearest);
  Value bits = arith::BitcastOp::create(b, loc, i32, nearest);
  auto magnitude = [&](Value v) { return LLVM::FAbsOp::create(b, loc, v).getResult(); };
  Value tooLarge = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT, magnitude(back), magnitude(x));
  Value below = arith::SubIOp::create(b, loc, bits, constantInt(i32, 1)); // one place nearer to zero
  Value truncated = arith::SelectOp::create(b, loc, tooLarge, below, bits);
  Value odd = arith::OrIOp::create(b, loc, truncated, constantInt(i32, 1));
  Value inexact = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::ONE, back, x); // false for NaN
  return arith::BitcastOp::create(b, loc, f32, arith::SelectOp::create(b, loc, inexact, odd, bits));
}

Value VectorEmitter::combine(StringRef kind, Value a, Value x, Type element) {
  bool floats = isa<FloatType>(registerType(element)), isUnsigned = isUnsignedElement(element);
  if (kind == "sum") {
    if (floats) return arith::AddFOp::create(b, loc, a, x);
    return arith::AddIOp::create(b, loc, a, x);
  }
  if (kind == "prod") {
    if (floats) return arith::MulFOp::create(b, loc, a, x);
    return arith::MulIOp::create(b, loc, a, x);
  }
  if (kind == "max") {
    if (floats) return arith::MaximumFOp::create(b, loc, a, x);
    if (isUnsigned) return arith::MaxUIOp::create(b, loc, a, x);
    return arith::MaxSIOp::create(b, loc, a, x);
  }
  assert(kind == "min" && "kinds of reduction");
  if (floats) return arith::MinimumFOp::create(b, loc, a, x);
  if (isUnsigned) return arith::MinUIOp::create(b, loc, a, x);
  return arith::MinSIOp::create(b, loc, a, x);
}

Value VectorEmitter::neutral(StringRef kind, Type element) {
  VectorType type = registerVector(element);
  if (kind == "sum") return constant(type, 0);
  if (kind == "prod") return constant(type, 1);
  bool largest = kind == "min";
  if (isa<FloatType>(type.getElementType())) {
    double infinity = std::numeric_limits<double>::infinity();
    return constant(type, largest ? infinity : -infinity);
  }
  return constantInt(type, integerBound(element, largest));
}

Value VectorEmitter::fold(StringRef kind, Value vector, Type element) {
  Value rest = vector;
  for (int64_t half = lanes / 2; half >= 1; half /= 2) {
    auto part = [&](int64_t first) {
      SmallVector<int64_t> picked;
      for (int64_t i = 0; i < half; ++i) picked.push_back(first + i);
      return vector::ShuffleOp::create(b, loc, rest, rest, picked).getResult();
    };
    Value low = part(0), high = part(half);
    rest = combine(kind, low, high, element);
  }
  return splat(lane(rest, 0));
}

} // namespace tegula::tile
