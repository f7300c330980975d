// The walk over a graph with values and bounds side by side.
#include "verify/ErrorBound.h"

#include "graph/passes/Passes.h"
#include "verify/ErrorRules.h"
#include <algorithm>
#include <cmath>
#include <map>

namespace tegula {
namespace {

class BoundingBuilder final : public Builder {
public:
  explicit BoundingBuilder(const OperatorLibrary* library) : library_(library) {} // null: primitives only

  TensorType typeOf(Value v) const override {
    const BoundedArray& a = arrayOf(v);
    return {a.stated, a.value.shape()};
  }

  StatusOr<Values> primitive(Symbol name, std::span<const Value> in, const Attributes& attributes) override {
    const Primitive* p = findPrimitive(name);
    if (!p) return invalid("there is no primitive {}", name.text());
    if (!p->evaluate) return unsupported("{}: this build is without the reference evaluator", name.text());
    std::vector<TensorType> types;
    std::vector<BoundedArray> inputs;
    std::vector<HostArray> arrays, outputs;
    for (Value v : in) {
      types.push_back(typeOf(v));
      inputs.push_back(arrayOf(v));
      arrays.push_back(arrayOf(v).value);
    }
    TG_ASSIGN_OR_RETURN(TensorTypes results, p->infer(types, attributes));
    for (const TensorType& t : results)
      outputs.emplace_back(TensorType{isFloat(t.dtype) ? DType::F64 : t.dtype, t.shape});
    TG_RETURN_IF_ERROR(p->evaluate(arrays, attributes, outputs));
    ErrorRuleCall call{*p, attributes, inputs, results, outputs, {}};
    TG_RETURN_IF_ERROR(applyErrorRule(call));
    if (name == Symbol("equal")) TG_RETURN_IF_ERROR(decideSelection(in, call));
    std::vector<BoundedArray> bounded;
    for (size_t r = 0; r < outputs.size(); ++r) {
      bool decided = std::ranges::all_of(call.bounds[r], [](double e) { return e < kUndecided; });
      bounded.push_back(
          {outputs[r], std::move(call.bounds[r]), results[r].dtype, decided ? Symbol() : causeOf(inputs, name)});
    }
    Values values = add(std::move(bounded));
    noteSelection(*p, in, attributes, values);
    return values;
  }

  StatusOr<Values> call(Symbol op, std::span<const Value> in, const Attributes& attributes) override {
    TG_ASSIGN_OR_RETURN(Attributes complete, library_->completeAttributes(op, attributes));
    return library_->instantiate(op, in, complete, *this);
  }

  Values add(std::vector<BoundedArray> arrays) {
    Values values;
    for (size_t r = 0; r < arrays.size(); ++r)
      values.push_back({static_cast<int32_t>(entries_.size()), static_cast<int32_t>(r)});
    entries_.push_back(std::move(arrays));
    return values;
  }
  const BoundedArray& arrayOf(Value v) const { return entries_[v.node][v.result]; }

private:
  /// A value whose elements are elements of `source`: an extreme of it, repeated. `steps` lead there.
  struct Selection {
    Value source;
    std::vector<std::pair<const Primitive*, Attributes>> steps;
  };
  using Key = std::pair<int32_t, int32_t>;
  static Key keyOf(Value v) { return {v.node, v.result}; }

  static Symbol causeOf(std::span<const BoundedArray> inputs, Symbol name) {
    for (const BoundedArray& a : inputs)
      if (!a.undecidedBy.empty()) return a.undecidedBy;
    return name;
  }

  void noteSelection(const Primitive& p, std::span<const Value> in, const Attributes& attributes,
                     const Values& results) {
    if (p.name == Symbol("reduce_max") || p.name == Symbol("reduce_min"))
      selections_[keyOf(results[0])] = {in[0], {{&p, attributes}}};
    else if (auto known = in.empty() ? selections_.end() : selections_.find(keyOf(in[0]));
             known != selections_.end() && (p.kind == PrimitiveKind::Broadcast || p.name == Symbol("reshape"))) {
      Selection repeated = known->second;
      repeated.steps.emplace_back(&p, attributes);
      selections_[keyOf(results[0])] = std::move(repeated);
    }
  }

