// Copies a graph through the rules of graph/passes/simplify.
#include "graph/passes/Passes.h"
#include "graph/passes/Rewrite.h"
#include "graph/passes/simplify/Simplifier.h"

namespace tegula {

StatusOr<Graph> simplify(const Graph& g) {
  Rewrite r(g);
  Simplifier s(r.to());
  for (int32_t i = 0; i < r.size(); ++i) {
    const Node& n = g.node(i);
    s.setScope(n.scope);
    if (n.kind == Node::Kind::Primitive) {
      Value v = s.trySimplify(n.op, r.mapAll(n.inputs), n.attrs);
      if (!s.status().ok()) return addContext(s.status(), fmt::format("simplify {}", n.op.text()));
      if (v.present()) {
        r.replace(i, {v});
        continue;
      }
    }
    r.copy(i);
  }
  return r.finish();
}

} // namespace tegula
