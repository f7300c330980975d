// Short names for emitting arithmetic on one vector type of floats and the integers of the same width. For
// codegen/Math*.cpp.
#pragma once

#include "compiler/codegen/Mlir.h"

#include <limits>

namespace tegula {

/// Emits operations at the builder's insertion point. `Lanes(b, loc, type)`: type is a vector of f32 or f64.
class Lanes {
public:
  using Value = mlir::Value;
  Lanes(mlir::OpBuilder& builder, mlir::Location location, mlir::VectorType floats)
      : b(builder), loc(location), type(floats),
        bitsType(floats.clone(b.getIntegerType(floats.getElementTypeBitWidth()))),
        wide(floats.getElementType().isF64()) {}

  Value number(double v) { return constant(type, b.getFloatAttr(type.getElementType(), v)); }
  Value integer(int64_t v) { return constant(bitsType, b.getIntegerAttr(bitsType.getElementType(), v)); }
  Value infinity() { return number(std::numeric_limits<double>::infinity()); }
  Value nan() { return number(std::numeric_limits<double>::quiet_NaN()); }

  Value add(Value x, Value y) { return mlir::arith::AddFOp::create(b, loc, x, y); }
  Value sub(Value x, Value y) { return mlir::arith::SubFOp::create(b, loc, x, y); }
  Value mul(Value x, Value y) { return mlir::arith::MulFOp::create(b, loc, x, y); }
  Value div(Value x, Value y) { return mlir::arith::DivFOp::create(b, loc, x, y); }
  Value neg(Value x) { return mlir::arith::NegFOp::create(b, loc, x); }
  Value fma(Value x, Value y, Value z) { return mlir::vector::FMAOp::create(b, loc, x, y, z); }
  Value abs(Value x) { return mlir::LLVM::FAbsOp::create(b, loc, x); }
  Value floor(Value x) { return mlir::LLVM::FFloorOp::create(b, loc, x); }
  Value withSign(Value magnitude, Value sign) { return mlir::LLVM::CopySignOp::create(b, loc, magnitude, sign); }
  Value select(Value condition, Value x, Value y) { return mlir::arith::SelectOp::create(b, loc, condition, x, y); }

  Value less(Value x, Value y) { return compare(mlir::arith::CmpFPredicate::OLT, x, y); }
  Value equal(Value x, Value y) { return compare(mlir::arith::CmpFPredicate::OEQ, x, y); }
  Value unequal(Value x, Value y) { return compare(mlir::arith::CmpFPredicate::UNE, x, y); }
  Value either(Value x, Value y) { return mlir::arith::OrIOp::create(b, loc, x, y); }
  Value both(Value x, Value y) { return mlir::arith::AndIOp::create(b, loc, x, y); }
  /// The smaller or larger; a NaN in x stays.
  Value atMost(Value x, double bound) {
    Value v = number(bound);
    return select(less(v, x), v, x);
  }
  Value atLeast(Value x, double bound) {
    Value v = number(bound);
    return select(less(x, v), v, x);
  }

  Value bits(Value x) { return mlir::arith::BitcastOp::create(b, loc, bitsType, x); }
  Value fromBits(Value x) { return mlir::arith::BitcastOp::create(b, loc, type, x); }
  Value addBits(Value x, Value y) { return mlir::arith::AddIOp::create(b, loc, x, y); }
  Value subBits(Value x, Value y) { return mlir::arith::SubIOp::create(b, loc, x, y); }
  Value andBits(Value x, Value y) { return mlir::arith::AndIOp::create(b, loc, x, y); }
  Value xorBits(Value x, Value y) { return mlir::arith::XOrIOp::create(b, loc, x, y); }
  Value shiftLeft(Value x, int64_t by) { return mlir::arith::ShLIOp::create(b, loc, x, integer(by)); }
  Value shiftRight(Value x, int64_t by) { return mlir::arith::ShRSIOp::create(b, loc, x, integer(by)); }
  Value toFloat(Value x) { return mlir::arith::SIToFPOp::create(b, loc, type, x); }
  Value widen(Value x, const Lanes& to) { return mlir::arith::ExtFOp::create(b, loc, to.type, x); }
  Value narrow(Value x, const Lanes& to) { return mlir::arith::TruncFOp::create(b, loc, to.type, x); }

  /// c[0] + c[1] x + …, by Horner's rule with fused multiply-adds.
  template <size_t N> Value polynomial(const double (&c)[N], Value x) {
    Value sum = number(c[N - 1]);
    for (size_t i = N - 1; i-- > 0;) sum = fma(sum, x, number(c[i]));
    return sum;
  }

  int mantissaBits() const { return wide ? 52 : 23; }
  int64_t exponentBias() const { return wide ? 1023 : 127; }
  /// 1.5 * 2^mantissaBits: adding it rounds to an integer, kept in the low bits of the sum.
  double roundingMagic() const { return wide ? 6755399441055744.0 : 12582912.0; }

  mlir::OpBuilder& b;
  mlir::Location loc;
  mlir::VectorType type, bitsType;
  bool wide; // f64

private:
  Value compare(mlir::arith::CmpFPredicate p, Value x, Value y) { return mlir::arith::CmpFOp::create(b, loc, p, x, y); }
  Value constant(mlir::VectorType of, mlir::TypedAttr element) {
    return mlir::arith::ConstantOp::create(b, loc, mlir::DenseElementsAttr::get(of, mlir::Attribute(element)));
  }
};

} // namespace tegula
