// How one element of each type is read and written: as double with one rounding, or as a 64-bit integer.
//
//   withElement(array.dtype(), [&](auto element) {
//     using E = decltype(element);
//     const auto* p = array.as<typename E::Storage>();
//     sum += E::toDouble(p[0]);
//   });
#pragma once

#include "tensor/DType.h"
#include "tensor/SmallFloat.h"
#include <limits>
#include <type_traits>

namespace tegula {

/// Truncates toward zero; NaN gives 0; values outside give the nearest bound (spec/numerics.md, cast).
template <typename T> T saturatingTruncate(double x) {
  if (std::isnan(x)) return 0;
  // The upper bound of a 64-bit type is not a double: compare with the power of two above it.
  double high = std::ldexp(1.0, std::numeric_limits<T>::digits);
  if (x >= high) return std::numeric_limits<T>::max();
  if (x < static_cast<double>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
  return static_cast<T>(x);
}

/// The double nearest to `x` among those with an odd last bit if inexact, so that a second rounding is the only one.
inline double roundToOdd(int64_t x) {
  double d = static_cast<double>(x);
  __int128 difference = static_cast<__int128>(d) - x; // d may be 2^63
  if (difference == 0) return d;
  uint64_t bits = std::bit_cast<uint64_t>(d);
  if (bits & 1) return d;
  bool tooLarge = (difference > 0) == (d > 0); // magnitude was rounded up
  return std::bit_cast<double>(tooLarge ? bits - 1 : bits + 1);
}

template <typename T> struct IntegerElement {
  using Storage = T;
  static double toDouble(T x) { return static_cast<double>(x); }
  static T fromDouble(double x) { return saturatingTruncate<T>(x); }
  static int64_t toInt(T x) { return static_cast<int64_t>(x); }
  static T fromInt(int64_t x) { return static_cast<T>(x); } // modulo 2^bits
};

struct BoolElement {
  using Storage = uint8_t;
  static double toDouble(uint8_t x) { return x ? 1.0 : 0.0; }
  static uint8_t fromDouble(double x) { return x != 0.0; } // NaN is true
  static int64_t toInt(uint8_t x) { return x ? 1 : 0; }
  static uint8_t fromInt(int64_t x) { return x != 0; }
};

template <typename StorageType, double (*Decode)(StorageType), StorageType (*Encode)(double)> struct FloatElement {
  using Storage = StorageType;
  static double toDouble(Storage x) { return Decode(x); }
  static Storage fromDouble(double x) { return Encode(x); }
  static int64_t toInt(Storage x) { return saturatingTruncate<int64_t>(Decode(x)); }
  static Storage fromInt(int64_t x) { return Encode(roundToOdd(x)); }
};

namespace element {
inline double decodeF32(float x) { return x; }
inline float encodeF32(double x) { return static_cast<float>(x); }
inline double decodeF64(double x) { return x; }
inline double encodeF64(double x) { return x; }
inline double decodeBf16(uint16_t x) { return f32FromBf16(x); }
inline double decodeF16(uint16_t x) { return f32FromF16(x); }
inline double decodeE4M3(uint8_t x) { return Float8E4M3Format::decode(x); }
inline double decodeE5M2(uint8_t x) { return Float8E5M2Format::decode(x); }
inline uint8_t encodeE4M3(double x) { return static_cast<uint8_t>(Float8E4M3Format::encode(x)); }
inline uint8_t encodeE5M2(double x) { return static_cast<uint8_t>(Float8E5M2Format::encode(x)); }
} // namespace element

struct F64Element : FloatElement<double, element::decodeF64, element::encodeF64> {
  static double fromInt(int64_t x) { return static_cast<double>(x); }
};
using F32Element = FloatElement<float, element::decodeF32, element::encodeF32>;
using BF16Element = FloatElement<uint16_t, element::decodeBf16, bf16FromF64>;
using F16Element = FloatElement<uint16_t, element::decodeF16, f16FromF64>;
using F8E4M3Element = FloatElement<uint8_t, element::decodeE4M3, element::encodeE4M3>;
using F8E5M2Element = FloatElement<uint8_t, element::decodeE5M2, element::encodeE5M2>;

/// Calls `f` with the element description of `d`.
template <typename F> decltype(auto) withElement(DType d, F&& f) {
  switch (d) {
  case DType::Bool:
    return f(BoolElement{});
  case DType::I8:
    return f(IntegerElement<int8_t>{});
  case DType::U8:
    return f(IntegerElement<uint8_t>{});
  case DType::I16:
    return f(IntegerElement<int16_t>{});
  case DType::U16:
    return f(IntegerElement<uint16_t>{});
  case DType::I32:
    return f(IntegerElement<int32_t>{});
  case DType::I64:
    return f(IntegerElement<int64_t>{});
  case DType::F8E4M3:
    return f(F8E4M3Element{});
  case DType::F8E5M2:
    return f(F8E5M2Element{});
  case DType::F16:
    return f(F16Element{});
  case DType::BF16:
    return f(BF16Element{});
  case DType::F32:
    return f(F32Element{});
  case DType::F64:
    break;
  }
  return f(F64Element{});
}

/// What an element of type `d` holds for `x`, as a double again.
inline double roundedTo(DType d, double x) {
  return withElement(d, [&](auto element) {
    using E = decltype(element);
    return E::toDouble(E::fromDouble(x));
  });
}

} // namespace tegula
