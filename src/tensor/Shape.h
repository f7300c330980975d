// Shapes and tensor types: plain values without heap memory, because recording a node must not allocate.
#pragma once

#include "tensor/DType.h"
#include <array>
#include <cassert>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace tegula {

constexpr int kMaxRank = 8;

/// At most kMaxRank extents (or strides, or axes); each is 64 bits.
class Shape {
public:
  Shape() = default;
  Shape(std::initializer_list<int64_t> d) : Shape(std::span<const int64_t>(d.begin(), d.size())) {}
  explicit Shape(std::span<const int64_t> d) {
    for (int64_t x : d) push_back(x);
  }
  int rank() const { return rank_; }
  int64_t operator[](int i) const {
    assert(i >= 0 && i < rank_ && "axis outside the rank");
    return dims_[i];
  }
  int64_t& operator[](int i) {
    assert(i >= 0 && i < rank_ && "axis outside the rank");
    return dims_[i];
  }
  void push_back(int64_t d) {
    assert(rank_ < kMaxRank && "rank above kMaxRank");
    dims_[rank_++] = d;
  }
  void pop_back() { --rank_; }
  const int64_t* begin() const { return dims_.data(); }
  const int64_t* end() const { return dims_.data() + rank_; }
  std::span<const int64_t> dims() const { return {dims_.data(), static_cast<size_t>(rank_)}; }
  /// Product of the extents; 1 for rank 0. Requires: checkedElements() has accepted the shape.
  int64_t elements() const {
    int64_t n = 1;
    for (int64_t d : *this) n *= d;
    return n;
  }
  friend bool operator==(const Shape& a, const Shape& b) {
    return a.rank_ == b.rank_ && std::equal(a.begin(), a.end(), b.begin());
  }
  template <typename H> friend H AbslHashValue(H h, const Shape& s) {
    return H::combine_contiguous(H::combine(std::move(h), s.rank_), s.begin(), s.rank_);
  }

private:
  std::array<int64_t, kMaxRank> dims_{};
  int rank_ = 0;
};

/// "[2,3]"
std::string toString(const Shape&);
/// Row-major strides in elements: rowMajorStrides([2,3,4]) = [12,4,1]. An extent of 0 counts as 1.
Shape rowMajorStrides(const Shape&);
/// The element count, or nothing if an extent is negative or elements * elementSize passes 2^62.
std::optional<int64_t> checkedElements(const Shape&, int64_t elementSizeBytes);
/// The shape both broadcast to by NumPy's rule, or nothing.
std::optional<Shape> broadcastShapes(const Shape&, const Shape&);

struct TensorType {
  DType dtype = DType::F32;
  Shape shape;
  int64_t sizeBytes() const { return shape.elements() * tegula::sizeBytes(dtype); }
  friend bool operator==(const TensorType&, const TensorType&) = default;
  template <typename H> friend H AbslHashValue(H h, const TensorType& t) {
    return H::combine(std::move(h), static_cast<int>(t.dtype), t.shape);
  }
};
/// "f32[2,3]"
std::string toString(const TensorType&);

} // namespace tegula
