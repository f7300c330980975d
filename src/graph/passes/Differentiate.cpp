// Reverse-mode differentiation. The graph is copied; a gradient node is replaced by a walk back over what has been
// copied so far, from its loss to the values it asks for. Operators on that way that have no @grad (and no tile kernel)
// are inlined while copying, so that the walk sees primitives and operators with @grad only.
#include "absl/container/flat_hash_set.h"
#include "graph/autodiff/Adjoints.h"
#include "graph/autodiff/Rules.h"
#include "graph/passes/Inline.h"
#include "graph/passes/Passes.h"
#include "graph/passes/Rewrite.h"
#include "primitives/InferRules.h"
#include <algorithm>

namespace tegula {

namespace {

const Symbol kSlice = "slice";

std::string where(const Node& n) {
  return n.scope.empty() ? std::string(n.op.text()) : fmt::format("{} (in {})", n.op.text(), n.scope.text());
}

/// The walk back for one gradient node, over and onto graph `g`.
class Backward {
public:
  Backward(Graph& g, Value loss, std::span<const Value> wrt) : g_(g), loss_(loss), wrt_(wrt.begin(), wrt.end()) {}

  StatusOr<Values> run() {
    markDependent();
    Emit e(g_, g_.node(loss_.node).scope);
    if (depends(loss_)) adjoints_.add(loss_, e.constantLike(1, loss_));
    TG_RETURN_IF_ERROR(e.status());
    for (int32_t i = loss_.node; i >= 0; --i) TG_RETURN_IF_ERROR(visit(i));
    Values results;
    for (Value v : wrt_) {
      auto it = finished_.find(v);
      Emit zero(g_, g_.node(v.node).scope);
      results.push_back(it != finished_.end() ? it->second : zero.zeros(g_.typeOf(v)));
      TG_RETURN_IF_ERROR(zero.status());
    }
    return results;
  }

private:
  bool depends(Value v) const {
    if (!v.present() || v.node >= static_cast<int32_t>(dependent_.size()) || !isFloat(g_.typeOf(v).dtype)) return false;
    return dependent_[v.node] || isWrt(v);
  }
  bool isWrt(Value v) const { return std::find(wrt_.begin(), wrt_.end(), v) != wrt_.end(); }

  /// Nodes whose results change with one of the values asked for.
  void markDependent() {
    dependent_.assign(loss_.node + 1, false);
    isWrtNode_.assign(loss_.node + 1, false);
    for (Value v : wrt_)
      if (v.node <= loss_.node) isWrtNode_[v.node] = true;
    for (int32_t i = 0; i <= loss_.node; ++i)
      for (Value v : g_.node(i).inputs)
        if (v.present() && (dependent_[v.node] || (isWrtNode_[v.node] && isWrt(v)))) dependent_[i] = true;
  }

  Status visit(int32_t i) {
    size_t count = g_.node(i).results.size();
    Emit e(g_, g_.node(i).scope);
    Values gradients;
    bool flows = false;
    for (size_t r = 0; r < count; ++r) {
      Value v{i, static_cast<int32_t>(r)};
      gradients.push_back(adjoints_.take(v, e));
      flows = flows || gradients.back().present();
      if (gradients.back().present() && isWrtNode_[i] && isWrt(v)) finished_[v] = gradients.back();
    }
    TG_RETURN_IF_ERROR(e.status());
    if (!flows || !dependent_[i]) return OkStatus();
    const Node n = g_.node(i); // a copy: the graph grows below
    Values outputs;
    for (size_t r = 0; r < count; ++r) outputs.push_back({i, static_cast<int32_t>(r)});
    if (n.kind == Node::Kind::Primitive) return primitive(n, outputs, gradients, e);
    if (n.kind == Node::Kind::Operator) return operatorGrad(n, outputs, gradients, e);
    return invalid("gradient: {} cannot be differentiated", where(n));
  }

  Status primitive(const Node& n, const Values& outputs, const Values& gradients, Emit& e) {
    if (stopsGradient(n.op)) return OkStatus();
    RuleCall call{e, n, outputs, gradients, {}, {}};
    bool any = false;
    for (Value v : n.inputs) {
      call.needed.push_back(depends(v));
      call.gradients.push_back({});
      any = any || call.needed.back();
    }
    if (!any) return OkStatus();
    if (n.op == kSlice && addSlice(n, gradients[0])) return OkStatus();
    const Rule* rule = findRule(n.op);
    if (!rule)
      return invalid("gradient: {} has no derivative; put stop_gradient before it if none should flow", where(n));
    rule->apply(call);
    TG_RETURN_IF_ERROR(addContext(e.status(), fmt::format("gradient of {}", where(n))));
    for (size_t k = 0; k < n.inputs.size(); ++k)
      if (call.gradients[k].present()) adjoints_.add(n.inputs[k], call.gradients[k]);
    return OkStatus();
  }

  /// A contiguous piece of one axis is kept as a piece.
  bool addSlice(const Node& n, Value dy) {
    const Shape &from = g_.typeOf(n.inputs[0]).shape, &sizes = n.attrs.getInts(attr::sizes),
                &steps = n.attrs.getInts(attr::steps), &starts = n.attrs.getInts(attr::starts);
    int cut = -1;
    for (int i = 0; i < from.rank(); ++i) {
      if (sizes[i] == 0 || (steps[i] != 1 && sizes[i] > 1)) return false;
      if (sizes[i] == from[i]) continue;
      if (cut >= 0) return false;
      cut = i;
    }
    if (cut < 0) return false;
    adjoints_.addPiece(n.inputs[0], dy, cut, starts[cut]);
    return true;
  }

