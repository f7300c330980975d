// Elementwise primitives on vectors.
#include "compiler/codegen/Mlir.h"

#include "compiler/tile/MapFunctions.h"

#include "compiler/codegen/Math.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"

#include <cmath>
#include <limits>

namespace tegula::tile {

using namespace mlir;

namespace {

bool isFloatVector(Value v) { return isa<FloatType>(getElementTypeOrSelf(v)); }

/// One application of a function: operands in registers, and what they stand for.
struct MapEmitter : VectorEmitter {
  MapEmitter(VectorEmitter& e, ArrayRef<Value> operands, ArrayRef<Type> elementTypes)
      : VectorEmitter(e), in(operands), elements(elementTypes) {}

  Type type() const { return in[0].getType(); }
  Value zero() { return constant(type(), 0); }
  Value choose(Value condition, Value a, Value other) { return arith::SelectOp::create(b, loc, condition, a, other); }
  Value cmpF(arith::CmpFPredicate p, Value a, Value x) { return arith::CmpFOp::create(b, loc, p, a, x); }
  Value cmpI(arith::CmpIPredicate p, Value a, Value x) { return arith::CmpIOp::create(b, loc, p, a, x); }
  Value both(Value a, Value x) { return arith::AndIOp::create(b, loc, a, x); }
  Value either(Value a, Value x) { return arith::OrIOp::create(b, loc, a, x); }
  Value flip(Value a) { return arith::XOrIOp::create(b, loc, a, constantInt(a.getType(), 1)); }
  bool isUnsigned() const { return isUnsignedElement(elements[0]); }

  Value unary(StringRef fn);
  Value unaryInteger(StringRef fn);
  Value binary(StringRef fn);
  Value divideIntegers(bool remainder);
  Value powerOfIntegers();
  Value remainderOfFloats();
  Value compare(StringRef fn);
  Value randomUniform(Type result);

