// Element types. Names are the tile language's and the problem lines' (`f32`, `bf16`, …).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tegula {

enum class DType : uint8_t { Bool, I8, U8, I16, U16, I32, I64, F8E4M3, F8E5M2, F16, BF16, F32, F64 };

int64_t sizeBytes(DType);
std::string_view name(DType); // "f32"
std::optional<DType> parseDType(std::string_view name);
bool isFloat(DType);
bool isInteger(DType); // signed and unsigned integers; not bool

// Conversions round to nearest even and keep NaN and infinities (spec/numerics.md).
uint16_t bf16FromF32(float);
float f32FromBf16(uint16_t);
uint16_t f16FromF32(float);
float f32FromF16(uint16_t);
/// Rounds from double once (not by way of f32, which would round twice).
uint16_t bf16FromF64(double);
uint16_t f16FromF64(double);
uint8_t f8FromF64(DType f8, double);
double f64FromF8(DType f8, uint8_t);

} // namespace tegula
