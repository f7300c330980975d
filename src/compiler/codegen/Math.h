// Transcendental functions as our own polynomials, emitted into MLIR for any lane count: the same bits on every target.
//
//   Value y = emitMath(builder, loc, "exp", x);   // x: vector<16xf32>, vector<1xf64>, or a scalar f32 or f64
//
// Bounds, in units in the last place of the exact result (tests/codegen sweeps every exponent; spec/numerics.md repeats
// this):
//
// | function | f32 | f64 | special values and range |
// |---|---|---|---|
// | exp | 2 | 2 | overflow: infinity; underflow: exact subnormals, then 0 |
// | log | 1 | 2 | 0: -infinity; negative: NaN; subnormal arguments are exact |
// | tanh | 3 | 3 | relative near 0; keeps -0 |
// | erf | 2 | 2 | relative near 0; keeps -0 |
// | sin cos | 2 | 2 | f32: every argument; f64: from 2^45 in magnitude on NaN; infinity: NaN |
// | pow | 1 | 4 | special values as C's pow |
//
// The coefficients come from MathCoefficients.py (minimax fits). Explicit fused multiply-adds are used inside; nothing
// traps. Threads: as the builder.
#pragma once

#include "base/Symbol.h"
#include "mlir/IR/Builders.h"

namespace tegula {

/// True for exp log tanh erf sin cos.
bool isMathFunction(Symbol fn);

/// Requires: isMathFunction(fn); x is f32 or f64, scalar or a vector of rank 1.
mlir::Value emitMath(mlir::OpBuilder&, mlir::Location, Symbol fn, mlir::Value x);

/// base to the power of exponent. Requires: both of one type, as for emitMath.
mlir::Value emitPower(mlir::OpBuilder&, mlir::Location, mlir::Value base, mlir::Value exponent);

} // namespace tegula
