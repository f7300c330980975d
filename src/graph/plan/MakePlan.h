// The last stage of makePlan (graph/Plan.h): storages to steps and an arena.
#pragma once

#include "graph/Plan.h"
#include "graph/layout/Layout.h"

namespace tegula {

StatusOr<Plan> planMemoryAndSteps(const Graph&, LayoutResult, const TargetModel&);

} // namespace tegula
