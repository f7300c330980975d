// Mixed precision: what multiplies matrices takes its operands in the policy's type, and its results are f32 again, so
// that everything else (and all state) stays f32. An operator with an attribute `dtype` gives f32 by itself, unrounded;
// the result of another is cast. Values cast several times are cast once by common-subexpression elimination.
#include "absl/container/flat_hash_map.h"
#include "graph/passes/Body.h"
#include "graph/passes/Passes.h"
#include "graph/passes/Rewrite.h"
#include "primitives/InferRules.h"

namespace tegula {

namespace {

const Symbol kContract = "contract";

/// Records nodes with narrowed operands; inlines operators without a tile kernel, to reach the products in them.
class NarrowingBuilder final : public Builder {
public:
  /// Per operator, attributes and present inputs: which inputs are multiplied.
  using Known = absl::flat_hash_map<std::string, std::vector<bool>>;

  NarrowingBuilder(Graph& g, DType compute, Symbol scope, Known& known)
      : graph_(g), compute_(compute), scope_(scope), known_(known) {}

  TensorType typeOf(Value v) const override { return graph_.typeOf(v); }

  StatusOr<Values> primitive(Symbol name, std::span<const Value> in, const Attributes& a) override {
    const Primitive* p = findPrimitive(name);
    bool product = p && p->kind == PrimitiveKind::Contract && graph_.typeOf(in[0]).dtype == DType::F32;
    if (!product) return graph_.addPrimitive(name, in, a, scope_);
    TG_ASSIGN_OR_RETURN(Values narrow, narrowed(in, std::vector<bool>(in.size(), true)));
    Attributes attrs = a;
    if (name == kContract && !attrs.has(attr::dtype)) attrs.set(attr::dtype, DType::F32);
    TG_ASSIGN_OR_RETURN(Values results, graph_.addPrimitive(name, narrow, attrs, scope_));
    return widened(std::move(results));
  }

  StatusOr<Values> call(Symbol op, std::span<const Value> in, const Attributes& a) override {
    TG_ASSIGN_OR_RETURN(Attributes attrs, graph_.library().completeAttributes(op, a));
    const OperatorInfo* info = graph_.library().find(op);
    if (!info->hasKernel) return graph_.library().instantiate(op, in, attrs, *this);
    Node n{Node::Kind::Operator, op, Values(in.begin(), in.end()), attrs, {}, scope_};
    TG_ASSIGN_OR_RETURN(std::vector<bool> multiplied, multipliedInputs(n));
    TG_ASSIGN_OR_RETURN(Values narrow, narrowed(in, multiplied));
    if (narrow == Values(in.begin(), in.end())) return graph_.addOperator(op, in, attrs, scope_);
    for (const OperatorInfo::Attribute& known : info->attributes)
      if (known.name == attr::dtype) attrs.set(attr::dtype, DType::F32);
    TG_ASSIGN_OR_RETURN(Values results, graph_.addOperator(op, narrow, attrs, scope_));
    return widened(std::move(results));
  }

private:
  StatusOr<Values> narrowed(std::span<const Value> in, const std::vector<bool>& which) {
    Emit e(graph_, scope_);
    Values values(in.begin(), in.end());
    for (size_t k = 0; k < values.size(); ++k)
      if (which[k] && values[k].present() && graph_.typeOf(values[k]).dtype == DType::F32)
        values[k] = e.cast(values[k], compute_);
    TG_RETURN_IF_ERROR(e.status());
    return values;
  }

  StatusOr<Values> widened(Values results) {
    Emit e(graph_, scope_);
    for (Value& v : results)
      if (graph_.typeOf(v).dtype == compute_) v = e.cast(v, DType::F32);
    TG_RETURN_IF_ERROR(e.status());
    return results;
  }

  StatusOr<std::vector<bool>> multipliedInputs(const Node& n) {
    std::string key = fmt::format("{}({})", n.op.text(), toString(n.attrs));
    for (Value v : n.inputs) key += v.present() ? '1' : '0';
    auto it = known_.find(key);
    if (it == known_.end()) {
      TG_ASSIGN_OR_RETURN(Graph body, bodyOf(graph_, n));
      std::vector<bool> present = productOperands(body), all;
      size_t next = 0;
      for (Value v : n.inputs) all.push_back(v.present() && present[next++]);
      it = known_.emplace(key, std::move(all)).first;
    }
    return it->second;
  }

  Graph& graph_;
  DType compute_;
  Symbol scope_;
  Known& known_;
};

} // namespace

StatusOr<Graph> applyPrecision(const Graph& g, const PrecisionPolicy& policy) {
  if (policy.compute == DType::F32 || policy.compute == DType::F64) return g;
  Rewrite r(g);
  NarrowingBuilder::Known known;
  for (int32_t i = 0; i < r.size(); ++i) {
    const Node& n = g.node(i);
    if (n.kind != Node::Kind::Primitive && n.kind != Node::Kind::Operator) {
      r.copy(i);
      continue;
    }
    NarrowingBuilder builder(r.to(), policy.compute, n.scope, known);
    Values inputs = r.mapAll(n.inputs);
    auto results = n.kind == Node::Kind::Primitive ? builder.primitive(n.op, inputs, n.attrs)
                                                   : builder.call(n.op, inputs, n.attrs);
    if (!results.ok()) return addContext(results.status(), n.op.text());
    r.replace(i, *std::move(results));
  }
  return r.finish();
}

} // namespace tegula
