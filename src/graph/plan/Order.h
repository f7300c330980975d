// The order of steps: launches of equal kernels that do not depend on one another become one step with several segments
// (optimizer updates, partial sums of a norm, casts of weights); the rest keeps the order of the graph.
#pragma once

#include "graph/plan/Placement.h"

namespace tegula {

struct StepOrder {
  std::vector<std::vector<int32_t>> steps; // launches of each step, in their first order
  std::vector<std::vector<int32_t>> waits; // per step: earlier steps it reads from or must not overtake
};

StatusOr<StepOrder> orderSteps(const LaunchList&, const PlacementResult&);

} // namespace tegula
