// The passes from graph to graph. Each keeps the meaning of outputs and assigns, and the graph's inputs.
// Those that need the target take the TargetModel; `fuse`, `layout` and `memory` make no graph (graph/fusion,
// graph/plan).
#pragma once

#include "graph/Plan.h"
#include <functional>

namespace tegula {

/// Rules that hold for every value, NaN, infinities and signed zeros included; views and casts folded into one another.
StatusOr<Graph> simplify(const Graph&);
/// Replaces every gradient node by nodes that compute it. Operators without @grad on its way are inlined.
StatusOr<Graph> differentiate(const Graph&);
/// Matrix products and attention take operands of the policy's type and give f32; everything else stays as it is.
StatusOr<Graph> applyPrecision(const Graph&, const PrecisionPolicy&);
/// Inlines every library operator that the target does not keep whole.
StatusOr<Graph> decompose(const Graph&, const TargetModel&);
/// The same for a device with operators of its own: `keeps` is asked about every library operator.
StatusOr<Graph> decompose(const Graph&, const std::function<bool(const Graph&, const Node&)>& keeps);
/// One node for equal nodes (operation, inputs, attributes). Random numbers are equal only for equal keys.
StatusOr<Graph> mergeCommonSubexpressions(const Graph&);
/// Drops nodes that no output or assign needs; inputs stay.
StatusOr<Graph> removeDeadCode(const Graph&);
/// Packs operands whose kernel prefers a blocked layout: inserts `relayout` nodes.
StatusOr<Graph> insertRelayouts(const Graph&, const TargetModel&);

} // namespace tegula
