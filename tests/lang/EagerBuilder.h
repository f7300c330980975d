// A Builder that evaluates as it is called: every primitive at once on host arrays, with f64 in place of every float,
// calls by instantiating their bodies. What the operator library means, without graph or compiler.
#pragma once

#include "lang/OperatorLibrary.h"

namespace tegula {

class EagerBuilder : public Builder {
public:
  explicit EagerBuilder(const OperatorLibrary& library) : library_(library) {}

  /// The array's floats become f64; `stated` is the type that rules see.
  Value input(const HostArray& array, DType stated) {
    return add(isFloat(stated) ? array.cast(DType::F64) : array.clone(), {stated, array.shape()});
  }
  const HostArray& array(Value v) const { return nodes_[v.node].arrays[v.result]; }
  TensorType typeOf(Value v) const override { return nodes_[v.node].types[v.result]; }

  StatusOr<Values> primitive(Symbol name, std::span<const Value> inputs, const Attributes& attributes) override {
    const Primitive* p = findPrimitive(name);
    if (!p) return notFound("no primitive {}", name.text());
    std::vector<TensorType> types;
    std::vector<HostArray> arrays;
    for (Value v : inputs) {
      types.push_back(typeOf(v));
      arrays.push_back(array(v));
    }
    Node node;
    TG_ASSIGN_OR_RETURN(node.types, p->infer(types, attributes));
    for (const TensorType& t : node.types)
      node.arrays.push_back(HostArray({isFloat(t.dtype) ? DType::F64 : t.dtype, t.shape}));
    TG_RETURN_IF_ERROR(p->evaluate(arrays, attributes, node.arrays));
    ++primitives;
    nodes_.push_back(std::move(node));
    Values out;
    for (size_t i = 0; i < nodes_.back().types.size(); ++i)
      out.push_back({static_cast<int32_t>(nodes_.size() - 1), static_cast<int32_t>(i)});
    return out;
  }

  StatusOr<Values> call(Symbol op, std::span<const Value> inputs, const Attributes& attributes) override {
    return library_.instantiate(op, inputs, attributes, *this);
  }

  int primitives = 0; // evaluated so far

private:
  struct Node {
    TensorTypes types;
    std::vector<HostArray> arrays;
  };
  Value add(HostArray a, TensorType t) {
    nodes_.push_back({{t}, {std::move(a)}});
    return {static_cast<int32_t>(nodes_.size() - 1), 0};
  }
  const OperatorLibrary& library_;
  std::vector<Node> nodes_;
};

} // namespace tegula
