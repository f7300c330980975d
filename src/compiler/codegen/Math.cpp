// exp log tanh erf pow by polynomials; sin and cos are in Trigonometry.cpp.
#include "compiler/codegen/Lanes.h"

#include "compiler/codegen/Math.h"

#include "compiler/codegen/MathCoefficients.h"
#include "compiler/codegen/Trigonometry.h"

namespace tegula {
namespace {

using namespace coefficients;
using mlir::Value;

/// ln 2 in two parts; the high one has trailing zeros, so that its product with an exponent is exact.
struct Ln2 {
  double high, low;
};
Ln2 ln2(const Lanes& l) {
  if (l.wide) return {0x1.62e42fefa3800p-1, 0x1.ef35793c76730p-45};
  return {0x1.62e400p-1, 0x1.7f7d1cp-20};
}

/// x = n ln 2 + r with |r| <= ln 2 / 2. n as an integer; expm1(r).
struct Reduced {
  Value n, expm1;
};

/// Requires: |x| small enough that n fits 22 bits, or NaN (n is then anything, expm1 NaN).
Reduced reduceExp(Lanes& l, Value x) {
  const auto [high, low] = ln2(l);
  Value magic = l.number(l.roundingMagic());
  Value shifted = l.fma(x, l.number(1.4426950408889634), magic);
  Value n = l.subBits(l.bits(shifted), l.bits(magic));
  Value minusN = l.sub(magic, shifted);
  Value r = l.fma(minusN, l.number(low), l.fma(minusN, l.number(high), x));
  Value q = l.wide ? l.polynomial(kExpF64, r) : l.polynomial(kExpF32, r);
  return {n, l.fma(l.mul(r, r), q, r)};
}

/// 2^n for exponents of normal numbers.
Value powerOfTwo(Lanes& l, Value n) {
  return l.fromBits(l.shiftLeft(l.addBits(n, l.integer(l.exponentBias())), l.mantissaBits()));
}

/// x 2^n with one rounding, for |n| <= 250 (f32), 2000 (f64): subnormal results and overflow too. Two multiplications
/// by normal numbers; for f32 LLVM's ldexp, which is one instruction where the target has it and the same two
/// multiplications elsewhere (codegen/Object.cpp).
Value scaleByPowerOfTwo(Lanes& l, Value x, Value n) {
  if (!l.wide)
    return mlir::LLVM::CallIntrinsicOp::create(l.b, l.loc, l.type, l.b.getStringAttr("llvm.ldexp"),
                                               mlir::ValueRange{x, n})
        .getResult(0);
  Value half = l.shiftRight(n, 1);
  return l.mul(l.mul(x, powerOfTwo(l, half)), powerOfTwo(l, l.subBits(n, half)));
}

/// exp(x + tail), |tail| tiny. Arguments whose result is zero (masked scores are -inf) are computed as exp(0) and
/// replaced: an underflow costs a processor a hundred cycles and more.
Value emitExp(Lanes& l, Value x, Value tail = {}) {
  Value vanishes = l.less(x, l.number(l.wide ? -746 : -104)), zero = l.number(0);
  Value clamped = l.select(vanishes, zero, l.atMost(x, l.wide ? 710 : 89));
  auto [n, expm1] = reduceExp(l, clamped);
  if (tail) expm1 = l.fma(tail, l.add(expm1, l.number(1)), expm1);
  return l.select(vanishes, zero, scaleByPowerOfTwo(l, l.add(expm1, l.number(1)), n));
}

/// x = 2^exponent * (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)), for finite x > 0 (others give anything that is not a
/// trap).
struct Decomposed {
  Value exponent, f;
};
Decomposed decompose(Lanes& l, Value x) {
  Value tiny = l.less(x, l.number(l.wide ? std::numeric_limits<double>::min() : std::numeric_limits<float>::min()));
  const int mantissa = l.mantissaBits();
  Value scaled = l.select(tiny, l.mul(x, l.number(std::ldexp(1.0, mantissa))), x);
  Value root = l.bits(l.number(0.70710678118654752));
  Value exponent = l.shiftRight(l.subBits(l.bits(scaled), root), mantissa);
  Value m = l.fromBits(l.subBits(l.bits(scaled), l.shiftLeft(exponent, mantissa)));
  Value adjusted = l.select(tiny, l.subBits(exponent, l.integer(mantissa)), exponent);
  return {l.toFloat(adjusted), l.sub(m, l.number(1))};
}

/// Replaces the results of log where x is 0, negative, infinite or NaN.
Value logSpecials(Lanes& l, Value x, Value y) {
  Value zero = l.number(0), infinity = l.infinity();
  Value notFinite = l.select(l.equal(x, infinity), infinity, l.nan()); // also every x that compares false
  y = l.select(l.both(l.less(zero, x), l.less(x, infinity)), y, notFinite);
  return l.select(l.equal(x, zero), l.neg(infinity), y);
}

Value emitLog(Lanes& l, Value x) {
  auto [e, f] = decompose(l, x);
  const auto [high, low] = ln2(l);
  Value halfSquare = l.mul(l.mul(f, f), l.number(0.5));
  Value y;
  if (l.wide) {
    // log(1+f) = f - (f^2/2 - s (f^2/2 + z P(z))), s = f / (2 + f), z = s^2.
    Value s = l.div(f, l.add(f, l.number(2)));
    Value z = l.mul(s, s);
    Value tail = l.mul(s, l.fma(z, l.polynomial(kLogF64, z), halfSquare));
    y = l.sub(l.fma(e, l.number(low), tail), halfSquare);
  } else {
    Value cube = l.mul(l.mul(f, f), f);
    y = l.fma(e, l.number(low), l.fma(cube, l.polynomial(kLogF32, f), l.neg(halfSquare)));
  }
  return logSpecials(l, x, l.fma(e, l.number(high), l.add(f, y)));
}

/// tanh(x) = expm1(2x) / (expm1(2x) + 2). With 2|x| the power of two is at least 1, so that nothing cancels.
Value emitTanh(Lanes& l, Value x) {
  Value magnitude = l.atMost(l.abs(x), l.wide ? 20 : 10); // 1 within rounding from there on
  auto [n, expm1] = reduceExp(l, l.add(magnitude, magnitude));
  Value power = powerOfTwo(l, n);
  Value e = l.fma(power, expm1, l.sub(power, l.number(1)));
  return l.withSign(l.div(e, l.add(e, l.number(2))), x);
}

/// |x| small: x + x P(x^2). Otherwise 1 - exp(log erfc(|x|)), where only the absolute error of erfc matters.
Value emitErf(Lanes& l, Value x) {
  Value t = l.abs(x), square = l.mul(x, x);
  Value small = l.fma(x, l.wide ? l.polynomial(kErfSmallF64, square) : l.polynomial(kErfSmallF32, square), x);
  Value bounded = l.atMost(t, l.wide ? 6 : 4); // erf is 1 within rounding from there on
  Value logErfc;
  if (l.wide) {
    Value u = l.fma(bounded, l.number(0.4), l.number(-1.4));
    logErfc = l.fma(l.neg(bounded), bounded, l.polynomial(kErfLargeF64, u));
  } else {
    logErfc = l.polynomial(kErfLargeF32, bounded);
  }
  auto [n, expm1] = reduceExp(l, logErfc);
  Value erfc = l.mul(l.add(expm1, l.number(1)), powerOfTwo(l, n));
  Value large = l.withSign(l.sub(l.number(1), erfc), x);
  return l.select(l.less(t, l.number(l.wide ? 1 : 0.9375)), small, large);
}

/// log(x) of finite x > 0 as a sum high + low, good to about 2^-60: log m = 2 atanh(s) with s in two parts.
std::pair<Value, Value> emitLogPair(Lanes& l, Value x) {
  auto [e, f] = decompose(l, x);
  Value divisor = l.add(f, l.number(2)); // rounds: what it lost is in `lost`
  Value lost = l.sub(f, l.sub(divisor, l.number(2)));
  Value s = l.div(f, divisor);
  Value sLow = l.div(l.fma(l.neg(s), lost, l.fma(l.neg(s), divisor, f)), divisor);
  Value z = l.mul(s, s);
  Value tail = l.fma(l.mul(s, z), l.polynomial(kLogF64, z), l.add(sLow, sLow));
  const auto [high, low] = ln2(l);
  Value first = l.mul(e, l.number(high)), second = l.add(s, s);
  // |first| >= |second| or first is 0: the error of their sum is exact.
  Value sum = l.add(first, second);
  Value error = l.select(l.equal(first, l.number(0)), l.number(0), l.sub(second, l.sub(sum, first)));
  Value rest = l.add(l.fma(e, l.number(low), tail), error);
  Value top = l.add(sum, rest);
  return {top, l.sub(rest, l.sub(top, sum))};
}

/// Exceptions of pow (C17 F.10.4.4), given |base|^exponent computed with infinities and zeros as limits.
Value powerSpecials(Lanes& l, Value base, Value exponent, Value magnitude) {
  Value zero = l.number(0), one = l.number(1);
  Value whole = l.equal(l.floor(exponent), exponent);
  Value half = l.mul(exponent, l.number(0.5));
  Value odd = l.both(whole, l.unequal(l.floor(half), half));
  Value y = l.select(odd, l.withSign(magnitude, base), magnitude);
  Value negative = l.both(l.less(base, zero), l.less(l.neg(l.infinity()), base));
  Value fractional = l.unequal(l.floor(exponent), exponent);
  y = l.select(l.both(negative, fractional), l.nan(), y);
  Value isUnit = l.equal(l.abs(base), one), toInfinity = l.equal(l.abs(exponent), l.infinity());
  Value isOne = l.either(l.equal(exponent, zero), l.either(l.equal(base, one), l.both(isUnit, toInfinity)));
  return l.select(isOne, one, y);
}

/// |base|^exponent in f64; not a number where 0 times infinity arises, which powerSpecials replaces.
Value emitMagnitudeOfPower(Lanes& l, Value base, Value exponent, bool precise) {
  Value a = l.abs(base);
  if (!precise) return emitExp(l, l.mul(exponent, emitLog(l, a)));
  auto [high, low] = emitLogPair(l, a);
  Value product = l.mul(exponent, high);
  Value tail = l.fma(exponent, low, l.fma(exponent, high, l.neg(product)));
  Value isProper = l.both(l.less(l.abs(product), l.number(800)), l.less(l.number(0), a));
  Value result = emitExp(l, product, l.select(isProper, tail, l.number(0)));
  Value limit = emitExp(l, l.mul(exponent, logSpecials(l, a, high)));
  Value ordinary = l.both(isProper, l.less(a, l.infinity()));
  return l.select(ordinary, result, limit);
}

/// Runs `body` on vectors: a scalar becomes a vector of one lane.
template <typename F> Value onVectors(mlir::OpBuilder& b, mlir::Location loc, Value x, F&& body) {
  if (mlir::isa<mlir::VectorType>(x.getType())) return body(x);
  auto one = mlir::VectorType::get({1}, x.getType());
  Value result = body(mlir::vector::BroadcastOp::create(b, loc, one, x));
  return mlir::vector::ExtractOp::create(b, loc, result, 0);
}

} // namespace

bool isMathFunction(Symbol fn) {
  const std::string_view n = fn.text();
  return n == "exp" || n == "log" || n == "tanh" || n == "erf" || n == "sin" || n == "cos";
}

Value emitMath(mlir::OpBuilder& b, mlir::Location loc, Symbol fn, Value x) {
  assert(isMathFunction(fn) && "a function that emitMath knows");
  return onVectors(b, loc, x, [&](Value v) -> Value {
    Lanes l(b, loc, mlir::cast<mlir::VectorType>(v.getType()));
    const std::string_view n = fn.text();
    if (n == "exp") return emitExp(l, v);
    if (n == "log") return emitLog(l, v);
    if (n == "tanh") return emitTanh(l, v);
    if (n == "erf") return emitErf(l, v);
    return emitSinOrCos(l, n == "cos", v);
  });
}

Value emitPower(mlir::OpBuilder& b, mlir::Location loc, Value base, Value exponent) {
  if (!mlir::isa<mlir::VectorType>(base.getType()))
    return onVectors(b, loc, base, [&](Value v) -> Value {
      return emitPower(b, loc, v, mlir::vector::BroadcastOp::create(b, loc, v.getType(), exponent));
    });
  Lanes l(b, loc, mlir::cast<mlir::VectorType>(base.getType()));
  if (l.wide) return powerSpecials(l, base, exponent, emitMagnitudeOfPower(l, base, exponent, true));
  Lanes d(b, loc, mlir::VectorType::get(l.type.getShape(), b.getF64Type()));
  Value magnitude = emitMagnitudeOfPower(d, l.widen(base, d), l.widen(exponent, d), false);
  return powerSpecials(l, base, exponent, d.narrow(magnitude, l));
}

} // namespace tegula
