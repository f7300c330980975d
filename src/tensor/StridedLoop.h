// Visiting the elements of a strided array in row-major order of its shape, one inner line at a time.
#pragma once

#include "tensor/Shape.h"

namespace tegula {

/// Calls line(first, offset, count, stride) for every line along the last axis: `first` is the row-major position of
/// its first element, `offset` where that lies (in elements). A rank-0 array is one line of one element.
template <typename Line> void forEachLine(const Shape& shape, const Shape& strides, Line&& line) {
  if (shape.elements() == 0) return;
  int outer = shape.rank() - 1;
  if (outer < 0) return line(int64_t{0}, int64_t{0}, int64_t{1}, int64_t{1});
  int64_t count = shape[outer], stride = strides[outer], offset = 0, first = 0;
  std::array<int64_t, kMaxRank> index{};
  while (true) {
    line(first, offset, count, stride);
    first += count;
    int axis = outer - 1;
    for (; axis >= 0; --axis) {
      offset += strides[axis];
      if (++index[axis] < shape[axis]) break;
      offset -= strides[axis] * shape[axis];
      index[axis] = 0;
    }
    if (axis < 0) return;
  }
}

} // namespace tegula
