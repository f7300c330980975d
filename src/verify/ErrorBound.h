// Tolerances by running error analysis: a graph is evaluated in f64, and beside every value goes a bound on how far a
// correct implementation in the stated types may be from it. Rules for each primitive follow spec/numerics.md: a
// rounding adds u·|v|, a fold over n terms adds n·e·Σ|terms|, and errors of inputs pass through by their derivative or
// by interval arithmetic. So a tolerance is a consequence of types and lengths, and is not tuned.
//
// A bound of infinity says that the element is undecided: a comparison that either side of the error may win, a value
// that may overflow. Such elements are not compared; callers limit how many there may be. An extreme compared with what
// it is the extreme of is decided where no other candidate is near: it is one of them, bit by bit.
#pragma once

#include "graph/Graph.h"

namespace tegula {

struct BoundedArray {
  HostArray value;           // f64 for floats, else the stated type; row-major
  std::vector<double> bound; // one per element, >= 0
  DType stated = DType::F32;
  Symbol undecidedBy; // the primitive that made a bound infinite; empty: none is
};

/// Values and bounds of a graph's outputs. `inputBounds` gives, per input, how far the implementation's input may be
/// from the array here (an empty vector: it is the same): for inputs that are rounded first. Gradients are expanded.
/// Fails as evaluate() does.
StatusOr<std::vector<BoundedArray>> evaluateBounded(const Graph&, std::span<const HostArray> inputs,
                                                    std::span<const std::vector<double>> inputBounds = {});

} // namespace tegula
