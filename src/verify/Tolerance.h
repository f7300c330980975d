// The numbers that tolerances are derived from: unit roundoffs of types, of accumulators, and the stated accuracy of
// functions (spec/numerics.md).
#pragma once

#include "tensor/DType.h"
#include <string_view>

namespace tegula {

/// Largest relative error of one rounding to nearest: 2^-24 for f32. For f64 twice that, because the f64 reference
/// itself rounds. 0 for integers and bool.
double unitRoundoff(DType);
/// The same of what folds and dots accumulate in: f32, f64 for f64.
double accumulatorRoundoff(DType);
/// Largest absolute error of one rounding among subnormals: half the least subnormal.
double subnormalRoundoff(DType);
/// What a dot may flush to zero for each term: the least normal number of the accumulator.
double flushBound(DType);
double largestFinite(DType);
/// True if rounding to `d` keeps the number as it is.
bool isRepresentable(double x, DType d);

/// Bound in ulp of a function computed in f32 (or f64 for f64), before the rounding to a narrower result.
double functionUlps(std::string_view primitive);

} // namespace tegula
