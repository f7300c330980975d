// The order of steps: launches of equal kernels that do not depend on one another become one step with several segments
// (optimizer updates, partial sums of a norm, casts of weights); the rest keeps the order of the graph.
#pragma once

#include "graph/plan/Placement.h"

namespace tegula {

struct StepOrder {
  std::vector<std::vector<int32_t>> steps; // launches of each step, in their first order
  std::vector<std::vector<int32_t>> waits; // per step: earlier steps it reads from, or whose state it overwrites
};

StatusOr<StepOrder> orderSteps(const LaunchList&, const PlacementResult&);

/// A storage's place in the arena and the steps that touch it, increasing.
struct ArenaUse {
  int64_t offset = 0, sizeBytes = 0;
  std::vector<int32_t> steps;
};

/// Adds the waits that reuse of the arena needs: what takes a place waits for all that touched it before. Then leaves
/// out every wait that follows from others.
void addReuseWaits(std::span<const ArenaUse>, std::vector<std::vector<int32_t>>& waits);

} // namespace tegula
