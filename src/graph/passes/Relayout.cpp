// Inserts a relayout in front of every operand that its kernel would rather read packed. Common subexpressions then
// merge the relayouts of one value, so that a weight is packed once a step.
#include "graph/passes/Passes.h"
#include "graph/passes/Rewrite.h"
#include "primitives/InferRules.h"

namespace tegula {

StatusOr<Graph> insertRelayouts(const Graph& g, const TargetModel& target) {
  static const Symbol kRelayout = "relayout";
  Rewrite r(g);
  for (int32_t i = 0; i < r.size(); ++i) {
    const Node& n = g.node(i);
    if (n.kind != Node::Kind::Operator) {
      r.copy(i);
      continue;
    }
    Node packed = n;
    packed.inputs = r.mapAll(n.inputs);
    Emit e(r.to(), n.scope);
    for (size_t k = 0; k < n.inputs.size(); ++k) {
      if (!n.inputs[k].present()) continue;
      Layout preferred = target.preferredLayout(g, i, static_cast<int>(k));
      if (preferred.kind != Layout::Kind::Blocked) continue;
      Attributes at{{attr::panelAxis, int64_t(preferred.panelAxis)},
                    {attr::panel, int64_t(preferred.panel)},
                    {attr::pair, int64_t(preferred.pair)}};
      packed.inputs[k] = e.primitive(kRelayout, {packed.inputs[k]}, at);
      TG_RETURN_IF_ERROR(e.status());
    }
    r.append(i, std::move(packed));
  }
  return r.finish();
}

} // namespace tegula
