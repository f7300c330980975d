// Element access, conversion and views of host arrays.
#include "tensor/HostArray.h"

#include "tensor/Element.h"
#include "tensor/StridedLoop.h"
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

namespace tegula {
namespace {

constexpr size_t kAlignment = 64; // a cache line, and the widest vector

std::shared_ptr<void> allocateZeroed(int64_t bytes) {
  size_t size = static_cast<size_t>(std::max<int64_t>(bytes, 1) + kAlignment - 1) / kAlignment * kAlignment;
  void* p = std::aligned_alloc(kAlignment, size);
  if (!p) throw std::bad_alloc();
  std::memset(p, 0, size);
  return {p, std::free};
}

/// Where the element at row-major position `i` lies, in elements from element 0.
int64_t offsetOf(int64_t i, const Shape& shape, const Shape& strides) {
  int64_t offset = 0;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    offset += i % shape[axis] * strides[axis];
    i /= shape[axis];
  }
  return offset;
}

template <typename Word> void copyWords(const HostArray& source, HostArray& target) {
  const Word* from = source.as<Word>();
  Word* to = target.as<Word>();
  forEachLinePair(source.shape(), source.strides(), target.strides(),
                  [&](int64_t fromOffset, int64_t toOffset, int64_t count, int64_t fromStride, int64_t toStride) {
                    if (fromStride == 1 && toStride == 1) {
                      std::memcpy(to + toOffset, from + fromOffset, static_cast<size_t>(count) * sizeof(Word));
                      return;
                    }
                    for (int64_t k = 0; k < count; ++k) to[toOffset + k * toStride] = from[fromOffset + k * fromStride];
                  });
}

} // namespace

HostArray::HostArray(TensorType type) : type_(type), strides_(rowMajorStrides(type.shape)) {
  std::shared_ptr<void> memory = allocateZeroed(type.sizeBytes());
  data_ = memory.get();
  owner_ = std::move(memory);
}

HostArray HostArray::scalar(DType d, double value) {
  HostArray a(TensorType{d, {}});
  a.set(0, value);
  return a;
}

HostArray HostArray::fromValues(DType d, Shape s, std::span<const double> values) {
  HostArray a(TensorType{d, s});
  a.assign(values);
  return a;
}

HostArray HostArray::wrap(TensorType type, Shape strides, void* data, std::shared_ptr<const void> owner) {
  assert(strides.rank() == type.shape.rank() && "one stride per axis");
  HostArray a;
  a.type_ = type;
  a.strides_ = strides;
  a.data_ = data;
  a.owner_ = std::move(owner);
  return a;
}

bool HostArray::isContiguous() const { return isRowMajor(Layout::strided(strides_), type_.shape); }

std::span<const uint8_t> HostArray::bytes() const {
  assert(isContiguous() && "bytes() of a strided view");
  return {static_cast<const uint8_t*>(data_), static_cast<size_t>(type_.sizeBytes())};
}

std::span<uint8_t> HostArray::bytes() {
  assert(isContiguous() && "bytes() of a strided view");
  return {static_cast<uint8_t*>(data_), static_cast<size_t>(type_.sizeBytes())};
}

double HostArray::get(int64_t i) const {
  assert(i >= 0 && i < elements() && "element outside the array");
  return withElement(dtype(), [&](auto e) {
    using E = decltype(e);
    return E::toDouble(as<typename E::Storage>()[offsetOf(i, shape(), strides_)]);
  });
}

void HostArray::set(int64_t i, double value) {
  assert(i >= 0 && i < elements() && "element outside the array");
  withElement(dtype(), [&](auto e) {
    using E = decltype(e);
    as<typename E::Storage>()[offsetOf(i, shape(), strides_)] = E::fromDouble(value);
  });
}

int64_t HostArray::getInt(int64_t i) const {
  assert(i >= 0 && i < elements() && "element outside the array");
  return withElement(dtype(), [&](auto e) {
    using E = decltype(e);
    return E::toInt(as<typename E::Storage>()[offsetOf(i, shape(), strides_)]);
  });
}

void HostArray::setInt(int64_t i, int64_t value) {
  assert(i >= 0 && i < elements() && "element outside the array");
  withElement(dtype(), [&](auto e) {
    using E = decltype(e);
    as<typename E::Storage>()[offsetOf(i, shape(), strides_)] = E::fromInt(value);
  });
}

