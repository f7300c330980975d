// scatter_add and scatter_elements_add: zeros, then updates added in the order of their indices.
#pragma once

#include "compiler/Target.h"
#include "compiler/loop/AxisMemory.h"

namespace tegula::loop {

/// `node` is the only node of the group's body. Work items are blocks of the axes that are not scattered, each walking
/// all updates in order, so the sums do not depend on threads. bf16 and f16 are summed in f32 in a temporary and
/// rounded once.
StatusOr<GroupSchedule> scheduleScatter(const Group&, const Node& node, const Target&, AxisMemory&);

} // namespace tegula::loop
