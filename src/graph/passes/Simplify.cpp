// Copies a graph through the rules of graph/passes/simplify.
#include "graph/passes/Body.h"
#include "graph/passes/Passes.h"
#include "graph/passes/Rewrite.h"
#include "graph/passes/simplify/Simplifier.h"
#include "primitives/InferRules.h"

namespace tegula {

namespace {

const Symbol kReshape = "reshape";

/// Operators that multiply rows [..., M, K] by one matrix: leading axes can be merged into the rows, which makes one large
/// product forward and, above all, one product instead of a sum of many in the weight's gradient.
class RowMerger {
public:
  /// Absent if it does not apply.
  StatusOr<Values> tryMerge(Rewrite& r, const Node& n, Simplifier& s) {
    if (n.inputs.size() < 2 || n.results.size() != 1) return Values{};
    const Shape rows = r.from().typeOf(n.inputs[0]).shape, result = n.results[0].shape;
    if (rows.rank() < 3 || result.rank() != rows.rank()) return Values{};
    TG_ASSIGN_OR_RETURN(bool applies, multipliesRows(r.from(), n));
    if (!applies) return Values{};
    int64_t merged = 1;
    for (int i = 0; i + 1 < rows.rank(); ++i) merged *= rows[i];
    Values inputs = r.mapAll(n.inputs);
    inputs[0] = s.make(kReshape, {inputs[0]}, {{attr::shape, Shape{merged, rows[rows.rank() - 1]}}});
    TG_RETURN_IF_ERROR(s.status());
    TG_ASSIGN_OR_RETURN(Values product, r.to().addOperator(n.op, inputs, n.attrs, n.scope));
    Value back = s.make(kReshape, {product[0]}, {{attr::shape, result}});
    TG_RETURN_IF_ERROR(s.status());
    return Values{back};
  }

private:
  /// The body is one product of the last axis of the first input with one axis of another input, which has no batch axes,
  /// and views of that other input.
  StatusOr<bool> multipliesRows(const Graph& g, const Node& n) {
    const OperatorInfo* info = g.library().find(n.op);
    if (!info || !info->hasKernel) return false;
    std::string key = fmt::format("{}({})", n.op.text(), toString(n.attrs));
    for (Value v : n.inputs) key += v.present() ? fmt::format(",{}", g.typeOf(v).shape.rank()) : ",-";
    auto it = known_.find(key);
    if (it != known_.end()) return it->second;
    TG_ASSIGN_OR_RETURN(Graph body, bodyOf(g, n));
    return known_[key] = isRowProduct(body);
  }

  static bool isRowProduct(const Graph& body) {
    static const Symbol kContract = "contract";
    if (body.outputs().size() != 1) return false;
    const Node& product = body.node(body.outputs()[0].node);
    if (product.kind != Node::Kind::Primitive || product.op != kContract) return false;
    int last = body.typeOf(product.inputs[0]).shape.rank() - 1;
    bool plain = product.inputs[0].node == body.inputs()[0].node && product.attrs.getInts(attr::batchA).rank() == 0 &&
                 product.attrs.getInts(attr::contractA) == Shape{last} &&
                 body.typeOf(product.inputs[1]).shape.rank() == 2;
    for (const Node& n : body.nodes())
      if (n.kind == Node::Kind::Primitive && &n != &product)
        plain = plain && findPrimitive(n.op)->kind == PrimitiveKind::View;
    return plain;
  }

  absl::flat_hash_map<std::string, bool> known_;
};

} // namespace

StatusOr<Graph> simplify(const Graph& g) {
  Rewrite r(g);
  Simplifier s(r.to());
  RowMerger rows;
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
    if (n.kind == Node::Kind::Operator) {
      TG_ASSIGN_OR_RETURN(Values merged, rows.tryMerge(r, n, s));
      if (!merged.empty()) {
        r.replace(i, std::move(merged));
        continue;
      }
    }
    r.copy(i);
  }
  return r.finish();
}

} // namespace tegula
