// Appending to a graph and checking its invariants.
#include "graph/Graph.h"

namespace tegula {

namespace {

std::string describe(const Graph& g, int32_t i) {
  const Node& n = g.node(i);
  return n.scope.empty() ? fmt::format("node {} ({})", i, n.op.text())
                         : fmt::format("node {} ({} in {})", i, n.op.text(), n.scope.text());
}

Status checkInputs(const Graph& g, std::span<const Value> inputs, int32_t limit, bool absentAllowed) {
  for (Value v : inputs) {
    if (!v.present()) {
      if (!absentAllowed) return internal("an input is absent, but only operators have optional inputs");
      continue;
    }
    if (v.node >= limit) return internal("input %{} is not defined before node {}", v.node, limit);
    if (v.result < 0 || v.result >= static_cast<int32_t>(g.node(v.node).results.size()))
      return internal("input %{} has no result {}: it has {}", v.node, v.result, g.node(v.node).results.size());
  }
  return OkStatus();
}

StatusOr<TensorTypes> inferPrimitive(const Graph& g, Symbol op, std::span<const Value> inputs,
                                     const Attributes& attrs) {
  const Primitive* p = findPrimitive(op);
  if (!p) return invalid("there is no primitive `{}`", op.text());
  bool enough = p->inputs < 0 ? !inputs.empty() : inputs.size() == static_cast<size_t>(p->inputs);
  if (!enough)
    return invalid("{}: takes {} inputs but was given {}", op.text(), p->inputs < 0 ? 1 : p->inputs, inputs.size());
  absl::InlinedVector<TensorType, 4> types;
  for (Value v : inputs) types.push_back(g.typeOf(v));
  return p->infer(std::span<const TensorType>(types.data(), types.size()), attrs);
}

StatusOr<TensorTypes> inferOperator(const Graph& g, Symbol op, std::span<const Value> inputs, const Attributes& attrs) {
  absl::InlinedVector<const TensorType*, 8> types;
  for (Value v : inputs) types.push_back(v.present() ? &g.typeOf(v) : nullptr);
  return g.library().infer(op, std::span<const TensorType* const>(types.data(), types.size()), attrs);
}

Values resultsOf(int32_t node, size_t count) {
  Values values;
  for (size_t r = 0; r < count; ++r) values.push_back({node, static_cast<int32_t>(r)});
  return values;
}

} // namespace

Value Graph::addInput(Symbol name, TensorType type, InputKind kind) {
  Node n;
  n.kind = Node::Kind::Input;
  n.op = name;
  n.results.push_back(type);
  int32_t id = append(std::move(n));
  inputs_.push_back({id, kind});
  return {id, 0};
}

StatusOr<Values> Graph::addPrimitive(Symbol op, std::span<const Value> inputs, const Attributes& attrs, Symbol scope) {
  TG_RETURN_IF_ERROR(checkInputs(*this, inputs, static_cast<int32_t>(nodes_.size()), false));
  TG_ASSIGN_OR_RETURN(TensorTypes results, inferPrimitive(*this, op, inputs, attrs));
  size_t count = results.size();
  int32_t id =
      append({Node::Kind::Primitive, op, Values(inputs.begin(), inputs.end()), attrs, std::move(results), scope});
  return resultsOf(id, count);
}

StatusOr<Values> Graph::addOperator(Symbol op, std::span<const Value> inputs, const Attributes& attrs, Symbol scope) {
  TG_RETURN_IF_ERROR(checkInputs(*this, inputs, static_cast<int32_t>(nodes_.size()), true));
  TG_ASSIGN_OR_RETURN(Attributes complete, library_->completeAttributes(op, attrs));
  TG_ASSIGN_OR_RETURN(TensorTypes results, inferOperator(*this, op, inputs, complete));
  size_t count = results.size();
  int32_t id = append(
      {Node::Kind::Operator, op, Values(inputs.begin(), inputs.end()), std::move(complete), std::move(results), scope});
  return resultsOf(id, count);
}

StatusOr<Values> Graph::addGradient(Value loss, std::span<const Value> wrt) {
  static const Symbol kGradient = "gradient";
  Node n;
  n.kind = Node::Kind::Gradient;
  n.op = kGradient;
  n.inputs.push_back(loss);
  for (Value v : wrt) n.inputs.push_back(v);
  TG_RETURN_IF_ERROR(checkInputs(*this, n.inputs, static_cast<int32_t>(nodes_.size()), false));
  const TensorType& lossType = typeOf(loss);
  if (!isFloat(lossType.dtype) || lossType.shape.elements() != 1)
    return invalid("gradient: the loss is {}, but only one float number can be differentiated; reduce it first",
                   toString(lossType));
  for (size_t i = 0; i < wrt.size(); ++i) {
    const TensorType& t = typeOf(wrt[i]);
    if (!isFloat(t.dtype)) return invalid("gradient: value {} is {}, but only floats have gradients", i, toString(t));
    n.results.push_back(t);
  }
  return resultsOf(append(std::move(n)), wrt.size());
}

int32_t Graph::append(Node n) {
  nodes_.push_back(std::move(n));
  return static_cast<int32_t>(nodes_.size()) - 1;
}

Status Graph::verify() const {
  for (int32_t i = 0; i < static_cast<int32_t>(nodes_.size()); ++i) {
    const Node& n = nodes_[i];
    bool absentAllowed = n.kind == Node::Kind::Operator;
    if (Status s = checkInputs(*this, n.inputs, i, absentAllowed); !s.ok()) return addContext(s, describe(*this, i));
    if (n.kind == Node::Kind::Input || n.kind == Node::Kind::Gradient) continue;
    auto inferred = n.kind == Node::Kind::Primitive ? inferPrimitive(*this, n.op, n.inputs, n.attrs)
                                                    : inferOperator(*this, n.op, n.inputs, n.attrs);
    if (!inferred.ok()) return addContext(inferred.status(), describe(*this, i));
    if (inferred->size() != n.results.size())
      return internal("{}: has {} results but its rule gives {}", describe(*this, i), n.results.size(),
                      inferred->size());
    for (size_t r = 0; r < n.results.size(); ++r)
      if (n.results[r] != (*inferred)[r])
        return internal("{}: result {} is {} but its rule gives {}", describe(*this, i), r, toString(n.results[r]),
                        toString((*inferred)[r]));
  }
  for (const Input& in : inputs_)
    if (in.node < 0 || in.node >= static_cast<int32_t>(nodes_.size()) || nodes_[in.node].kind != Node::Kind::Input)
      return internal("graph input %{} is not an input node", in.node);
  int32_t limit = static_cast<int32_t>(nodes_.size());
  TG_RETURN_IF_ERROR(addContext(checkInputs(*this, outputs_, limit, false), "graph outputs"));
  for (const Assign& a : assigns_) {
    TG_RETURN_IF_ERROR(addContext(checkInputs(*this, std::span(&a.value, 1), limit, false), "graph assigns"));
    if (a.input < 0 || a.input >= static_cast<int32_t>(inputs_.size()) || inputs_[a.input].kind != InputKind::State)
      return internal("assign to input {}, which is not a state", a.input);
    const TensorType& state = nodes_[inputs_[a.input].node].results[0];
    if (typeOf(a.value) != state)
      return invalid("assign: state {} is {} but the value is {}", nodes_[inputs_[a.input].node].op.text(),
                     toString(state), toString(typeOf(a.value)));
  }
  return OkStatus();
}

} // namespace tegula
