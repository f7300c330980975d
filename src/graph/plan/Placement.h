// Where values that outlive a plan's run live: graph outputs in their own buffers, assigned states in theirs, written
// by the launch that computes the value wherever that is safe, by a copy at the end where it is not.
#pragma once

#include "graph/plan/Launches.h"

namespace tegula {

struct StorageTarget {
  BufferRef::Space space = BufferRef::Space::Arena;
  int32_t index = 0;
};

struct PlacementResult {
  std::vector<StorageTarget> targets; // one per storage
  std::vector<std::pair<int32_t, int32_t>>
      order; // (earlier, later) launches: old values are read before they are overwritten
  std::vector<BufferRef> outputPlaces;
};

/// Decides targets; appends copy launches to `list` where a value cannot be computed in place.
StatusOr<PlacementResult> placeResults(const Graph&, const LayoutResult&, LaunchList& list, const TargetModel&);

/// `consumers[a]`: launches that read what a writes.
std::vector<std::vector<int32_t>> consumersOf(const LaunchList&);

} // namespace tegula