  ArrayRef<Value> in;
  ArrayRef<Type> elements;
};

Value MapEmitter::unary(StringRef fn) {
  if (!isFloatVector(in[0])) return unaryInteger(fn);
  Value x = in[0];
  if (fn == "neg") return arith::NegFOp::create(b, loc, x);
  if (fn == "abs") return LLVM::FAbsOp::create(b, loc, x);
  if (fn == "sqrt") return LLVM::SqrtOp::create(b, loc, x);
  if (fn == "rsqrt") return arith::DivFOp::create(b, loc, constant(type(), 1), LLVM::SqrtOp::create(b, loc, x));
  if (fn == "floor") return LLVM::FFloorOp::create(b, loc, x);
  if (fn == "sign") {
    Value negative = choose(cmpF(arith::CmpFPredicate::OLT, x, zero()), constant(type(), -1), x);
    return choose(cmpF(arith::CmpFPredicate::OGT, x, zero()), constant(type(), 1), negative);
  }
  return emitMath(b, loc, Symbol(std::string_view(fn.data(), fn.size())), x);
}

Value MapEmitter::unaryInteger(StringRef fn) {
  Value x = in[0], negated = arith::SubIOp::create(b, loc, zero(), x);
  if (fn == "neg") return negated;
  Value isNegative = cmpI(arith::CmpIPredicate::slt, x, zero());
  if (fn == "abs") return isUnsigned() ? x : choose(isNegative, negated, x);
  assert(fn == "sign" && "an integer function");
  Value one = constantInt(type(), 1), minusOne = constantInt(type(), -1);
  Value nonZero = isUnsigned() ? one : choose(isNegative, minusOne, one);
  return choose(cmpI(arith::CmpIPredicate::eq, x, zero()), x, nonZero);
}

/// Toward minus infinity. Zero divisors and the overflowing quotient are kept away from the instruction.
Value MapEmitter::divideIntegers(bool remainder) {
  Value a = in[0], d = in[1], isZero = cmpI(arith::CmpIPredicate::eq, d, zero());
  if (isUnsigned()) {
    Value safe = choose(isZero, constantInt(type(), 1), d);
    Value r = remainder ? arith::RemUIOp::create(b, loc, a, safe).getResult()
                        : arith::DivUIOp::create(b, loc, a, safe).getResult();
    return choose(isZero, zero(), r);
  }
  Value isMinusOne = cmpI(arith::CmpIPredicate::eq, d, constantInt(type(), -1));
  Value safe = choose(either(isZero, isMinusOne), constantInt(type(), 1), d);
  Value quotient = arith::DivSIOp::create(b, loc, a, safe);
  Value rest = arith::SubIOp::create(b, loc, a, arith::MulIOp::create(b, loc, quotient, safe));
  Value signsDiffer = cmpI(arith::CmpIPredicate::slt, arith::XOrIOp::create(b, loc, rest, safe), zero());
  Value adjust = both(signsDiffer, cmpI(arith::CmpIPredicate::ne, rest, zero()));
  if (remainder) {
    Value r = choose(adjust, arith::AddIOp::create(b, loc, rest, safe), rest);
    return choose(either(isZero, isMinusOne), zero(), r);
  }
  Value q = choose(adjust, arith::SubIOp::create(b, loc, quotient, constantInt(type(), 1)), quotient);
  return choose(isZero, zero(), choose(isMinusOne, arith::SubIOp::create(b, loc, zero(), a), q));
}

/// Square and multiply; wraps. A negative exponent gives the exact result truncated.
Value MapEmitter::powerOfIntegers() {
  Value one = constantInt(type(), 1), base = in[0], exponent = in[1];
  int64_t bits = getElementTypeOrSelf(type()).getIntOrFloatBitWidth();
  auto loop = scf::ForOp::create(b, loc, index(0), index(bits), index(1), ValueRange{one, base, exponent});
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value product = loop.getRegionIterArg(0), square = loop.getRegionIterArg(1), rest = loop.getRegionIterArg(2);
    Value odd = cmpI(arith::CmpIPredicate::ne, both(rest, one), zero());
    Value next = choose(odd, arith::MulIOp::create(b, loc, product, square), product);
    Value squared = arith::MulIOp::create(b, loc, square, square);
    scf::YieldOp::create(b, loc, ValueRange{next, squared, arith::ShRUIOp::create(b, loc, rest, one)});
  }
  if (isUnsigned()) return loop.getResult(0);
  Value minusOne = constantInt(type(), -1), odd = cmpI(arith::CmpIPredicate::ne, both(exponent, one), zero());
  Value ofMinusOne = choose(cmpI(arith::CmpIPredicate::eq, base, minusOne), choose(odd, minusOne, one), zero());
  Value inverse = choose(cmpI(arith::CmpIPredicate::eq, base, one), one, ofMinusOne);
  return choose(cmpI(arith::CmpIPredicate::slt, exponent, zero()), inverse, loop.getResult(0));
}

/// a - floor(a / d) * d, exactly: |a| is reduced by d * 2^k for falling k, each step an integer quotient of at most
/// 2^51 and one fma in f64. Six steps cover the 2^277 that two f32 can be apart, 43 the 2^2098 of two f64.
Value MapEmitter::remainderOfFloats() {
  constexpr int kStepBits = 50, kMostBits = 250, kMostWideBits = 2100;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Type f64 = vectorOf(b.getF64Type());
  bool wide = type() == f64;
  auto widen = [&](Value v) { return wide ? v : arith::ExtFOp::create(b, loc, f64, v).getResult(); };
  auto magnitude = [&](Value v) { return LLVM::FAbsOp::create(b, loc, v).getResult(); };
  Value a = widen(in[0]), d = widen(in[1]), none = constant(f64, 0);
  Value rest = magnitude(a), step = magnitude(d);
  auto times = [&](Value v, int shift) {
    return arith::MulFOp::create(b, loc, v, constant(f64, std::ldexp(1.0, shift))).getResult();
  };
  for (int shift = wide ? kMostWideBits : kMostBits; shift >= 0; shift -= kStepBits) {
    Value scaled = times(times(step, shift / 2), shift - shift / 2); // 2^2100 is no f64
    Value before = rest, quotient = LLVM::FFloorOp::create(b, loc, arith::DivFOp::create(b, loc, rest, scaled));
    rest = vector::FMAOp::create(b, loc, arith::NegFOp::create(b, loc, quotient), scaled, rest);
    rest = choose(cmpF(arith::CmpFPredicate::OLT, rest, none), arith::AddFOp::create(b, loc, rest, scaled), rest);
    if (wide) rest = choose(cmpF(arith::CmpFPredicate::OEQ, scaled, constant(f64, kInfinity)), before, rest);
  }
  Value infiniteDivisor = cmpF(arith::CmpFPredicate::OEQ, step, constant(f64, kInfinity));
  Value finite = cmpF(arith::CmpFPredicate::ONE, magnitude(a), constant(f64, kInfinity));
  rest = choose(both(infiniteDivisor, finite), magnitude(a), rest); // 0 * infinity above
  Value isNegative = cmpF(arith::CmpFPredicate::OLT, a, none),
        divisorNegative = cmpF(arith::CmpFPredicate::OLT, d, none);
  Value isZero = cmpF(arith::CmpFPredicate::OEQ, rest, none);
  Value differ = both(arith::XOrIOp::create(b, loc, isNegative, divisorNegative), flip(isZero));
  Value withSign = LLVM::CopySignOp::create(b, loc, rest, a);
  Value result = choose(differ, arith::AddFOp::create(b, loc, withSign, d), withSign);
  return wide ? result : arith::TruncFOp::create(b, loc, type(), result).getResult();
}

Value MapEmitter::binary(StringRef fn) {
  Value a = in[0], x = in[1];
  if (fn == "maximum") return combine("max", a, x, elements[0]);
  if (fn == "minimum") return combine("min", a, x, elements[0]);
  if (fn == "add") return combine("sum", a, x, elements[0]);
  if (fn == "mul") return combine("prod", a, x, elements[0]);
  if (isFloatVector(a)) {
    if (fn == "sub") return arith::SubFOp::create(b, loc, a, x);
    if (fn == "div") return arith::DivFOp::create(b, loc, a, x);
    if (fn == "remainder") return remainderOfFloats();
    return emitPower(b, loc, a, x);
  }
  if (fn == "sub") return arith::SubIOp::create(b, loc, a, x);
  if (fn == "pow") return powerOfIntegers();
  return divideIntegers(fn == "remainder");
}

Value MapEmitter::compare(StringRef fn) {
  if (isFloatVector(in[0])) {
    auto p = fn == "equal"  ? arith::CmpFPredicate::OEQ
             : fn == "less" ? arith::CmpFPredicate::OLT
                            : arith::CmpFPredicate::OLE;
    return cmpF(p, in[0], in[1]);
  }
  if (fn == "equal") return cmpI(arith::CmpIPredicate::eq, in[0], in[1]);
  if (isUnsigned()) return cmpI(fn == "less" ? arith::CmpIPredicate::ult : arith::CmpIPredicate::ule, in[0], in[1]);
  return cmpI(fn == "less" ? arith::CmpIPredicate::slt : arith::CmpIPredicate::sle, in[0], in[1]);
}

/// base/Philox.h in vectors: words are kept in 64-bit lanes, because the products need them.
Value MapEmitter::randomUniform(Type result) {
  Type i64 = type();
  auto number = [&](uint64_t v) { return constantInt(i64, static_cast<int64_t>(v)); };
  auto low = [&](Value v) { return both(v, number(0xffffffff)); };
  auto high = [&](Value v) { return arith::ShRUIOp::create(b, loc, v, number(32)).getResult(); };
  auto mul = [&](Value v, uint64_t by) { return arith::MulIOp::create(b, loc, v, number(by)).getResult(); };
  auto add = [&](Value v, Value by) { return arith::AddIOp::create(b, loc, v, by).getResult(); };
  auto mix = [&](Value v, Value w, Value k) {
    return arith::XOrIOp::create(b, loc, arith::XOrIOp::create(b, loc, v, w), k).getResult();
  };
  Value key = add(mul(in[0], 0x9E3779B97F4A7C15u), in[2]);
  Value key0 = low(key), key1 = high(key);
  Value c0 = low(in[3]), c1 = high(in[3]), c2 = low(in[1]), c3 = high(in[1]);
  constexpr int kRounds = 10;
  for (int round = 0; round < kRounds; ++round) {
    Value product0 = mul(c0, 0xD2511F53), product1 = mul(c2, 0xCD9E8D57);
    Value n0 = mix(high(product1), c1, key0), n2 = mix(high(product0), c3, key1);
    c1 = low(product1);
    c3 = low(product0);
    c0 = n0;
    c2 = n2;
    key0 = low(add(key0, number(0x9E3779B9)));
    key1 = low(add(key1, number(0xBB67AE85)));
  }
  int bits = result.isBF16() ? 8 : result.isF16() ? 11 : result.isF32() ? 24 : 53;
  Value word = either(arith::ShLIOp::create(b, loc, c0, number(32)), c1);
  Value kept = arith::ShRUIOp::create(b, loc, word, number(static_cast<uint64_t>(64 - bits)));
  Type real = registerVector(result);
  Value whole = arith::SIToFPOp::create(
      b, loc, real, bits <= 24 ? arith::TruncIOp::create(b, loc, vectorOf(b.getI32Type()), kept).getResult() : kept);
  return arith::MulFOp::create(b, loc, whole, constant(real, std::ldexp(1.0, -bits)));
}

/// Functions whose result is one of the operands or exact, so that rounding it again would be wasted work.
bool isExact(StringRef fn) {
  return llvm::StringSwitch<bool>(fn)
      .Cases({"neg", "abs", "sign", "maximum", "minimum", "select", "stop_gradient", "random_uniform", "floor"}, true)
      .Default(false);
}

const llvm::StringSet<>& functionNames() {
  static const llvm::StringSet<> names = {
      "neg",        "abs",         "sign",       "exp",     "log",         "sin",           "cos",   "tanh",
      "erf",        "sqrt",        "rsqrt",      "floor",   "logical_not", "is_nan",        "add",   "sub",
      "mul",        "div",         "pow",        "maximum", "minimum",     "remainder",     "equal", "less",
      "less_equal", "logical_and", "logical_or", "select",  "cast",        "stop_gradient", "fma",   "random_uniform"};
  return names;
}

} // namespace

