// What reference evaluation shares: inputs read as row-major doubles or 64-bit integers, outputs rounded once.
//
//   InputValues<double> x(inputs[0]);
//   OutputValues<double> y(outputs[0]);
//   for (int64_t i = 0; i < y.size(); ++i) y[i] = f(x[i]);
//   y.store();
#pragma once

#include "primitives/Primitive.h"
#include <type_traits>
#include <vector>

// The evaluation slot of a primitive: the function, or null in a build without the reference evaluator.
#if TEGULA_REFERENCE
#define TG_EVALUATE(...) (__VA_ARGS__)
#else
#define TG_EVALUATE(...) nullptr
#endif

namespace tegula {

/// T is double for floats, int64_t for integers and bool. Borrows memory that is already so.
template <typename T> class InputValues {
public:
  explicit InputValues(const HostArray& a) {
    if (a.dtype() == kOwn && a.isContiguous()) {
      data_ = a.as<T>();
      return;
    }
    if constexpr (std::is_same_v<T, double>)
      copy_ = a.toVector();
    else
      copy_ = a.toIntVector();
    data_ = copy_.data();
  }
  InputValues(const InputValues&) = delete;
  T operator[](int64_t i) const { return data_[i]; }
  const T* data() const { return data_; }

private:
  static constexpr DType kOwn = std::is_same_v<T, double> ? DType::F64 : DType::I64;
  std::vector<T> copy_;
  const T* data_;
};

/// Starts as zeros. Requires: a row-major array. Nothing is kept without store().
template <typename T> class OutputValues {
public:
  explicit OutputValues(HostArray& a) : array_(a), values_(static_cast<size_t>(a.elements())) {}
  T& operator[](int64_t i) { return values_[static_cast<size_t>(i)]; }
  T* data() { return values_.data(); }
  int64_t size() const { return static_cast<int64_t>(values_.size()); }
  void store() {
    if constexpr (std::is_same_v<T, double>)
      array_.assign(values_);
    else
      array_.assignInts(values_);
  }

private:
  HostArray& array_;
  std::vector<T> values_;
};

/// Calls f with a value of the type that `d` is computed in.
template <typename F> decltype(auto) withComputeType(DType d, F&& f) { return isFloat(d) ? f(double{}) : f(int64_t{}); }

/// Two's complement arithmetic that wraps.
inline int64_t wrapAdd(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
inline int64_t wrapSub(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
inline int64_t wrapMul(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

/// The larger / smaller; a NaN wins.
inline double maxOf(double a, double b) { return a != a || !(b != b || a < b) ? a : b; }
inline double minOf(double a, double b) { return a != a || !(b != b || b < a) ? a : b; }
inline int64_t maxOf(int64_t a, int64_t b) { return a < b ? b : a; }
inline int64_t minOf(int64_t a, int64_t b) { return b < a ? b : a; }

/// Extents before, at and after an axis: element (o, k, i) lies at (o * extent + k) * inner + i.
struct AxisSplit {
  int64_t outer = 1, extent, inner = 1;
  AxisSplit(const Shape& shape, int axis) : extent(shape[axis]) {
    for (int i = 0; i < axis; ++i) outer *= shape[i];
    for (int i = axis + 1; i < shape.rank(); ++i) inner *= shape[i];
  }
};

} // namespace tegula
