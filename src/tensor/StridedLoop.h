// Visiting the elements of a strided array in row-major order of its shape, one inner line at a time.
#pragma once

#include "tensor/Shape.h"

namespace tegula {

/// Calls line(offsetA, offsetB, count, strideA, strideB) for every line along the last axis of two arrays of one shape;
/// offsets and strides are in elements. A rank-0 array is one line of one element.
template <typename Line>
void forEachLinePair(const Shape& shape, const Shape& stridesA, const Shape& stridesB, Line&& line) {
  if (shape.elements() == 0) return;
  int last = shape.rank() - 1;
  if (last < 0) return line(int64_t{0}, int64_t{0}, int64_t{1}, int64_t{1}, int64_t{1});
  int64_t offsetA = 0, offsetB = 0;
  std::array<int64_t, kMaxRank> index{};
  while (true) {
    line(offsetA, offsetB, shape[last], stridesA[last], stridesB[last]);
    int axis = last - 1;
    for (; axis >= 0; --axis) {
      offsetA += stridesA[axis];
      offsetB += stridesB[axis];
      if (++index[axis] < shape[axis]) break;
      offsetA -= stridesA[axis] * shape[axis];
      offsetB -= stridesB[axis] * shape[axis];
      index[axis] = 0;
    }
    if (axis < 0) return;
  }
}

/// Calls line(first, offset, count, stride): `first` is the row-major position of the line's first element, `offset`
/// where that lies.
template <typename Line> void forEachLine(const Shape& shape, const Shape& strides, Line&& line) {
  forEachLinePair(shape, rowMajorStrides(shape), strides,
                  [&](int64_t first, int64_t offset, int64_t count, int64_t, int64_t stride) {
                    line(first, offset, count, stride);
                  });
}

} // namespace tegula