/// 64-bit integers with the bits that f64 cannot hold folded into the last one that it can.
static Value toOdd53(VectorEmitter& e, Value x) {
  OpBuilder& b = e.b;
  Location loc = e.loc;
  auto number = [&](int64_t v) { return e.constantInt(x.getType(), v); };
  constexpr int64_t kExact = int64_t{1} << 53, kSpare = 11; // 64 - 53
  Value lost = arith::AndIOp::create(b, loc, x, number((1 << kSpare) - 1));
  Value any = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, lost, number(0));
  Value sticky = arith::SelectOp::create(b, loc, any, number(1 << kSpare), number(0));
  Value kept = arith::AndIOp::create(b, loc, x, number(-(1 << kSpare)));
  Value odd = arith::OrIOp::create(b, loc, kept, sticky);
  Value shifted = arith::AddIOp::create(b, loc, x, number(kExact));
  Value exact = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ule, shifted, number(2 * kExact));
  return arith::SelectOp::create(b, loc, exact, x, odd);
}

bool isMapFunction(StringRef fn) { return functionNames().contains(fn); }

Value emitCast(VectorEmitter& e, Value x, Type from, Type to) {
  OpBuilder& b = e.b;
  Location loc = e.loc;
  if (from == to) return x;
  Type registers = e.registerVector(to);
  bool fromFloat = isFloatVector(x), toFloat = isa<FloatType>(getElementTypeOrSelf(registers));
  if (to.isInteger(1)) {
    if (fromFloat) return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNE, x, e.constant(x.getType(), 0));
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, x, e.constantInt(x.getType(), 0));
  }
  if (fromFloat && toFloat) {
    if (x.getType() == registers) return e.round(x, to);
    if (registers == e.vectorOf(b.getF64Type())) return arith::ExtFOp::create(b, loc, registers, x);
    if (to.isF32()) return arith::TruncFOp::create(b, loc, registers, x);
    return e.round(e.narrowToOdd(x), to);
  }
  if (fromFloat) {
    const char* name = isUnsignedElement(to) ? "llvm.fptoui.sat" : "llvm.fptosi.sat"; // saturates, NaN gives 0
    return LLVM::CallIntrinsicOp::create(b, loc, registers, b.getStringAttr(name), ValueRange{x}).getResults();
  }
  bool isUnsigned = isUnsignedElement(from);
  if (toFloat) {
    // Narrow floats go by way of f64, so that the value is rounded once: f64 holds all 32-bit integers, and of longer
    // ones what it cannot hold becomes a one in the last place.
    Type f64 = e.vectorOf(b.getF64Type()), first = to.isF32() ? registers : f64;
    if (first != registers && getElementTypeOrSelf(x).getIntOrFloatBitWidth() == 64) x = toOdd53(e, x);
    Value real = isUnsigned ? arith::UIToFPOp::create(b, loc, first, x).getResult()
                            : arith::SIToFPOp::create(b, loc, first, x).getResult();
    if (first == registers) return real;
    return to.isF64() ? real : e.round(e.narrowToOdd(real), to);
  }
  unsigned fromBits = getElementTypeOrSelf(x).getIntOrFloatBitWidth(),
           toBits = registerType(to).getIntOrFloatBitWidth();
  if (fromBits == toBits) return x;
  if (toBits < fromBits) return arith::TruncIOp::create(b, loc, registers, x);
  if (isUnsigned) return arith::ExtUIOp::create(b, loc, registers, x);
  return arith::ExtSIOp::create(b, loc, registers, x);
}

Value emitMap(VectorEmitter& e, StringRef fn, ArrayRef<Value> operands, ArrayRef<Type> elements, Type result) {
  assert(isMapFunction(fn) && "a function that tile.map names");
  MapEmitter m(e, operands, elements);
  if (fn == "cast") return emitCast(e, operands[0], elements[0], result);
  if (fn == "stop_gradient") return operands[0];
  if (fn == "select") return m.choose(operands[0], operands[1], operands[2]);
  if (fn == "logical_not") return m.flip(operands[0]);
  if (fn == "logical_and") return m.both(operands[0], operands[1]);
  if (fn == "logical_or") return m.either(operands[0], operands[1]);
  if (fn == "is_nan") return m.cmpF(arith::CmpFPredicate::UNO, operands[0], operands[0]);
  if (fn == "equal" || fn == "less" || fn == "less_equal") return m.compare(fn);
  if (fn == "random_uniform") return m.randomUniform(result);
  Value value = fn == "fma" ? vector::FMAOp::create(e.b, e.loc, operands[0], operands[1], operands[2]).getResult()
                : operands.size() == 1 ? m.unary(fn)
                                       : m.binary(fn);
  return isExact(fn) ? value : e.round(value, result);
}

} // namespace tegula::tile
