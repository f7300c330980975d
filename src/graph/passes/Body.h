// What a library operator is made of: its body in primitives, with every nested operator inlined.
#pragma once

#include "graph/Graph.h"

namespace tegula {

/// The body of `node` (an operator of `g`) as a graph with one input per present input of the node, outputs its
/// results.
StatusOr<Graph> bodyOf(const Graph& g, const Node& node);

/// Which inputs of an operator are multiplied in a matrix product or convolution in its body, seen through casts, views
/// and broadcasts: the ones that a mixed-precision policy narrows.
std::vector<bool> productOperands(const Graph& body);

/// Multiply-adds times two of all matrix products and convolutions of a body (or any graph of primitives).
double productFlops(const Graph& body);

/// Inlines everything.
class FlatteningBuilder final : public Builder {
public:
  FlatteningBuilder(Graph& g, Symbol scope) : graph_(g), scope_(scope) {}
  TensorType typeOf(Value v) const override { return graph_.typeOf(v); }
  StatusOr<Values> primitive(Symbol name, std::span<const Value> in, const Attributes& a) override {
    return graph_.addPrimitive(name, in, a, scope_);
  }
  StatusOr<Values> call(Symbol op, std::span<const Value> in, const Attributes& a) override {
    TG_ASSIGN_OR_RETURN(Attributes complete, graph_.library().completeAttributes(op, a));
    return graph_.library().instantiate(op, in, complete, *this);
  }

private:
  Graph& graph_;
  Symbol scope_;
};

} // namespace tegula
