// Footprints and printing of layouts.
#include "tensor/Layout.h"

#include <algorithm>
#include <fmt/format.h>

namespace tegula {
namespace {

int64_t roundUp(int64_t n, int64_t multiple) { return (n + multiple - 1) / multiple * multiple; }

int64_t stridedFootprint(const Shape& strides, const TensorType& t) {
  assert(strides.rank() == t.shape.rank() && "one stride per axis");
  if (t.shape.elements() == 0) return 0;
  int64_t low = 0, high = 0;
  for (int i = 0; i < strides.rank(); ++i) {
    int64_t reach = (t.shape[i] - 1) * strides[i];
    (reach < 0 ? low : high) += reach;
  }
  return (high - low + 1) * sizeBytes(t.dtype);
}

int64_t blockedFootprint(const Layout& l, const TensorType& t) {
  int rank = t.shape.rank();
  assert(rank >= 2 && "a blocked layout needs two axes");
  int64_t outer = 1;
  for (int i = 0; i < rank - 2; ++i) outer *= t.shape[i];
  int64_t rows = t.shape[rank - 2], columns = t.shape[rank - 1];
  rows = roundUp(rows, l.panelAxis == 0 ? l.panel : l.pair);
  columns = roundUp(columns, l.panelAxis == 1 ? l.panel : l.pair);
  return outer * rows * columns * sizeBytes(t.dtype);
}

} // namespace

bool isRowMajor(const Layout& l, const Shape& shape) {
  if (l.kind != Layout::Kind::Strided || l.strides.rank() != shape.rank()) return false;
  Shape expected = rowMajorStrides(shape);
  for (int i = 0; i < shape.rank(); ++i)
    if (shape[i] > 1 && l.strides[i] != expected[i]) return shape.elements() == 0;
  return true;
}

int64_t footprintBytes(const Layout& l, const TensorType& t) {
  return l.kind == Layout::Kind::Strided ? stridedFootprint(l.strides, t) : blockedFootprint(l, t);
}

std::string toString(const Layout& l) {
  if (l.kind == Layout::Kind::Strided) return "strides" + toString(l.strides);
  return fmt::format("blocked[axis {}, {}x{}]", l.panelAxis, l.panel, l.pair);
}

} // namespace tegula
