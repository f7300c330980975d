// Conversions of every narrow float: exact round trips, rounding to nearest even, NaN and infinities kept.
#include "tensor/DType.h"
#include "tensor/HostArray.h"

#include "base/Random.h"
#include <bit>
#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <limits>

namespace tegula {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr DType kAll[] = {DType::Bool,   DType::I8,     DType::U8,  DType::I16,  DType::U16, DType::I32, DType::I64,
                          DType::F8E4M3, DType::F8E5M2, DType::F16, DType::BF16, DType::F32, DType::F64};

struct Format {
  DType dtype;
  uint32_t patterns;
  std::function<double(uint32_t)> decode;
  std::function<uint32_t(double)> encode;
};

std::vector<Format> narrowFormats() {
  auto f8 = [](DType d) {
    return Format{d, 1u << 8, [d](uint32_t b) { return f64FromF8(d, static_cast<uint8_t>(b)); },
                  [d](double x) -> uint32_t { return f8FromF64(d, x); }};
  };
  return {
      f8(DType::F8E4M3),
      f8(DType::F8E5M2),
      {DType::F16, 1u << 16, [](uint32_t b) -> double { return f32FromF16(static_cast<uint16_t>(b)); }, f16FromF64},
      {DType::BF16, 1u << 16, [](uint32_t b) -> double { return f32FromBf16(static_cast<uint16_t>(b)); }, bf16FromF64}};
}

TEST(DType, NamesReadBack) {
  for (DType d : kAll) EXPECT_EQ(parseDType(name(d)), d);
  EXPECT_FALSE(parseDType("float32"));
  EXPECT_TRUE(isFloat(DType::F8E4M3) && isFloat(DType::F64) && !isFloat(DType::I64) && !isFloat(DType::Bool));
  EXPECT_TRUE(isInteger(DType::I8) && isInteger(DType::I64) && !isInteger(DType::Bool) && !isInteger(DType::F32));
}

TEST(DType, EveryPatternReadsBack) {
  for (const Format& f : narrowFormats())
    for (uint32_t bits = 0; bits < f.patterns; ++bits) {
      double x = f.decode(bits);
      if (std::isnan(x))
        EXPECT_TRUE(std::isnan(f.decode(f.encode(x)))) << name(f.dtype) << " " << bits;
      else
        EXPECT_EQ(f.encode(x), bits) << name(f.dtype);
    }
}

// Between every two neighbours: below, at and above the middle. The middle goes to the even pattern.
TEST(DType, RoundsToNearestEven) {
  for (const Format& f : narrowFormats()) {
    for (uint32_t bits = 0; bits + 1 < f.patterns / 2; ++bits) {
      double low = f.decode(bits), high = f.decode(bits + 1);
      if (!std::isfinite(low) || !std::isfinite(high)) continue;
      double middle = low + (high - low) / 2;
      uint32_t even = bits % 2 ? bits + 1 : bits, sign = f.patterns / 2;
      ASSERT_EQ(f.encode(middle), even) << name(f.dtype) << " " << middle;
      ASSERT_EQ(f.encode(std::nextafter(middle, 0)), bits) << name(f.dtype);
      ASSERT_EQ(f.encode(std::nextafter(middle, kInfinity)), bits + 1) << name(f.dtype);
      ASSERT_EQ(f.encode(-middle), even | sign) << name(f.dtype);
    }
  }
}

TEST(DType, TooLargeBecomesInfinityOrNan) {
  EXPECT_EQ(f16FromF64(65519.99), 0x7bff);
  EXPECT_EQ(f16FromF64(65520), 0x7c00);
  EXPECT_EQ(f16FromF64(-1e300), 0xfc00);
  EXPECT_EQ(bf16FromF64(3.5e38), 0x7f80);
  EXPECT_EQ(f8FromF64(DType::F8E5M2, 61440), 0x7c);
  EXPECT_EQ(f8FromF64(DType::F8E4M3, 464), 0x7e); // the middle of 448 and 480 goes to the even 448
  EXPECT_EQ(f8FromF64(DType::F8E4M3, 465), 0x7f);
  EXPECT_EQ(f8FromF64(DType::F8E4M3, kInfinity), 0x7f);
  EXPECT_EQ(f8FromF64(DType::F8E5M2, -kInfinity), 0xfc);
}

// The rounding carry of a NaN with low mantissa bits must not run into the sign or make an infinity.
TEST(DType, Bf16KeepsEveryNan) {
  for (uint32_t bits : {0x7f800001u, 0x7fffffffu, 0x7fc00000u, 0x7f80ffffu, 0xffffffffu, 0xff800001u}) {
    float x = std::bit_cast<float>(bits);
    EXPECT_TRUE(std::isnan(f32FromBf16(bf16FromF32(x)))) << bits;
    EXPECT_TRUE(std::isnan(f32FromBf16(bf16FromF64(x)))) << bits;
    EXPECT_EQ(bf16FromF32(x) >> 15, bits >> 31) << bits;
  }
  EXPECT_EQ(bf16FromF32(std::bit_cast<float>(0x7f7fffffu)), 0x7f80); // the largest f32 rounds up, to infinity
  EXPECT_EQ(bf16FromF32(-std::numeric_limits<float>::infinity()), 0xff80);
}

TEST(DType, F32PathsAgreeWithF64Paths) {
  RandomStream random(1, 1);
  for (int i = 0; i < 200000; ++i) {
    auto x = std::bit_cast<float>(static_cast<uint32_t>(random.bits()));
    if (std::isnan(x)) continue;
    ASSERT_EQ(bf16FromF32(x), bf16FromF64(x)) << x;
    ASSERT_EQ(f16FromF32(x), f16FromF64(x)) << x;
  }
}

// 1 + 2^-8 is a tie of bf16; a little more is not, and by way of f32 the little is lost.
TEST(DType, F64RoundsOnce) {
  EXPECT_EQ(bf16FromF64(1 + 0x1p-8), 0x3f80);
  EXPECT_EQ(bf16FromF64(1 + 0x1p-8 + 0x1p-40), 0x3f81);
  EXPECT_EQ(bf16FromF32(static_cast<float>(1 + 0x1p-8 + 0x1p-40)), 0x3f80);
  EXPECT_EQ(f16FromF64(0x1p-25), 0); // half of the least subnormal, to even
  EXPECT_EQ(f16FromF64(0x1p-25 * 1.0000001), 1);
}

TEST(DType, IntegersSaturateFromFloatsAndWrapFromIntegers) {
  HostArray a = HostArray::fromValues(DType::F64, {6}, std::vector<double>{300.9, -300, kNan, kInfinity, -1.9, 1.9});
  EXPECT_EQ(a.cast(DType::I8).toIntVector(), (std::vector<int64_t>{127, -128, 0, 127, -1, 1}));
  EXPECT_EQ(a.cast(DType::U8).toIntVector(), (std::vector<int64_t>{255, 0, 0, 255, 0, 1}));
  EXPECT_EQ(a.cast(DType::I64).toIntVector(),
            (std::vector<int64_t>{300, -300, 0, std::numeric_limits<int64_t>::max(), -1, 1}));
  EXPECT_EQ(a.cast(DType::Bool).toIntVector(), (std::vector<int64_t>{1, 1, 1, 1, 1, 1}));
  HostArray big = HostArray::zeros(DType::I64, {2});
  big.setInt(0, 257);
  big.setInt(1, -1);
  EXPECT_EQ(big.cast(DType::U8).toIntVector(), (std::vector<int64_t>{1, 255}));
}

// 2^60 + 2^36 is a tie of f32 (to even, down); one more is above the tie but is lost on the way through double.
TEST(DType, WideIntegersRoundOnce) {
  HostArray a = HostArray::zeros(DType::I64, {4});
  a.setInt(0, (int64_t{1} << 60) + (int64_t{1} << 36));
  a.setInt(1, (int64_t{1} << 60) + (int64_t{1} << 36) + 1);
  a.setInt(2, -(int64_t{1} << 60) - (int64_t{1} << 36) - 1);
  a.setInt(3, std::numeric_limits<int64_t>::max());
  HostArray f = a.cast(DType::F32);
  EXPECT_EQ(f.get(0), 0x1p60);
  EXPECT_EQ(f.get(1), 0x1p60 + 0x1p37);
  EXPECT_EQ(f.get(2), -0x1p60 - 0x1p37);
  EXPECT_EQ(f.get(3), 0x1p63);
}

} // namespace
} // namespace tegula
