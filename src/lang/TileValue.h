// What an expression of a tile kernel is: a tile whose axes and elements are known by name, an index of a tile loop, or
// a number that is constant or known only when the kernel runs.
#pragma once

#include "lang/Operand.h"
#include "lang/Signature.h"
#include <optional>
#include <string>

namespace tegula::lang {

enum class Elements : uint8_t { Unknown, Float, Integer, Truth };

struct TileValue {
  Kinds kinds = kind::Any;               // Tile, Range, Int, Float, Bool, DType, None, Tensor, or Any after an error
  std::string row, column;               // Tile: its axes; Range: row is the block, column the dimension
  Elements elements = Elements::Unknown; // Tile, DType
  std::optional<DType> dtype;            // Tile, DType: the element type where the text says it
  int loop = -1;                         // Range: the loop whose index it is, whatever name it has
  std::string runtime; // a number: what of it is known only when the kernel runs ("'i.start'"); empty: a constant
  std::optional<Operand> constant; // a number: its value where the text says it

  bool is(Kinds k) const { return kinds != kind::Any && kinds == k; }
  bool isTile() const { return is(kind::Tile); }
  bool isNumber() const { return kinds != kind::Any && (kinds & kind::Number) && !(kinds & ~kind::Number); }
  bool isReal() const { return isNumber() && (kinds & kind::Float); }
  bool failed() const { return kinds == kind::Any; }
};

TileValue tileOf(std::string row, std::string column, Elements elements, std::optional<DType> dtype = {});
TileValue tileOf(std::string row, std::string column, const TileValue& elementsLike);
TileValue numberOf(Kinds, std::optional<Operand> constant = {}, std::string runtime = {});
TileValue dtypeOf(Elements, std::optional<DType> = {});

Elements elementsOf(DType);
/// "[BM, 1]"
std::string shapeOf(const TileValue&);
/// "a tile of floats", "a tile of i64", "an integer": for messages.
std::string describe(const TileValue&);
/// Whether two tiles may not meet in one operation: other elements, or integers of another type. Floats of two widths
/// meet in the wider one; what is not known fits.
bool elementsDiffer(const TileValue&, const TileValue&);

} // namespace tegula::lang
