// Error rules of the primitives. A rule sees the f64 values and bounds of inputs and the f64 values of results, and
// gives the bound of each result.
#pragma once

#include "primitives/Primitive.h"
#include "verify/ErrorBound.h"
#include "verify/Tolerance.h"

#include <limits>

namespace tegula {

constexpr double kUndecided = std::numeric_limits<double>::infinity();

struct ErrorRuleCall {
  const Primitive& primitive;
  const Attributes& attributes;
  std::span<const BoundedArray> inputs;
  std::span<const TensorType> results;     // stated types
  std::span<const HostArray> outputs;      // f64 for floats
  std::vector<std::vector<double>> bounds; // to be set, one per output

  bool inputsExact() const;
  /// The primitive applied to other arrays (bounds, magnitudes) in f64: for rules that move or fold bounds.
  StatusOr<std::vector<double>> apply(std::span<const HostArray> arrays) const;
};

/// Bound after rounding: `exact` says that the operation itself is correctly rounded, so that a representable result of
/// exact inputs has no error.
double roundedBound(double value, double bound, DType d, double ulps);

/// Sets call.bounds. Primitives that have no rule are undecided unless all inputs are exact.
Status applyErrorRule(ErrorRuleCall& call);

// The families, tried in turn: false if the primitive is not of that family.
StatusOr<bool> elementwiseErrorRule(ErrorRuleCall& call);
StatusOr<bool> foldErrorRule(ErrorRuleCall& call);
StatusOr<bool> moveErrorRule(ErrorRuleCall& call);

HostArray boundsArray(const BoundedArray& a);
/// |value| + bound, in f64.
HostArray magnitudes(const BoundedArray& a, bool withBound);

} // namespace tegula
