// The elementwise primitives on vectors: what `tile.map` names.
#pragma once

#include "compiler/tile/Elements.h"

namespace tegula::tile {

/// True if `fn` is a name that emitMap knows: every elementwise primitive, and
///   fma(a, b, c)                      one rounding
///   random_uniform(seed, step, stream, index)  i64 operands; base/Philox.h says which bits
bool isMapFunction(llvm::StringRef fn);

/// Applies `fn` to register vectors of one lane count. `elements` are the operands' element types, `result` the
/// result's: the value is rounded to it. Float functions compute in f32 (f64 for f64). Nothing traps, whatever the
/// operands.
mlir::Value emitMap(VectorEmitter&, llvm::StringRef fn, llvm::ArrayRef<mlir::Value> operands,
                    llvm::ArrayRef<mlir::Type> elements, mlir::Type result);

/// Conversion between element types as spec/numerics.md says: nearest even, integers saturate from floats and wrap from
/// integers, bool is x != 0.
mlir::Value emitCast(VectorEmitter&, mlir::Value, mlir::Type from, mlir::Type to);

} // namespace tegula::tile