std::vector<double> HostArray::toVector() const {
  std::vector<double> values(static_cast<size_t>(elements()));
  withElement(dtype(), [&](auto e) {
    using E = decltype(e);
    const auto* base = as<typename E::Storage>();
    forEachLine(shape(), strides_, [&](int64_t first, int64_t offset, int64_t count, int64_t stride) {
      for (int64_t k = 0; k < count; ++k) values[first + k] = E::toDouble(base[offset + k * stride]);
    });
  });
  return values;
}

std::vector<int64_t> HostArray::toIntVector() const {
  std::vector<int64_t> values(static_cast<size_t>(elements()));
  withElement(dtype(), [&](auto e) {
    using E = decltype(e);
    const auto* base = as<typename E::Storage>();
    forEachLine(shape(), strides_, [&](int64_t first, int64_t offset, int64_t count, int64_t stride) {
      for (int64_t k = 0; k < count; ++k) values[first + k] = E::toInt(base[offset + k * stride]);
    });
  });
  return values;
}

void HostArray::assign(std::span<const double> values) {
  assert(static_cast<int64_t>(values.size()) == elements() && "one value per element");
  withElement(dtype(), [&](auto e) {
    using E = decltype(e);
    auto* base = as<typename E::Storage>();
    forEachLine(shape(), strides_, [&](int64_t first, int64_t offset, int64_t count, int64_t stride) {
      for (int64_t k = 0; k < count; ++k) base[offset + k * stride] = E::fromDouble(values[first + k]);
    });
  });
}

void HostArray::assignInts(std::span<const int64_t> values) {
  assert(static_cast<int64_t>(values.size()) == elements() && "one value per element");
  withElement(dtype(), [&](auto e) {
    using E = decltype(e);
    auto* base = as<typename E::Storage>();
    forEachLine(shape(), strides_, [&](int64_t first, int64_t offset, int64_t count, int64_t stride) {
      for (int64_t k = 0; k < count; ++k) base[offset + k * stride] = E::fromInt(values[first + k]);
    });
  });
}

HostArray HostArray::contiguous() const { return isContiguous() ? *this : clone(); }

HostArray HostArray::clone() const { return cast(dtype()); }

HostArray HostArray::cast(DType d) const {
  HostArray result(TensorType{d, shape()});
  result.copyFrom(*this);
  return result;
}

void HostArray::copyFrom(const HostArray& source) {
  assert(source.shape() == shape() && "copyFrom between shapes");
  if (source.dtype() != dtype()) {
    if (isFloat(source.dtype()))
      assign(source.toVector());
    else
      assignInts(source.toIntVector());
    return;
  }
  switch (sizeBytes(dtype())) {
  case 1:
    return copyWords<uint8_t>(source, *this);
  case 2:
    return copyWords<uint16_t>(source, *this);
  case 4:
    return copyWords<uint32_t>(source, *this);
  default:
    return copyWords<uint64_t>(source, *this);
  }
}

HostArray HostArray::transpose(std::span<const int64_t> permutation) const {
  assert(static_cast<int>(permutation.size()) == shape().rank() && "one axis per axis");
  HostArray view = *this;
  for (int i = 0; i < shape().rank(); ++i) {
    view.type_.shape[i] = type_.shape[static_cast<int>(permutation[i])];
    view.strides_[i] = strides_[static_cast<int>(permutation[i])];
  }
  return view;
}

HostArray HostArray::expand(const Shape& target) const {
  int added = target.rank() - shape().rank();
  assert(added >= 0 && "expand cannot drop axes");
  HostArray view = *this;
  view.type_.shape = target;
  view.strides_ = target;
  for (int i = 0; i < target.rank(); ++i) {
    bool repeats = i < added || (shape()[i - added] == 1 && target[i] != 1);
    assert((repeats || shape()[i - added] == target[i]) && "only an extent of 1 repeats");
    view.strides_[i] = repeats ? 0 : strides_[i - added];
  }
  return view;
}

HostArray HostArray::reshape(const Shape& target) const {
  assert(isContiguous() && "reshape of a strided view");
  assert(target.elements() == elements() && "reshape keeps the element count");
  HostArray view = *this;
  view.type_.shape = target;
  view.strides_ = rowMajorStrides(target);
  return view;
}

} // namespace tegula