  /// equal(x, repeated extreme of x): uncertain only where several elements may be the extreme.
  Status decideSelection(std::span<const Value> in, ErrorRuleCall& call) const {
    for (int side : {0, 1}) {
      auto known = selections_.find(keyOf(in[static_cast<size_t>(1 - side)]));
      if (known == selections_.end() || keyOf(known->second.source) != keyOf(in[static_cast<size_t>(side)])) continue;
      const BoundedArray &x = call.inputs[0], &y = call.inputs[1];
      HostArray near = HostArray::zeros(DType::F64, x.value.shape());
      for (int64_t i = 0; i < near.elements(); ++i) {
        auto at = static_cast<size_t>(i);
        near.set(i, !(std::abs(x.value.get(i) - y.value.get(i)) > x.bound[at] + y.bound[at]));
      }
      TG_ASSIGN_OR_RETURN(HostArray candidates, replay(known->second, near));
      for (int64_t i = 0; i < near.elements(); ++i)
        if (near.get(i) != 0 && candidates.get(i) == 1) call.bounds[0][static_cast<size_t>(i)] = 0;
      return OkStatus();
    }
    return OkStatus();
  }

  /// The same steps with a sum in the place of the extreme.
  static StatusOr<HostArray> replay(const Selection& selection, HostArray values) {
    const Primitive* sum = findPrimitive(Symbol("reduce_sum"));
    for (const auto& [primitive, attributes] : selection.steps) {
      const Primitive* step = &primitive == &selection.steps.front().first ? sum : primitive;
      TensorType type = values.type();
      TG_ASSIGN_OR_RETURN(TensorTypes types, step->infer(std::span(&type, 1), attributes));
      std::vector<HostArray> in{std::move(values)}, out;
      out.emplace_back(types[0]);
      TG_RETURN_IF_ERROR(step->evaluate(in, attributes, out));
      values = std::move(out[0]);
    }
    return values;
  }

  const OperatorLibrary* library_;
  std::vector<std::vector<BoundedArray>> entries_;
  std::map<Key, Selection> selections_;
};

BoundedArray asInput(const HostArray& array, DType stated, std::span<const double> bound) {
  BoundedArray input{isFloat(array.dtype()) ? array.cast(DType::F64) : array.contiguous(), {}, stated};
  input.bound.assign(bound.begin(), bound.end());
  input.bound.resize(static_cast<size_t>(array.elements()), 0.0);
  return input;
}

} // namespace

StatusOr<std::vector<BoundedArray>> evaluateBounded(const Graph& recorded, std::span<const HostArray> inputs,
                                                    std::span<const std::vector<double>> inputBounds) {
  TG_ASSIGN_OR_RETURN(Graph g, differentiate(recorded));
  if (inputs.size() != g.inputs().size())
    return invalid("the graph has {} inputs but was given {} arrays", g.inputs().size(), inputs.size());
  BoundingBuilder walk(g.libraryPtr().get());
  std::vector<Values> values(g.nodes().size());
  size_t next = 0;
  for (size_t i = 0; i < g.nodes().size(); ++i) {
    const Node& n = g.nodes()[i];
    if (n.kind == Node::Kind::Input) {
      std::span<const double> bound;
      if (next < inputBounds.size()) bound = inputBounds[next];
      values[i] = walk.add({asInput(inputs[next++], n.results[0].dtype, bound)});
      continue;
    }
    Values in;
    for (Value v : n.inputs) in.push_back(v.present() ? values[v.node][v.result] : Value{});
    TG_ASSIGN_OR_RETURN(values[i], n.kind == Node::Kind::Primitive ? walk.primitive(n.op, in, n.attrs)
                                                                   : walk.call(n.op, in, n.attrs));
  }
  std::vector<BoundedArray> outputs;
  for (Value v : g.outputs()) outputs.push_back(walk.arrayOf(values[v.node][v.result]));
  return outputs;
}

} // namespace tegula
