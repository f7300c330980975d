// One problem checked in full: the operation under test against values with derived bounds, forward and backward, on
// inputs that end and begin at inaccessible pages. What `tegula op check` and the operator tests run.
#pragma once

#include "verify/Compare.h"
#include "verify/Operation.h"
#include "verify/Problem.h"

namespace tegula {

struct CheckOptions {
  bool gradients = true;
  CompareOptions compare;
};

struct CheckReport {
  int comparisons = 0;   // results and gradients that were compared
  double worstRatio = 0; // largest error in units of its tolerance
  int64_t undecided = 0;
};

/// Fails with what differs and the line that reproduces it.
StatusOr<CheckReport> checkProblem(const Problem&, const OperationUnderTest&, std::shared_ptr<const OperatorLibrary>,
                                   const CheckOptions& = {});

/// Why the gradient of a problem cannot be compared with differences; empty if it can.
StatusOr<std::string> whyNoDifferences(const Problem&, std::shared_ptr<const OperatorLibrary>);

/// The derived gradient of a problem against finite differences, both by the reference evaluator in f64, on f64
/// inputs.
Status checkDerivative(const Problem&, std::shared_ptr<const OperatorLibrary>);

} // namespace tegula
