// An n-dimensional array in host memory: the currency of the reference evaluator, data files, checkpoints and tests.
// A HostArray is a view (strides, offset) of shared storage; copies of the handle share it.
#pragma once

#include "tensor/Layout.h"
#include <memory>
#include <span>
#include <vector>

namespace tegula {

class HostArray {
public:
  HostArray() = default;
  /// Row-major, zero-filled.
  explicit HostArray(TensorType type);
  static HostArray zeros(DType d, Shape s) { return HostArray(TensorType{d, s}); }
  static HostArray scalar(DType d, double value);
  /// Row-major array holding `values`, converted to `d`. Requires: values.size() == s.elements().
  static HostArray fromValues(DType d, Shape s, std::span<const double> values);
  /// A view of memory owned by `owner`.
  static HostArray wrap(TensorType type, Shape strides, void* data, std::shared_ptr<const void> owner);

  const TensorType& type() const { return type_; }
  DType dtype() const { return type_.dtype; }
  const Shape& shape() const { return type_.shape; }
  const Shape& strides() const { return strides_; }
  int64_t elements() const { return type_.shape.elements(); }
  bool isContiguous() const;

  /// The address of element 0.
  void* data() { return data_; }
  const void* data() const { return data_; }
  template <typename T> T* as() { return static_cast<T*>(data_); }
  template <typename T> const T* as() const { return static_cast<const T*>(data_); }
  /// Whole contents as bytes. Requires: isContiguous().
  std::span<const uint8_t> bytes() const;
  std::span<uint8_t> bytes();

  /// Element at row-major position `i` (of the shape, whatever the strides), converted to double / from double with one
  /// rounding. Integers of more than 53 bits: use getInt/setInt.
  double get(int64_t i) const;
  void set(int64_t i, double value);
  int64_t getInt(int64_t i) const;
  void setInt(int64_t i, int64_t value);
  /// All elements in row-major order of the shape, and back. Requires: values.size() == elements().
  std::vector<double> toVector() const;
  std::vector<int64_t> toIntVector() const;
  void assign(std::span<const double> values);
  void assignInts(std::span<const int64_t> values);

  /// A row-major copy (or this array itself if it is already row-major).
  HostArray contiguous() const;
  HostArray clone() const;
  HostArray cast(DType) const;
  /// Writes `source` into this view, converting as `cast` does. Requires: equal shapes; no overlap.
  void copyFrom(const HostArray& source);
  /// Views that share storage.
  HostArray transpose(std::span<const int64_t> permutation) const;
  HostArray expand(const Shape&) const;  // extents of 1 repeat with stride 0
  HostArray reshape(const Shape&) const; // Requires: isContiguous()

private:
  TensorType type_;
  Shape strides_;
  void* data_ = nullptr;
  std::shared_ptr<const void> owner_;
};

} // namespace tegula
