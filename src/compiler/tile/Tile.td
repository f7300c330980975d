// The tile dialect: what a kernel does, said over tiles of rank 2 with a static bound and a run-time extent.
// Lowered by LowerTile.h; see TileDialect.h for the rules that hold for every operation.
#ifndef TEGULA_TILE
#define TEGULA_TILE

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Tile_Dialect : Dialect {
  let name = "tile";
  let cppNamespace = "::tegula::tile";
  let useDefaultTypePrinterParser = 1;
}

// ---------------------------------------------------------------------------------------------------------------- types

def Tile_Unit : I32EnumAttr<"Unit", "which stride of a view is statically 1",
    [I32EnumAttrCase<"None", 0, "none">, I32EnumAttrCase<"Row", 1, "row">, I32EnumAttrCase<"Col", 2, "col">]> {
  let cppNamespace = "::tegula::tile";
  let genSpecializedAttr = 0;
}

class Tile_TypeDef<string cpp, string word> : TypeDef<Tile_Dialect, cpp> { let mnemonic = word; }

def Tile_Tile : Tile_TypeDef<"Tile", "tile"> {
  let summary = "a value of at most rows x cols elements";
  let description = [{ `!tile.tile<4x64xbf16>`. The bound is static; the extent (rows and columns that exist) is known per
    value. Elements past the extent do not exist: no memory is touched for them, reductions see their neutral element. }];
  let parameters = (ins "int64_t":$rows, "int64_t":$cols, "::mlir::Type":$elementType);
  let hasCustomAssemblyFormat = 1;
}

def Tile_View : Tile_TypeDef<"View", "view"> {
  let summary = "a strided 2-D window of an operand";
  let parameters = (ins "::mlir::Type":$elementType, EnumParameter<Tile_Unit>:$unit);
  let assemblyFormat = "`<` $elementType `,` $unit `>`";
}

// ----------------------------------------------------------------------------------------------------------- operations

class Tile_Op<string word, list<Trait> traits = []> : Op<Tile_Dialect, word, traits>;
defvar Indices = Variadic<Index>;

def Tile_ScalarOp : Tile_Op<"scalar", [Pure]> {
  let summary = "a scalar argument of the dispatch";
  let arguments = (ins I64Attr:$slot);
  let results = (outs Index:$result);
  let assemblyFormat = "$slot attr-dict";
}

def Tile_ViewOp : Tile_Op<"view", [Pure]> {
  let summary = "a window of an operand: base address of the binding plus offset, strides in elements";
  let arguments = (ins I64Attr:$binding, Index:$offset, Index:$rowStride, Index:$colStride);
  let results = (outs Tile_View:$result);
  let assemblyFormat = "$binding `offset` $offset `strides` $rowStride `,` $colStride attr-dict `:` type($result)";
}

def Tile_LoadOp : Tile_Op<"load", [AttrSizedOperandSegments]> {
  let summary = "reads the elements of the extent at [row, col] of a view";
  let description = [{ Without `rows`/`cols` the extent is the bound. With a `guard` that is false nothing is read and every
    element is `fill`. }];
  let arguments = (ins Tile_View:$view, Index:$row, Index:$col, Optional<Index>:$rowExtent, Optional<Index>:$colExtent,
                       Optional<I1>:$guard, OptionalAttr<F64Attr>:$fill);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = [{ $view `[` $row `,` $col `]` (`rows` $rowExtent^)? (`cols` $colExtent^)?
    (`guard` $guard^ `else` $fill)? attr-dict `:` type($view) `->` type($result) }];
}

def Tile_GatherOp : Tile_Op<"gather"> {
  let summary = "reads view[row, col + c] displaced by index[c] * stride; `fill` where the index is outside [0, bound)";
  let arguments = (ins Tile_View:$view, Index:$row, Index:$col, Tile_Tile:$index, Index:$stride, Index:$bound,
                       Optional<I1>:$guard, F64Attr:$fill);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = [{ $view `[` $row `,` $col `]` `by` $index `*` $stride `within` $bound (`guard` $guard^)?
    `else` $fill attr-dict `:` type($view) `,` type($index) `->` type($result) }];
}

