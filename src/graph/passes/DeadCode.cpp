// Drops what no output or assign needs.
#include "graph/passes/Passes.h"
#include "graph/passes/Rewrite.h"

namespace tegula {

StatusOr<Graph> removeDeadCode(const Graph& g) {
  std::vector<bool> live(g.nodes().size(), false);
  for (Value v : g.outputs()) live[v.node] = true;
  for (const Graph::Assign& a : g.assigns()) live[a.value.node] = true;
  for (int32_t i = static_cast<int32_t>(g.nodes().size()) - 1; i >= 0; --i) {
    if (!live[i]) continue;
    for (Value v : g.node(i).inputs)
      if (v.present()) live[v.node] = true;
  }
  Rewrite r(g);
  for (int32_t i = 0; i < r.size(); ++i)
    if (live[i] || g.node(i).kind == Node::Kind::Input) r.copy(i);
  return r.finish();
}

} // namespace tegula
