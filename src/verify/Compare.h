// Comparison of an answer with values and bounds, and the message of a failure: what was expected where, by how much it
// is off, and the one line that reproduces it.
#pragma once

#include "verify/ErrorBound.h"

namespace tegula {

struct CompareOptions {
  /// A kernel may order and block a computation unlike its definition (online softmax, two-pass variance): its errors
  /// stay within a small multiple of the definition's (spec/numerics.md).
  double slack = 4;
  /// Largest part of the elements that may be undecided.
  double undecidedPart = 0.1;
};

struct Comparison {
  int64_t elements = 0, wrong = 0, undecided = 0;
  int64_t worst = -1;    // element of the largest error in units of its tolerance
  double worstRatio = 0; // that error; above 1 is wrong
  std::string message;   // empty if all is well
  bool ok() const { return message.empty(); }
};

/// Compares `actual` (of the stated type) with `expected`. NaN agrees with NaN only, an infinity with itself only.
Comparison compare(const HostArray& actual, const BoundedArray& expected, const CompareOptions& = {});

/// Fails with the message, `what` and the reproducing line: `softmax x=3,5 f32: result 0: element [1,2] is …`.
Status requireClose(const HostArray& actual, const BoundedArray& expected, std::string_view what,
                    std::string_view reproducer, const CompareOptions& = {});

} // namespace tegula
