// Mixed precision: what multiplies matrices takes its operands in the policy's type, and its results are f32 again, so that
// everything else (and all state) stays f32. An operator with an attribute `dtype` gives f32 by itself, unrounded; the result of
// another is cast. Values cast several times are cast once by common-subexpression elimination.
#include "absl/container/flat_hash_map.h"
#include "graph/passes/Body.h"
#include "graph/passes/Passes.h"
#include "graph/passes/Rewrite.h"
#include "primitives/InferRules.h"

namespace tegula {

namespace {

class PrecisionPass {
public:
  PrecisionPass(const Graph& g, DType compute) : r_(g), compute_(compute) {}

  StatusOr<Graph> run() {
    for (int32_t i = 0; i < r_.size(); ++i) {
      TG_ASSIGN_OR_RETURN(std::vector<bool> narrowed, operandsToNarrow(i));
      if (std::find(narrowed.begin(), narrowed.end(), true) == narrowed.end()) r_.copy(i);
      else TG_RETURN_IF_ERROR(narrow(i, narrowed));
    }
    return r_.finish();
  }

private:
  /// Per input: an f32 operand of a matrix product.
  StatusOr<std::vector<bool>> operandsToNarrow(int32_t i) {
    const Graph& g = r_.from();
    const Node& n = g.node(i);
    std::vector<bool> multiplied(n.inputs.size(), false);
    if (n.kind == Node::Kind::Primitive) {
      bool product = findPrimitive(n.op)->kind == PrimitiveKind::Contract;
      multiplied.assign(n.inputs.size(), product);
    } else if (n.kind == Node::Kind::Operator && g.library().find(n.op)->hasKernel) {
      TG_ASSIGN_OR_RETURN(multiplied, ofOperator(n));
    }
    for (size_t k = 0; k < n.inputs.size(); ++k)
      multiplied[k] = multiplied[k] && n.inputs[k].present() && g.typeOf(n.inputs[k]).dtype == DType::F32;
    return multiplied;
  }

  /// The body is looked at once for each operator, set of attributes and set of present inputs.
  StatusOr<std::vector<bool>> ofOperator(const Node& n) {
    std::string key = fmt::format("{}({})", n.op.text(), toString(n.attrs));
    for (Value v : n.inputs) key += v.present() ? '1' : '0';
    auto it = known_.find(key);
    if (it == known_.end()) {
      TG_ASSIGN_OR_RETURN(Graph body, bodyOf(r_.from(), n));
      std::vector<bool> present = productOperands(body), all;
      size_t next = 0;
      for (Value v : n.inputs) all.push_back(v.present() && present[next++]);
      it = known_.emplace(key, std::move(all)).first;
    }
    return it->second;
  }

  Status narrow(int32_t i, const std::vector<bool>& narrowed) {
    const Node& n = r_.from().node(i);
    Emit e(r_.to(), n.scope);
    Values inputs = r_.mapAll(n.inputs);
    for (size_t k = 0; k < inputs.size(); ++k)
      if (narrowed[k]) inputs[k] = e.cast(inputs[k], compute_);
    TG_RETURN_IF_ERROR(e.status());
    Attributes attrs = n.attrs;
    if (statesResultType(n)) attrs.set(attr::dtype, n.results[0].dtype);
    auto results = n.kind == Node::Kind::Primitive ? r_.to().addPrimitive(n.op, inputs, attrs, n.scope)
                                                   : r_.to().addOperator(n.op, inputs, attrs, n.scope);
    if (!results.ok()) return addContext(results.status(), n.op.text());
    for (size_t k = 0; k < results->size(); ++k) (*results)[k] = e.cast((*results)[k], n.results[k].dtype);
    TG_RETURN_IF_ERROR(e.status());
    r_.replace(i, *std::move(results));
    return OkStatus();
  }

  bool statesResultType(const Node& n) const {
    static const Symbol kContract = "contract";
    if (n.kind == Node::Kind::Primitive) return n.op == kContract;
    for (const OperatorInfo::Attribute& a : r_.from().library().find(n.op)->attributes)
      if (a.name == attr::dtype) return true;
    return false;
  }

  Rewrite r_;
  DType compute_;
  absl::flat_hash_map<std::string, std::vector<bool>> known_;
};

} // namespace

StatusOr<Graph> applyPrecision(const Graph& g, const PrecisionPolicy& policy) {
  if (policy.compute == DType::F32 || policy.compute == DType::F64) return g;
  return PrecisionPass(g, policy.compute).run();
}

} // namespace tegula
