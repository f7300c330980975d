// Emit: writes primitives into a graph as expressions. Errors are sticky: after the first one every call gives an
// absent value, and status() tells it. For gradient rules and passes, where the types are known to fit.
//
//   Emit e(graph, scope);
//   Value d = e.mul(dy, e.sub(e.constantLike(1.0, y), e.mul(y, y)));
//   TG_RETURN_IF_ERROR(e.status());
#pragma once

#include "graph/Graph.h"

namespace tegula {

class Emit {
public:
  explicit Emit(Graph& g, Symbol scope = {}) : graph_(g), scope_(scope) {}

  const Status& status() const { return status_; }
  // Copies: the graph grows with every value that is emitted.
  TensorType typeOf(Value v) const { return graph_.typeOf(v); }
  Shape shapeOf(Value v) const { return graph_.typeOf(v).shape; }
  DType dtypeOf(Value v) const { return graph_.typeOf(v).dtype; }
  Graph& graph() { return graph_; }
  Symbol scope() const { return scope_; }

  /// Any primitive; the first result.
  Value primitive(Symbol name, std::initializer_list<Value> inputs, const Attributes& = {});
  Value primitive(Symbol name, std::span<const Value> inputs, const Attributes& = {});

  Value neg(Value x);
  Value add(Value a, Value b);
  Value sub(Value a, Value b);
  Value mul(Value a, Value b);
  Value div(Value a, Value b);
  Value equal(Value a, Value b);
  Value less(Value a, Value b);
  Value logicalAnd(Value a, Value b);
  Value select(Value condition, Value a, Value b);
  Value cast(Value x, DType); // x itself if it has the type
  /// Rank 0.
  Value constant(double value, DType);
  /// Broadcast to the type of `like`.
  Value constantLike(double value, Value like);
  Value zeros(TensorType);

  Value broadcast(Value x, const Shape& shape, const Shape& axes);
  Value reduceSum(Value x, const Shape& axes, bool keepdim = false);
  Value reshape(Value x, const Shape& shape); // x itself if it has the shape
  Value transpose(Value x, const Shape& permutation);
  Value slice(Value x, const Shape& starts, const Shape& sizes, const Shape& steps);
  Value pad(Value x, const Shape& low, const Shape& high, const Shape& interior, double value);
  Value contract(Value a, Value b, const Shape& batchA, const Shape& batchB, const Shape& contractA,
                 const Shape& contractB, DType result);
  /// x in reverse order along the axes for which `axes` holds.
  Value reverse(Value x, const Shape& axes);

private:
  Graph& graph_;
  Symbol scope_;
  Status status_;
};

/// `n` numbers `value`.
Shape filledShape(int n, int64_t value);
/// 0, 1, …, n-1.
Shape countingShape(int n);
bool containsAxis(const Shape& axes, int axis);

} // namespace tegula
