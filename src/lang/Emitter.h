// Emits primitives into a Builder: NumPy's broadcasting, constants, matrix products, indexing. What the built-in
// functions and operators of bodies are made of.
#pragma once

#include "lang/Builder.h"
#include "lang/Operand.h"

namespace tegula::lang {

/// Fails: an integer that an element of the type cannot be. Any integer fits a type of floats.
Status fitsType(int64_t, DType);
/// A number or bool as an element of a type. Fails: as `fitsType`; a fraction for integers; a bool for numbers and the
/// other way about.
StatusOr<AttrValue> elementOf(const Operand& number, DType);

class Emitter {
public:
  explicit Emitter(Builder& builder) : builder_(builder) {}

  Builder& builder() { return builder_; }
  TensorType type(Value v) const { return builder_.typeOf(v); }
  const Shape shape(Value v) const { return builder_.typeOf(v).shape; }
  int rank(Value v) const { return builder_.typeOf(v).shape.rank(); }

  /// A primitive. Fails: what its types and shapes refuse, `element-type` where other element types would do.
  StatusOr<Values> applyAll(Symbol primitive, std::span<const Value> inputs, const Attributes& = {});
  /// A primitive with one result.
  StatusOr<Value> apply(Symbol primitive, std::initializer_list<Value> inputs, const Attributes& = {});
  StatusOr<Value> apply(Symbol primitive, std::span<const Value> inputs, const Attributes& = {});

  /// The number (or bool) in every element of `shape`. Fails: a fraction, or an integer outside the range, for an
  /// integer type.
  StatusOr<Value> fill(const Operand& number, DType, const Shape& shape);
  /// No node when the type is already `d`.
  StatusOr<Value> cast(Value, DType d);
  /// f32 for narrower floats, else the value itself: the type that sums, norms and losses are computed in.
  StatusOr<Value> wide(Value);
  /// No node when the shape is already `shape`.
  StatusOr<Value> broadcastTo(Value, const Shape& shape);
  /// Both operands as tensors of one type and shape; a number takes the type of the other. Requires: one is a tensor.
  StatusOr<std::pair<Value, Value>> unify(const Operand& a, const Operand& b);
  StatusOr<Value> binary(Symbol primitive, const Operand& a, const Operand& b);

  StatusOr<Value> matmul(Value a, Value b);
  /// Folds `axes`; a node even when there are none left to fold, so that types follow one rule.
  StatusOr<Value> reduce(Symbol primitive, Value, const Shape& axes, bool keepdim);
  /// No node for the identity.
  StatusOr<Value> transpose(Value, const Shape& permutation);
  StatusOr<Value> swapLast(Value);
  /// One extent may be -1. No node when the shape does not change.
  StatusOr<Value> reshape(Value, Shape shape);
  StatusOr<Value> slice(Value, const Shape& starts, const Shape& sizes, const Shape& steps);

  /// `axis` counted from the end when negative. Fails outside the rank.
  static StatusOr<int64_t> normalizeAxis(int64_t axis, int rank);

private:
  Builder& builder_;
};

} // namespace tegula::lang
