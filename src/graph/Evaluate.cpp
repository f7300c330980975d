// The walk: nodes in order, each primitive evaluated on host arrays, each library operator by running its body with a
// Builder that evaluates instead of recording.
#include "graph/Evaluate.h"
#include "graph/passes/Passes.h"

namespace tegula {

namespace {

/// Types are the stated ones whatever the precision: they decide what a body means. Arrays hold f64 in place of every
/// float type when the precision is wide.
class EvaluatingBuilder final : public Builder {
public:
  /// Null: a graph of primitives only.
  EvaluatingBuilder(const OperatorLibrary* library, Precision precision) : library_(library), precision_(precision) {}

  TensorType typeOf(Value v) const override { return entries_[v.node].types[v.result]; }

  StatusOr<Values> primitive(Symbol name, std::span<const Value> in, const Attributes& attrs) override {
    const Primitive* p = findPrimitive(name);
    if (!p) return invalid("there is no primitive `{}`", name.text());
    if (!p->evaluate)
      return unsupported("{}: this build is without the reference evaluator (TEGULA_REFERENCE=0)", name.text());
    std::vector<TensorType> types;
    std::vector<HostArray> arrays, outputs;
    for (Value v : in) {
      types.push_back(typeOf(v));
      arrays.push_back(entries_[v.node].arrays[v.result]);
    }
    TG_ASSIGN_OR_RETURN(TensorTypes results, p->infer(types, attrs));
    for (const TensorType& t : results) outputs.emplace_back(TensorType{storedType(t.dtype), t.shape});
    TG_RETURN_IF_ERROR(addContext(p->evaluate(arrays, attrs, outputs), name.text()));
    return add(std::move(results), std::move(outputs));
  }

  StatusOr<Values> call(Symbol op, std::span<const Value> in, const Attributes& attrs) override {
    TG_ASSIGN_OR_RETURN(Attributes complete, library_->completeAttributes(op, attrs));
    auto results = library_->instantiate(op, in, complete, *this);
    if (!results.ok()) return addContext(results.status(), op.text());
    return results;
  }

  Values add(TensorTypes types, std::vector<HostArray> arrays) {
    Values values;
    for (size_t r = 0; r < types.size(); ++r)
      values.push_back({static_cast<int32_t>(entries_.size()), static_cast<int32_t>(r)});
    entries_.push_back({std::move(types), std::move(arrays)});
    return values;
  }
  StatusOr<Value> addInput(const TensorType& type, const HostArray& array, std::string_view name) {
    if (array.shape() != type.shape)
      return invalid("input `{}` is {} but was given {}", name, toString(type), toString(array.type()));
    DType stored = storedType(type.dtype);
    return add({type}, {array.dtype() == stored ? array : array.cast(stored)})[0];
  }
  const HostArray& arrayOf(Value v) const { return entries_[v.node].arrays[v.result]; }

private:
  struct Entry {
    TensorTypes types;
    std::vector<HostArray> arrays;
  };
  DType storedType(DType d) const { return precision_ == Precision::Wide && isFloat(d) ? DType::F64 : d; }

  const OperatorLibrary* library_;
  Precision precision_;
  std::vector<Entry> entries_;
};

bool hasGradients(const Graph& g) {
  for (const Node& n : g.nodes())
    if (n.kind == Node::Kind::Gradient) return true;
  return false;
}

} // namespace

StatusOr<EvaluationResult> evaluate(const Graph& recorded, std::span<const HostArray> inputs, Precision precision) {
  if (hasGradients(recorded)) {
    TG_ASSIGN_OR_RETURN(Graph expanded, differentiate(recorded));
    return evaluate(expanded, inputs, precision);
  }
  const Graph& g = recorded;
  if (inputs.size() != g.inputs().size())
    return invalid("evaluate: the graph has {} inputs but was given {} arrays", g.inputs().size(), inputs.size());
  EvaluatingBuilder walk(g.libraryPtr().get(), precision);
  std::vector<Values> values(g.nodes().size());
  size_t nextInput = 0;
  for (size_t i = 0; i < g.nodes().size(); ++i) {
    const Node& n = g.nodes()[i];
    if (n.kind == Node::Kind::Input) {
      TG_ASSIGN_OR_RETURN(Value v, walk.addInput(n.results[0], inputs[nextInput++], n.op.text()));
      values[i] = {v};
      continue;
    }
    Values in;
    for (Value v : n.inputs) in.push_back(v.present() ? values[v.node][v.result] : Value{});
    auto results = n.kind == Node::Kind::Primitive ? walk.primitive(n.op, in, n.attrs) : walk.call(n.op, in, n.attrs);
    if (!results.ok()) return addContext(results.status(), n.scope.empty() ? "evaluate" : n.scope.text());
    values[i] = *std::move(results);
  }
  EvaluationResult result;
  for (Value v : g.outputs()) result.outputs.push_back(walk.arrayOf(values[v.node][v.result]));
  for (const Graph::Assign& a : g.assigns())
    result.assigned.push_back(walk.arrayOf(values[a.value.node][a.value.result]));
  return result;
}

} // namespace tegula