  Status operatorGrad(const Node& n, const Values& outputs, const Values& given, Emit& e) {
    const OperatorInfo* info = g_.library().find(n.op);
    if (!info || !info->hasGrad)
      return invalid("gradient: operator {} has a tile kernel but no @grad; write one beside it", where(n));
    for (auto r = static_cast<size_t>(info->results); r < given.size(); ++r)
      if (given[r].present())
        return invalid("gradient: {} is differentiated through what it keeps for its own @grad; write its definition "
                       "out where it is called",
                       where(n));
    Values dys; // an unused result gets zeros
    for (int r = 0; r < info->results; ++r)
      dys.push_back(given[r].present() ? given[r] : e.zeros(g_.typeOf(outputs[r])));
    TG_RETURN_IF_ERROR(e.status());
    InliningBuilder builder(g_, n.scope);
    auto results = g_.library().instantiateGrad(n.op, n.inputs, outputs, dys, n.attrs, builder);
    if (!results.ok()) return addContext(results.status(), fmt::format("gradient of {}", where(n)));
    for (size_t k = 0; k < n.inputs.size(); ++k) {
      Value gradient = (*results)[k];
      if (!gradient.present() || !depends(n.inputs[k])) continue;
      TG_ASSIGN_OR_RETURN(gradient, fitted(gradient, TensorType(g_.typeOf(n.inputs[k])), n, e));
      adjoints_.add(n.inputs[k], gradient);
    }
    return OkStatus();
  }

  /// Sums a gradient over the axes along which its input was repeated, and gives it the input's type.
  StatusOr<Value> fitted(Value gradient, const TensorType& to, const Node& n, Emit& e) {
    const Shape from = e.shapeOf(gradient);
    int extra = from.rank() - to.shape.rank();
    Shape summed;
    for (int i = 0; i < from.rank(); ++i) {
      bool fits = i >= extra && from[i] == to.shape[i - extra];
      if (i >= extra && !fits && to.shape[i - extra] != 1) extra = from.rank() + 1;
      if (!fits) summed.push_back(i);
    }
    if (extra < 0 || extra > from.rank())
      return invalid("gradient of {}: @grad gave {} for an input {}; it must have that shape or a broadcast of it",
                     where(n), toString(g_.typeOf(gradient)), toString(to));
    Value v = e.cast(e.reshape(e.reduceSum(gradient, summed), to.shape), to.dtype);
    TG_RETURN_IF_ERROR(e.status());
    return v;
  }

  Graph& g_;
  Value loss_;
  Values wrt_;
  std::vector<bool> dependent_, isWrtNode_;
  Adjoints adjoints_;
  absl::flat_hash_map<Value, Value> finished_;
};

/// For every node, by how many gradients at most, one of another, it is differentiated: where it is any, operators
/// without @grad must be inlined; where it is several, those with residuals too.
std::vector<int> gradientDepths(const Graph& g) {
  std::vector<int> depth(g.nodes().size(), 0);
  auto raise = [&](Value v, int to) {
    if (v.present()) depth[v.node] = std::max(depth[v.node], to);
  };
  for (int32_t i = static_cast<int32_t>(g.nodes().size()) - 1; i >= 0; --i) {
    const Node& node = g.node(i);
    for (Value v : node.inputs) raise(v, depth[i]);
    if (node.kind == Node::Kind::Gradient) raise(node.inputs[0], depth[i] + 1);
  }
  return depth;
}

/// The values that some gradient is taken by.
absl::flat_hash_set<Value> gradientValues(const Graph& g) {
  absl::flat_hash_set<Value> values;
  for (const Node& n : g.nodes())
    if (n.kind == Node::Kind::Gradient) values.insert(n.inputs.begin() + 1, n.inputs.end());
  return values;
}

/// A result that a gradient is taken by stays a value of its own: an inlined operator may hand on an operand, or give
/// one value twice, and the gradient by its result is not that by the operand.
Status separate(Values& results, int32_t node, const absl::flat_hash_set<Value>& wrt, int32_t firstOwn, Graph& g) {
  for (size_t r = 0; r < results.size(); ++r) {
    if (!wrt.contains({node, static_cast<int32_t>(r)})) continue;
    bool shared = results[r].node < firstOwn || std::count(results.begin(), results.end(), results[r]) > 1;
    if (!shared) continue;
    auto copy = g.addPrimitive("cast", std::span(&results[r], 1), {{attr::dtype, g.typeOf(results[r]).dtype}},
                               g.node(results[r].node).scope);
    TG_RETURN_IF_ERROR(copy.status());
    results[r] = (*copy)[0];
  }
  return OkStatus();
}

} // namespace

StatusOr<Graph> differentiate(const Graph& g) {
  std::vector<int> depth = gradientDepths(g);
  absl::flat_hash_set<Value> wrt = gradientValues(g);
  Rewrite r(g);
  for (int32_t i = 0; i < r.size(); ++i) {
    const Node& n = g.node(i);
    if (n.kind == Node::Kind::Gradient) {
      Values mapped = r.mapAll(n.inputs);
      TG_ASSIGN_OR_RETURN(Values results, Backward(r.to(), mapped[0], std::span(mapped).subspan(1)).run());
      r.replace(i, std::move(results));
    } else if (n.kind == Node::Kind::Operator && depth[i] > 0 &&
               InliningBuilder::inlines(g.library(), n.op, depth[i] > 1)) {
      InliningBuilder builder(r.to(), n.scope, depth[i] > 1);
      auto before = static_cast<int32_t>(r.to().nodes().size());
      auto results = builder.call(n.op, r.mapAll(n.inputs), n.attrs);
      if (!results.ok()) return addContext(results.status(), where(n));
      TG_RETURN_IF_ERROR(separate(*results, i, wrt, before, r.to()));
      r.replace(i, *std::move(results));
    } else {
      r.copy(i);
    }
  }
  return r.finish();
}

} // namespace tegula
