// One arena: offsets for values whose lifetimes are known, so that those that live at the same time do not overlap.
#pragma once

#include "base/Status.h"
#include <cstdint>
#include <span>
#include <vector>

namespace tegula {

constexpr int64_t kArenaAlignment = 64; // bytes: a cache line, and the widest vector

struct Lifetime {
  int64_t sizeBytes = 0;
  int32_t first = 0, last = 0; // steps, inclusive
};

struct ArenaPlan {
  std::vector<int64_t> offsets; // one per lifetime
  int64_t sizeBytes = 0;
};

/// Best fit: values in order of decreasing size (then first step, then index), each into the smallest gap between
/// values that live with it. Deterministic.
ArenaPlan packArena(std::span<const Lifetime>);

/// Fails, naming both, if two values that live at the same time overlap or one lies outside the arena.
Status checkArena(std::span<const Lifetime>, const ArenaPlan&);

/// The least any plan could need: the largest sum of sizes (rounded up to the alignment) that live at one step.
int64_t arenaLowerBound(std::span<const Lifetime>);

} // namespace tegula
