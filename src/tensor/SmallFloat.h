// Encoding and decoding of the narrow floating formats by their parameters: one rounding, to nearest, ties to even.
// Source: IEEE 754-2019 section 3; for the 8-bit formats the OCP "OFP8" specification (e4m3 has no infinity, and one
// NaN pattern a sign).
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace tegula {

template <int ExponentBits, int MantissaBits, bool HasInfinity> struct SmallFloat {
  static constexpr int kBias = (1 << (ExponentBits - 1)) - 1;
  static constexpr uint32_t kSign = 1u << (ExponentBits + MantissaBits);
  static constexpr uint32_t kExponentOnes = ((1u << ExponentBits) - 1) << MantissaBits;
  static constexpr uint32_t kMantissaMask = (1u << MantissaBits) - 1;
  static constexpr uint32_t kQuietNan =
      HasInfinity ? kExponentOnes | (1u << (MantissaBits - 1)) : kExponentOnes | kMantissaMask;
  /// What a finite value too large becomes.
  static constexpr uint32_t kOverflow = HasInfinity ? kExponentOnes : kQuietNan;
  static constexpr uint32_t kLargestFinite = HasInfinity ? kExponentOnes - 1 : kQuietNan - 1;

  static uint32_t encode(double x) {
    uint64_t bits = std::bit_cast<uint64_t>(x);
    uint32_t sign = bits >> 63 ? kSign : 0;
    int exponentField = static_cast<int>(bits >> 52 & 0x7ff);
    uint64_t mantissa = bits & ((uint64_t{1} << 52) - 1);
    if (exponentField == 0x7ff) {
      if (mantissa == 0) return sign | kOverflow;
      return sign | kQuietNan | (HasInfinity ? static_cast<uint32_t>(mantissa >> (52 - MantissaBits)) : 0);
    }
    if (exponentField == 0) return sign; // zero, or a subnormal double, far below every narrow subnormal
    mantissa |= uint64_t{1} << 52;
    int exponent = exponentField - 1023;
    bool subnormal = exponent < 1 - kBias;
    int shift = 52 - MantissaBits + (subnormal ? 1 - kBias - exponent : 0);
    if (shift >= 54) return sign; // below half of the least subnormal
    uint64_t kept = mantissa >> shift, rest = mantissa & ((uint64_t{1} << shift) - 1);
    uint64_t half = uint64_t{1} << (shift - 1);
    if (rest > half || (rest == half && (kept & 1))) ++kept; // a carry runs into the exponent, as it should
    uint64_t magnitude = subnormal ? kept : (static_cast<uint64_t>(exponent + kBias - 1) << MantissaBits) + kept;
    return sign | (magnitude > kLargestFinite ? kOverflow : static_cast<uint32_t>(magnitude));
  }

  static double decode(uint32_t bits) {
    double sign = bits & kSign ? -1.0 : 1.0;
    uint32_t magnitude = bits & (kSign - 1);
    uint32_t mantissa = magnitude & kMantissaMask;
    int exponentField = static_cast<int>(magnitude >> MantissaBits);
    if (HasInfinity && magnitude == kExponentOnes) return sign * std::numeric_limits<double>::infinity();
    if (magnitude > kLargestFinite) return std::copysign(std::numeric_limits<double>::quiet_NaN(), sign);
    if (exponentField == 0) return sign * std::ldexp(mantissa, 1 - kBias - MantissaBits);
    return sign * std::ldexp(mantissa | (1u << MantissaBits), exponentField - kBias - MantissaBits);
  }
};

using Float16Format = SmallFloat<5, 10, true>;
using BFloat16Format = SmallFloat<8, 7, true>;
using Float8E4M3Format = SmallFloat<4, 3, false>;
using Float8E5M2Format = SmallFloat<5, 2, true>;

} // namespace tegula