def Tile_StoreOp : Tile_Op<"store"> {
  let summary = "writes exactly the extent of a tile at [row, col] of a view";
  let arguments = (ins Tile_Tile:$tile, Tile_View:$view, Index:$row, Index:$col);
  let assemblyFormat = "$tile `,` $view `[` $row `,` $col `]` attr-dict `:` type($tile) `,` type($view)";
}

def Tile_SplatOp : Tile_Op<"splat", [Pure, AttrSizedOperandSegments]> {
  let summary = "every element is one scalar (index scalars become the tile's integer type)";
  let arguments = (ins AnyType:$scalar, Optional<Index>:$rowExtent, Optional<Index>:$colExtent);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$scalar (`rows` $rowExtent^)? (`cols` $colExtent^)? attr-dict `:` type($scalar) `->` type($result)";
}

def Tile_NeutralOp : Tile_Op<"neutral", [Pure]> {
  let summary = "the neutral element of a reduction everywhere";
  let arguments = (ins StrAttr:$kind, Optional<Index>:$colExtent);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$kind (`cols` $colExtent^)? attr-dict `:` type($result)";
}

def Tile_IotaOp : Tile_Op<"iota", [Pure, AttrSizedOperandSegments]> {
  let summary = "start + index along an axis (0 rows, 1 columns)";
  let arguments = (ins I64Attr:$axis, Index:$start, Optional<Index>:$rowExtent, Optional<Index>:$colExtent);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$axis `from` $start (`rows` $rowExtent^)? (`cols` $colExtent^)? attr-dict `:` type($result)";
}

def Tile_MapOp : Tile_Op<"map", [Pure]> {
  let summary = "an elementwise primitive by name, rounded to the result's type; bounds of 1 repeat";
  let arguments = (ins StrAttr:$fn, Variadic<Tile_Tile>:$inputs);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$fn `(` $inputs `)` attr-dict `:` functional-type($inputs, $result)";
}

def Tile_AccumulateOp : Tile_Op<"accumulate", [Pure]> {
  let summary = "acc combined with x elementwise; where x has no element acc stays";
  let arguments = (ins StrAttr:$kind, Tile_Tile:$acc, Tile_Tile:$x);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$kind $acc `,` $x attr-dict `:` type($acc) `,` type($x) `->` type($result)";
}

def Tile_ReduceOp : Tile_Op<"reduce", [Pure]> {
  let summary = "folds an axis: to one row (axis 0) or one column (axis 1), in a fixed order; NaN passes max and min";
  let arguments = (ins StrAttr:$kind, I64Attr:$axis, Tile_Tile:$tile);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$kind $axis $tile attr-dict `:` type($tile) `->` type($result)";
}

def Tile_ExtractOp : Tile_Op<"extract", [Pure]> {
  let summary = "one element as a scalar (integer tiles: as index)";
  let arguments = (ins Tile_Tile:$tile, I64Attr:$row, I64Attr:$col);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$tile `[` $row `,` $col `]` attr-dict `:` type($tile) `->` type($result)";
}

def Tile_DotOp : Tile_Op<"dot", [Pure]> {
  let summary = "acc + a * b, accumulated in the accumulator's type in the order of k; absent elements of k add nothing";
  let description = [{ `family` (fma, bf16dot), `rows` and `width` are the schedule's register block: rows x width accumulators;
    `unroll` steps of k make an iteration of it, and `group` panels of b are packed together.
    The accumulator lives in the kernel's scratch (LowerScratch). }];
  let arguments = (ins Tile_Tile:$a, Tile_Tile:$b, Tile_Tile:$acc, StrAttr:$family, I64Attr:$rows, I64Attr:$width,
    I64Attr:$unroll, I64Attr:$group);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = [{ $family $rows `x` $width `unroll` $unroll `group` $group $a `,` $b `,` $acc attr-dict `:` type($a) `,` type($b) `,` type($acc)
    `->` type($result) }];
}

def Tile_TransposeOp : Tile_Op<"transpose", [Pure]> {
  let summary = "rows and columns exchanged";
  let arguments = (ins Tile_Tile:$tile);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$tile attr-dict `:` type($tile) `->` type($result)";
}

#endif
