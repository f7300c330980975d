// Views as strides: which elements of a storage a chain of slices, transposes, reshapes and broadcasts reads.
#pragma once

#include "graph/Graph.h"
#include <optional>

namespace tegula {

/// Element (i0, i1, …) is at offset + sum(i_k * strides[k]) elements of the storage.
struct StridedView {
  Shape shape, strides;
  int64_t offset = 0;

  static StridedView rowMajor(const Shape& s) { return {s, rowMajorStrides(s), 0}; }
  bool isRowMajor() const { return strides == rowMajorStrides(shape); }
  friend bool operator==(const StridedView&, const StridedView&) = default;
};

/// slice, transpose, reshape or broadcast: what layout can turn into strides.
bool isView(const Node&);

/// The view of `view` (of n's operand) that n is; nothing if strides cannot say it (a reshape that merges axes which do
/// not follow one another).
std::optional<StridedView> applyView(const Node& n, const StridedView& view);
/// The same elements in another shape, if strides can say it.
std::optional<StridedView> reshapeView(const StridedView&, const Shape&);
/// For a transpose or reshape n: how its operand lies if its result lies as `result`. Nothing for other nodes, or if
/// strides cannot say it.
std::optional<StridedView> pullBack(const Node& n, const Shape& operandShape, const StridedView& result);

} // namespace tegula
