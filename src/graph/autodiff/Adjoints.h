// Gradients on their way back: contributions to each value, summed when the walk reaches the value.
#pragma once

#include "absl/container/flat_hash_map.h"
#include "graph/Emit.h"
#include <optional>

namespace tegula {

class Adjoints {
public:
  void add(Value of, Value gradient);
  /// A contribution to elements [start, start + size) of one axis only: the gradient of a slice. Disjoint pieces become
  /// one concatenation instead of padded sums.
  void addPiece(Value of, Value gradient, int axis, int64_t start);
  bool has(Value of) const { return contributions_.contains(of); }
  /// The sum of what was added, in that order; absent if nothing was. Forgets it.
  Value take(Value of, Emit&);

private:
  struct Contribution {
    Value gradient;
    int axis = -1; // -1: the whole value
    int64_t start = 0;
  };
  static Value joined(const Shape& shape, std::vector<Contribution> pieces, Emit&);
  absl::flat_hash_map<Value, std::vector<Contribution>> contributions_;
};

} // namespace tegula
