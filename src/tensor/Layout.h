// How a tensor's elements lie in memory. Part of a value's type in a plan from the first day: strided, or blocked.
#pragma once

#include "tensor/Shape.h"

namespace tegula {

/// Element (i0, i1, …) of a strided tensor is at base + sum(i_k * strides[k]) elements; strides may be 0 or negative.
///
/// A blocked layout packs the last two axes [R, C] of a row-major tensor into panels for a matrix kernel:
///   panelAxis 1: [C/panel][R/pair][panel][pair]   (right operand of a GEMM: panels of NR columns, K in pairs)
///   panelAxis 0: [R/panel][C/pair][panel][pair]   (left operand: panels of MR rows)
/// Ragged edges are padded with zeros up to whole panels and pairs; earlier axes stay row-major outside.
struct Layout {
  enum class Kind : uint8_t { Strided, Blocked };
  Kind kind = Kind::Strided;
  Shape strides; // Strided: one per axis, in elements
  int8_t panelAxis = 1;
  int32_t panel = 1, pair = 1;

  static Layout rowMajor(const Shape& shape) { return {Kind::Strided, rowMajorStrides(shape)}; }
  static Layout strided(const Shape& strides) { return {Kind::Strided, strides}; }
  static Layout blocked(int panelAxis, int panel, int pair) {
    return {Kind::Blocked, {}, static_cast<int8_t>(panelAxis), panel, pair};
  }
  friend bool operator==(const Layout&, const Layout&) = default;
};

bool isRowMajor(const Layout&, const Shape&);
/// Bytes from the first to one past the last element touched, padding of blocked layouts included.
int64_t footprintBytes(const Layout&, const TensorType&);
std::string toString(const Layout&); // "strides[12,4,1]" or "blocked[axis 1, 32x2]"

} // namespace tegula
