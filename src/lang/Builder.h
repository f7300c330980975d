// The receiver of an instantiated operator: a graph, an evaluator, a type checker. `lang` knows only this interface.
#pragma once

#include "absl/container/inlined_vector.h"
#include "base/Status.h"
#include "primitives/Attributes.h"
#include <span>

namespace tegula {

/// A value of whoever implements Builder: result `result` of node `node`. node < 0 is an absent optional input.
struct Value {
  int32_t node = -1;
  int32_t result = 0;
  bool present() const { return node >= 0; }
  friend bool operator==(Value, Value) = default;
  template <typename H> friend H AbslHashValue(H h, Value v) { return H::combine(std::move(h), v.node, v.result); }
};
using Values = absl::InlinedVector<Value, 4>;

class Builder {
public:
  virtual ~Builder() = default;
  virtual TensorType typeOf(Value) const = 0;
  /// Applies a primitive. Fails as its type rule does.
  virtual StatusOr<Values> primitive(Symbol name, std::span<const Value> inputs, const Attributes&) = 0;
  /// Applies another library operator (attributes already complete).
  virtual StatusOr<Values> call(Symbol op, std::span<const Value> inputs, const Attributes&) = 0;
};

} // namespace tegula
