// How elements of each type live in vector registers and in memory, and the arithmetic that reductions are made of.
//
// | element | memory | register | after every operation |
// |---|---|---|---|
// | f64 f32 | itself | itself | |
// | bf16 f16 | 16 bits | f32 that the narrow type holds exactly | rounded to nearest even, NaN kept |
// | i8 … i64, ui8 ui16 | itself | signless integer | wraps |
// | i1 | a byte, 0 or 1 | i1 | |
//
// All functions emit at the builder's insertion point and know nothing of tiles.
#pragma once

#include "compiler/codegen/Mlir.h"
#include "tensor/DType.h"

namespace tegula::tile {

/// The tile element type of a tensor type. Requires: not one of the 8-bit floats.
mlir::Type elementType(mlir::MLIRContext*, DType);
/// f32 for bf16 and f16, signless for integers.
mlir::Type registerType(mlir::Type element);
mlir::Type memoryType(mlir::Type element);
int64_t memoryBytes(mlir::Type element);
bool isUnsignedElement(mlir::Type element); // i1 too

/// Emits operations on vectors of `lanes` elements.
class VectorEmitter {
public:
  VectorEmitter(mlir::OpBuilder& builder, mlir::Location location, int64_t laneCount)
      : b(builder), loc(location), lanes(laneCount) {}

  mlir::VectorType vectorOf(mlir::Type scalar) const { return mlir::VectorType::get({lanes}, scalar); }
  mlir::VectorType registerVector(mlir::Type element) const { return vectorOf(registerType(element)); }

  /// A constant of a scalar or vector type of floats or integers (integers: the value modulo 2^bits).
  mlir::Value constant(mlir::Type type, double value);
  mlir::Value constantInt(mlir::Type type, int64_t value);
  mlir::Value index(int64_t value) { return mlir::arith::ConstantIndexOp::create(b, loc, value); }
  mlir::Value splat(mlir::Value scalar) {
    return mlir::vector::BroadcastOp::create(b, loc, vectorOf(scalar.getType()), scalar);
  }
  mlir::Value lane(mlir::Value vector, int64_t i) { return mlir::vector::ExtractOp::create(b, loc, vector, i); }
  /// 0, 1, … as a vector of `integer`.
  mlir::Value laneNumbers(mlir::Type integer);
  /// Lanes i with first + i < extent.
  mlir::Value mask(mlir::Value extent, int64_t first);

  /// Memory form to register form and back; works on scalars and vectors.
  mlir::Value decode(mlir::Value memory, mlir::Type element);
  mlir::Value encode(mlir::Value inRegister, mlir::Type element);
  /// Rounds a register value that was computed in f32 to bf16 or f16; other types pass.
  mlir::Value round(mlir::Value inRegister, mlir::Type element);
  /// f64 to f32 so that a second rounding to bf16 or f16 is the only one (round to odd).
  mlir::Value narrowToOdd(mlir::Value f64);

  /// kind: sum prod max min (also of i1: max is or, min is and).
  mlir::Value combine(llvm::StringRef kind, mlir::Value a, mlir::Value x, mlir::Type element);
  /// A vector of the neutral element.
  mlir::Value neutral(llvm::StringRef kind, mlir::Type element);
  /// All lanes folded by a fixed tree of halves; the result in every lane.
  mlir::Value fold(llvm::StringRef kind, mlir::Value vector, mlir::Type element);

  mlir::OpBuilder& b;
  mlir::Location loc;
  int64_t lanes;
};

} // namespace tegula::tile
