// sin and cos: x = n pi/2 + r with |r| <= pi/4, reduced in f64; polynomials of r; n mod 4 picks one and the sign.
//
// | arguments | reduction |
// |---|---|
// | below 2^30 (f32), 2^45 (f64) | n = round(2x/pi); r = x - n c1 - n c2 - n c3 by fused multiply-adds (Cody, Waite) |
// | larger f32 | x = m 2^k: r = (m T[k] mod 1) pi/2, T[k] = 2^k 2/pi mod 4 in two doubles (Payne, Hanek) |
// | larger f64 | NaN: no tensor that trains holds such angles, and the table would be 25 KB a kernel |
//
// In the first the product n c1 less x is exact: both are multiples of 2^-52 and the difference is below 1.
#include "compiler/codegen/Trigonometry.h"

#include "compiler/codegen/MathCoefficients.h"

namespace tegula {
namespace {

using namespace coefficients;
using mlir::Value;
namespace LLVM = mlir::LLVM;

struct Angle {
  Value n; // integer whose low two bits are the quadrant
  Value r; // f64
};

/// Rounds y to an integer: as a float and in the low bits of `n`.
Angle nearest(Lanes& d, Value y) {
  Value magic = d.number(d.roundingMagic());
  Value shifted = d.add(y, magic);
  return {d.bits(shifted), d.sub(shifted, magic)};
}

Angle reduceModerate(Lanes& d, Value x) {
  auto [n, whole] = nearest(d, d.mul(x, d.number(0.63661977236758134)));
  Value minus = d.neg(whole), r = x;
  for (double part : kHalfPi) r = d.fma(minus, d.number(part), r);
  return {n, r};
}

/// The table of this module, made at its first use.
LLVM::GlobalOp shiftedTable(Lanes& d) {
  auto module = d.b.getInsertionBlock()->getParentOp()->getParentOfType<mlir::ModuleOp>();
  assert(module && "functions are emitted into a module");
  constexpr llvm::StringLiteral name = "two_over_pi_shifted";
  if (auto existing = module.lookupSymbol<LLVM::GlobalOp>(name)) return existing;
  constexpr int64_t count = std::size(kTwoOverPiShifted);
  mlir::OpBuilder::InsertionGuard guard(d.b);
  d.b.setInsertionPointToStart(module.getBody());
  auto values = mlir::DenseElementsAttr::get(mlir::RankedTensorType::get({count}, d.b.getF64Type()),
                                             llvm::ArrayRef<double>(kTwoOverPiShifted));
  return LLVM::GlobalOp::create(d.b, d.loc, LLVM::LLVMArrayType::get(d.b.getF64Type(), count), /*isConstant=*/true,
                                LLVM::Linkage::Internal, name, values, /*alignment=*/64);
}

/// Requires: lanes of magnitude >= 2^30 hold f32 values; the others, infinities and NaN give anything finite.
Angle reduceLarge(Lanes& d, Value x) {
  constexpr int64_t first = 30, last = 127;
  Value bits = d.bits(x), mantissa = d.integer((int64_t(1) << 52) - 1);
  Value m = d.fromBits(d.addBits(d.andBits(bits, mantissa), d.bits(d.number(0x1p23)))); // the 24 bits of an f32
  Value exponent = d.andBits(d.shiftRight(bits, 52), d.integer(0x7ff));
  Value k = d.subBits(exponent, d.integer(first + d.exponentBias()));
  k = mlir::arith::MinSIOp::create(d.b, d.loc, mlir::arith::MaxSIOp::create(d.b, d.loc, k, d.integer(0)),
                                   d.integer(last - first));

  auto pointer = LLVM::LLVMPointerType::get(d.b.getContext());
  auto pointers = mlir::VectorType::get(d.type.getShape(), pointer);
  Value base = LLVM::AddressOfOp::create(d.b, d.loc, shiftedTable(d));
  Value lanesOn = mlir::arith::ConstantOp::create(
      d.b, d.loc, mlir::DenseElementsAttr::get(mlir::VectorType::get(d.type.getShape(), d.b.getI1Type()), true));
  auto load = [&](int64_t part) -> Value {
    Value index = d.addBits(d.shiftLeft(k, 1), d.integer(part));
    Value address =
        LLVM::GEPOp::create(d.b, d.loc, pointers, d.b.getF64Type(), base, llvm::ArrayRef<LLVM::GEPArg>{index});
    return LLVM::masked_gather::create(d.b, d.loc, d.type, address, lanesOn, mlir::ValueRange{d.number(0)},
                                       d.b.getI32IntegerAttr(8));
  };
  Value high = load(0), low = load(1);
  // The product is below 2^26 and exact with its error; T has 106 bits, so that 2^-80 is lost.
  Value product = d.mul(m, high), error = d.fma(m, high, d.neg(product));
  auto [n, whole] = nearest(d, product);
  Value fraction = d.add(d.sub(product, whole), d.fma(m, low, error));
  Value r = d.mul(fraction, d.number(kHalfPi[0]));
  // sin is odd: carry the sign of x on both n and r.
  Value negative = d.less(x, d.number(0));
  return {d.select(negative, d.subBits(d.integer(0), n), n), d.select(negative, d.neg(r), r)};
}

Angle reduce(Lanes& d, Value x, bool fromF32) {
  Angle moderate = reduceModerate(d, x);
  Value bound = d.number(fromF32 ? 0x1p30 : 0x1p45);
  Value isLarge = mlir::arith::XOrIOp::create(
      d.b, d.loc, d.less(d.abs(x), bound),
      mlir::arith::ConstantOp::create(
          d.b, d.loc, mlir::DenseElementsAttr::get(mlir::VectorType::get(d.type.getShape(), d.b.getI1Type()), true)));
  if (!fromF32) return {moderate.n, d.select(isLarge, d.nan(), moderate.r)};
  Value any = mlir::vector::ReductionOp::create(d.b, d.loc, mlir::vector::CombiningKind::OR, isLarge);
  auto branch = mlir::scf::IfOp::create(d.b, d.loc, mlir::TypeRange{d.bitsType, d.type}, any, /*withElseRegion=*/true);
  mlir::OpBuilder::InsertionGuard guard(d.b);
  d.b.setInsertionPointToStart(branch.thenBlock());
  Angle large = reduceLarge(d, x);
  mlir::scf::YieldOp::create(
      d.b, d.loc, mlir::ValueRange{d.select(isLarge, large.n, moderate.n), d.select(isLarge, large.r, moderate.r)});
  d.b.setInsertionPointToStart(branch.elseBlock());
  mlir::scf::YieldOp::create(d.b, d.loc, mlir::ValueRange{moderate.n, moderate.r});
  return {branch.getResult(0), branch.getResult(1)};
}

Value sinPolynomial(Lanes& l, Value r, Value z) {
  Value p = l.wide ? l.polynomial(kSinF64, z) : l.polynomial(kSinF32, z);
  return l.fma(l.mul(r, z), p, r);
}

Value cosPolynomial(Lanes& l, Value z) {
  Value p = l.wide ? l.polynomial(kCosF64, z) : l.polynomial(kCosF32, z);
  Value half = l.mul(z, l.number(0.5)), top = l.sub(l.number(1), half);
  Value lost = l.sub(l.sub(l.number(1), top), half); // what the rounding of 1 - z/2 dropped
  return l.add(top, l.fma(l.mul(z, z), p, lost));
}

} // namespace

Value emitSinOrCos(Lanes& l, bool isCos, Value x) {
  Lanes d(l.b, l.loc, mlir::VectorType::get(l.type.getShape(), l.b.getF64Type()));
  Value wide = l.wide ? x : l.widen(x, d);
  Angle angle = reduce(d, wide, !l.wide);
  Value r = angle.r, n = isCos ? d.addBits(angle.n, d.integer(1)) : angle.n;
  if (!l.wide) {
    r = d.narrow(r, l);
    n = mlir::arith::TruncIOp::create(l.b, l.loc, l.bitsType, n);
  }
  Value z = l.mul(r, r);
  Value isOdd =
      mlir::arith::CmpIOp::create(l.b, l.loc, mlir::arith::CmpIPredicate::ne, l.andBits(n, l.integer(1)), l.integer(0));
  Value y = l.select(isOdd, cosPolynomial(l, z), sinPolynomial(l, r, z));
  Value sign = l.shiftLeft(l.andBits(n, l.integer(2)), l.wide ? 62 : 30);
  y = l.fromBits(l.xorBits(l.bits(y), sign));
  if (!isCos) y = l.select(l.equal(x, l.number(0)), x, y); // keeps -0
  return l.select(l.less(l.abs(x), l.infinity()), y, l.nan());
}

} // namespace tegula
