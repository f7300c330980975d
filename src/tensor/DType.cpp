// Names, sizes and conversions of element types.
#include "tensor/DType.h"

#include "tensor/SmallFloat.h"
#include <array>
#include <cassert>

namespace tegula {
namespace {

struct Info {
  std::string_view name;
  int64_t sizeBytes;
};
constexpr std::array<Info, 13> kInfo = {{{"bool", 1},
                                         {"i8", 1},
                                         {"u8", 1},
                                         {"i16", 2},
                                         {"u16", 2},
                                         {"i32", 4},
                                         {"i64", 8},
                                         {"f8e4m3", 1},
                                         {"f8e5m2", 1},
                                         {"f16", 2},
                                         {"bf16", 2},
                                         {"f32", 4},
                                         {"f64", 8}}};

} // namespace

int64_t sizeBytes(DType d) { return kInfo[static_cast<size_t>(d)].sizeBytes; }

std::string_view name(DType d) { return kInfo[static_cast<size_t>(d)].name; }

std::optional<DType> parseDType(std::string_view text) {
  for (size_t i = 0; i < kInfo.size(); ++i)
    if (kInfo[i].name == text) return static_cast<DType>(i);
  return std::nullopt;
}

bool isFloat(DType d) { return d >= DType::F8E4M3; }

bool isInteger(DType d) { return d > DType::Bool && d <= DType::I64; }

uint16_t bf16FromF32(float x) {
  uint32_t bits = std::bit_cast<uint32_t>(x);
  if ((bits & 0x7fffffff) > 0x7f800000) return static_cast<uint16_t>(bits >> 16 | 0x40); // a NaN stays one
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

float f32FromBf16(uint16_t x) { return std::bit_cast<float>(static_cast<uint32_t>(x) << 16); }

uint16_t f16FromF32(float x) { return static_cast<uint16_t>(Float16Format::encode(x)); }

float f32FromF16(uint16_t x) {
  uint32_t sign = static_cast<uint32_t>(x & 0x8000) << 16, magnitude = x & 0x7fff;
  if (magnitude >= 0x7c00) return std::bit_cast<float>(sign | 0x7f800000 | (magnitude & 0x3ff) << 13);
  // Placed 112 binades too low, then scaled up exactly; that also normalises subnormals.
  float scaled = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(scaled));
}

uint16_t bf16FromF64(double x) { return static_cast<uint16_t>(BFloat16Format::encode(x)); }

uint16_t f16FromF64(double x) { return static_cast<uint16_t>(Float16Format::encode(x)); }

uint8_t f8FromF64(DType f8, double x) {
  assert((f8 == DType::F8E4M3 || f8 == DType::F8E5M2) && "not an 8-bit float");
  return static_cast<uint8_t>(f8 == DType::F8E4M3 ? Float8E4M3Format::encode(x) : Float8E5M2Format::encode(x));
}

double f64FromF8(DType f8, uint8_t x) {
  assert((f8 == DType::F8E4M3 || f8 == DType::F8E5M2) && "not an 8-bit float");
  return f8 == DType::F8E4M3 ? Float8E4M3Format::decode(x) : Float8E5M2Format::decode(x);
}

} // namespace tegula
