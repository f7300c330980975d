// Between layout and plan: dispatches with the storages they read and write, and the order they need.
#pragma once

#include "graph/Plan.h"
#include "graph/layout/Layout.h"

namespace tegula {

/// One dispatch of a unit, operands as places in storages.
struct Launch {
  KernelRef kernel;
  std::vector<std::pair<int32_t, int64_t>> bindings; // storage, offset in bytes
  std::vector<int64_t> scalars;
  int64_t items = 0, scratchBytes = 0;
  double flops = 0, bytes = 0;
  std::vector<int32_t> reads, writes; // storages, each once
  int32_t unit = 0;
  std::string label;
};

struct LaunchList {
  std::vector<Storage> storages; // of the layout, then temporaries of groups
  std::vector<Launch> launches;  // in an order in which they can run
};

/// Asks the target to schedule every unit. Fails if it has no kernel for a group, naming the group.
StatusOr<LaunchList> scheduleUnits(const LayoutResult&, const TargetModel&);

} // namespace tegula
