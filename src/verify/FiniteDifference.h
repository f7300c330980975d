// Gradients against finite differences in f64: the derivative of sum(results * upstream) along an input, by central
// differences at two steps, whose disagreement bounds the truncation error. Where they contradict the gradient, smaller
// steps decide, which cross fewer kinks.
#pragma once

#include "verify/Operation.h"

namespace tegula {

struct FiniteDifferenceOptions {
  double step = 0x1p-14;     // of an element of magnitude 1
  int64_t elementLimit = 24; // inputs of at most as many elements are checked element by element
  int randomDirections = 3;  // along which larger inputs (all inputs) are checked too
  uint64_t seed = 1;
  std::vector<Symbol> names; // of the inputs, for messages; empty: their numbers
};

/// Inputs and upstream in f64 (integers and bools as they are), away from kinks. Fails: the first derivative that is
/// off, with the input, the place, both values and the tolerance.
Status checkGradient(const OperationUnderTest&, Symbol op, std::span<const HostArray> inputs, const Attributes&,
                     std::span<const HostArray> upstream, const FiniteDifferenceOptions& = {});

/// One upstream array per float result (default where the result is not a float), from a seed.
StatusOr<std::vector<HostArray>> makeUpstream(std::span<const HostArray> results, uint64_t seed);

} // namespace tegula
