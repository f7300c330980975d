// The tile dialect (Tile.td): kernels over tiles of rank 2.
//
//   func.func @kernel(%bindings: !llvm.ptr, %scalars: !llvm.ptr, %begin: i64, %end: i64, %scratch: !llvm.ptr)
//       attributes {tile.lanes = 16}
//     %n = tile.scalar 0
//     %x = tile.view 0 offset %o strides %zero, %one : !tile.view<bf16, col>
//     %a = tile.load %x[%zero, %i] cols %e : !tile.view<bf16, col> -> !tile.tile<1x64xbf16>
//     %b = tile.map "exp"(%a) : (!tile.tile<1x64xbf16>) -> !tile.tile<1x64xbf16>
//
// Rules: a tile's extent comes from the operation that made it (load, splat, iota); map takes the extents of its wider
// operands; accumulate keeps those of the accumulator. Loops and branches are scf with tiles as carried values; a
// carried tile keeps the extent that it had on entry. `tile.lanes` is the number of elements of one vector, the same
// for every type in a kernel: a type of twice the size takes two registers a vector. Element types: f64 f32 bf16 f16
// i64 i32 i16 i8 ui16 ui8 i1 (a byte in memory).
#pragma once

#include "compiler/codegen/Mlir.h"

#include "compiler/tile/TileDialect.h.inc"
#include "compiler/tile/TileEnums.h.inc"
#define GET_TYPEDEF_CLASSES
#include "compiler/tile/TileTypes.h.inc"
#define GET_OP_CLASSES
#include "compiler/tile/TileOps.h.inc"

namespace tegula::tile {

constexpr const char* kLanesAttribute = "tile.lanes";

/// Opens `func.func @name` of the kernel ABI with its work-item loop; the insertion point is inside the loop.
struct KernelFunction {
  mlir::func::FuncOp function;
  mlir::Value item; // index of the work item
};
KernelFunction beginKernel(mlir::OpBuilder&, mlir::ModuleOp, llvm::StringRef name, int64_t lanes);

} // namespace tegula::tile
