// The parallel pattern of a graph: which axes of its inputs and results are independent of each other (work items), and
// which are folded, indexed or ordered. It follows every axis through the primitives of the definition, so it is known
// for any operator without running it. `tegula op show NAME --stage pattern` prints it.
#pragma once

#include "graph/Graph.h"
#include <string>
#include <vector>

namespace tegula {

/// Axes that move together through a computation.
struct AxisPattern {
  int64_t extent = 0;
  std::vector<std::string> places; // "x[1]", "result[0]": inputs first
  std::vector<std::string> uses;   // "folded by reduce_sum", "indexed by gather"; empty: independent
};

/// One entry for each axis of an input or output whose extent is not 1, in order of appearance. Library operators are
/// looked into. `inputNames` replaces the names of the graph's inputs where it is not empty. Fails: an operator whose
/// body cannot be instantiated.
StatusOr<std::vector<AxisPattern>> findPattern(const Graph&, std::span<const std::string> inputNames = {});

} // namespace tegula
