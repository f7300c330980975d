// Inlines every library operator that the target does not keep whole; what remains is primitives and kept operators. A
// contraction in a body (`@`) becomes the library's `matmul` where the target keeps that.
#include "graph/passes/Passes.h"
#include "graph/passes/Products.h"
#include "graph/passes/Rewrite.h"

namespace tegula {

namespace {

const Symbol kStop = "stop_gradient", kContract = "contract";

/// Which operators stay whole.
struct Keep {
  std::function<bool(const Graph&, const Node&)> keeps;
  bool kernelsOnly = false; // true: only those with a tile kernel can, the others are not asked about
};

/// Inlines operators as they arrive, each asked about with the types it has here.
class DecomposingBuilder final : public Builder {
public:
  DecomposingBuilder(Graph& g, const Keep& keep, Symbol scope) : graph_(g), keep_(keep), scope_(scope) {}

  TensorType typeOf(Value v) const override { return graph_.typeOf(v); }

  StatusOr<Values> primitive(Symbol name, std::span<const Value> in, const Attributes& a) override {
    if (name == kStop) return Values(in.begin(), in.end());
    if (name == kContract)
      if (Value v = keptProduct(in, a); v.present()) return Values{v};
    return graph_.addPrimitive(name, in, a, scope_);
  }

  StatusOr<Values> call(Symbol op, std::span<const Value> in, const Attributes& a) override {
    TG_ASSIGN_OR_RETURN(Attributes complete, graph_.library().completeAttributes(op, a));
    const OperatorInfo* info = graph_.library().find(op);
    if (info && (info->hasKernel || !keep_.kernelsOnly)) {
      Node n{Node::Kind::Operator, op, Values(in.begin(), in.end()), complete, {}, scope_};
      absl::InlinedVector<const TensorType*, 8> types;
      for (Value v : in) types.push_back(v.present() ? &graph_.typeOf(v) : nullptr);
      TG_ASSIGN_OR_RETURN(n.results, graph_.library().infer(op, std::span<const TensorType* const>(types), complete));
      if (keep_.keeps(graph_, n)) {
        Values results;
        size_t count = n.results.size();
        int32_t id = graph_.append(std::move(n));
        for (size_t r = 0; r < count; ++r) results.push_back({id, static_cast<int32_t>(r)});
        return results;
      }
    }
    auto results = graph_.library().instantiate(op, in, complete, *this);
    if (!results.ok()) return addContext(results.status(), op.text());
    return results;
  }

private:
  /// The contraction as a matmul that stays whole. Nodes of an attempt that fails are dead code.
  Value keptProduct(std::span<const Value> in, const Attributes& a) {
    Emit e(graph_, scope_);
    int32_t before = static_cast<int32_t>(graph_.nodes().size());
    Value v = productAsMatmul(e, in[0], in[1], a);
    if (!v.present() || !e.status().ok()) return {};
    for (int32_t i = before; i < static_cast<int32_t>(graph_.nodes().size()); ++i)
      if (graph_.node(i).kind == Node::Kind::Operator && !keep_.keeps(graph_, graph_.node(i))) return {};
    return v;
  }

  Graph& graph_;
  const Keep& keep_;
  Symbol scope_;
};

StatusOr<Graph> decompose(const Graph& g, const Keep& keep) {
  Rewrite r(g);
  for (int32_t i = 0; i < r.size(); ++i) {
    const Node& n = g.node(i);
    if (n.kind == Node::Kind::Operator) {
      DecomposingBuilder builder(r.to(), keep, n.scope);
      auto results = builder.call(n.op, r.mapAll(n.inputs), n.attrs);
      if (!results.ok()) return addContext(results.status(), n.scope.text());
      r.replace(i, *std::move(results));
    } else if (n.kind == Node::Kind::Primitive && (n.op == kStop || n.op == kContract)) {
      DecomposingBuilder builder(r.to(), keep, n.scope);
      TG_ASSIGN_OR_RETURN(Values results, builder.primitive(n.op, r.mapAll(n.inputs), n.attrs));
      r.replace(i, std::move(results));
    } else {
      r.copy(i);
    }
  }
  return r.finish();
}

} // namespace

StatusOr<Graph> decompose(const Graph& g, const TargetModel& target) {
  return decompose(g, Keep{[&](const Graph& in, const Node& n) { return target.keepsWhole(in, n); }, true});
}

StatusOr<Graph> decompose(const Graph& g, const std::function<bool(const Graph&, const Node&)>& keeps) {
  return decompose(g, Keep{keeps});
}

} // namespace tegula
