// The rules of `simplify`, one file per family. Every rule holds for all values, NaN, infinities and signed zeros
// included (x + 0 is not x for x = -0; x * 0 is not 0), and looks at structure rather than at extents that happen to
// be 1.
#pragma once

#include "absl/container/flat_hash_map.h"
#include "graph/Emit.h"

namespace tegula {

/// Writes simplified primitives into a graph: make() tries the rules of the operation before it appends a node.
class Simplifier {
public:
  explicit Simplifier(Graph& g) : graph_(g) {}

  /// The first result. Requires: types fit. Errors are sticky, as in Emit.
  Value make(Symbol op, std::span<const Value> inputs, const Attributes&);
  Value make(Symbol op, std::initializer_list<Value> inputs, const Attributes& a = {}) {
    return make(op, std::span<const Value>(inputs.begin(), inputs.size()), a);
  }
  /// What a rule finds, or absent: for nodes with several results or none.
  Value trySimplify(Symbol op, std::span<const Value> inputs, const Attributes&);

  const Status& status() const { return status_; }
  void setScope(Symbol s) { scope_ = s; }
  const TensorType& typeOf(Value v) const { return graph_.typeOf(v); }
  const Shape& shapeOf(Value v) const { return graph_.typeOf(v).shape; }

  /// The node that computes `v` if it is the primitive `op`.
  const Node* producer(Value v, Symbol op) const;
  bool isInput(Value v) const { return graph_.node(v.node).kind == Node::Kind::Input; }
  /// The number in every element of `v`, seen through broadcasts.
  const AttrValue* constantOf(Value v) const;
  bool isConstant(Value v, double number) const; // same bits
  Value constantLike(double number, Value like);

private:
  Graph& graph_;
  Symbol scope_;
  Status status_;
};

/// One try at `op(inputs)`; absent if it does not apply. New nodes are written with make().
using SimplifyRule = Value (*)(Simplifier&, Symbol op, std::span<const Value>, const Attributes&);
struct NamedRule {
  Symbol op;
  SimplifyRule rule;
};
std::span<const NamedRule> arithmeticSimplifications();
std::span<const NamedRule> castSimplifications();
std::span<const NamedRule> viewSimplifications();
/// Elementwise functions of values repeated alike are computed once and repeated; of constants, at once.
Value hoistAboveBroadcast(Simplifier&, Symbol op, std::span<const Value>, const Attributes&);
Value foldConstants(Simplifier&, Symbol op, std::span<const Value>, const Attributes&);

} // namespace tegula
