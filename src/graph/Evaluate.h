// The graph's walk by the reference evaluator: the oracle for everything else, and the honest fallback.
#pragma once

#include "graph/Graph.h"

namespace tegula {

enum class Precision {
  AsStated, // every value is rounded to its stated type
  Wide      // f64 in place of every float type: the oracle of tests
};

struct EvaluationResult {
  std::vector<HostArray> outputs;
  std::vector<HostArray> assigned; // one per Graph::assigns()
};

/// Evaluates outputs and assigns. Library operators and gradients are expanded on the way. Fails with `unsupported` in
/// a build without the reference evaluator.
StatusOr<EvaluationResult> evaluate(const Graph&, std::span<const HostArray> inputs, Precision = Precision::AsStated);

} // namespace tegula
