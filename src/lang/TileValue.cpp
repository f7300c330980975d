// Values of kernels' expressions, and how messages name them.
#include "lang/TileValue.h"

namespace tegula::lang {

TileValue tileOf(std::string row, std::string column, Elements elements, std::optional<DType> dtype) {
  TileValue v;
  v.kinds = kind::Tile;
  v.row = std::move(row);
  v.column = std::move(column);
  v.elements = elements;
  v.dtype = dtype;
  return v;
}

TileValue tileOf(std::string row, std::string column, const TileValue& like) {
  return tileOf(std::move(row), std::move(column), like.elements, like.dtype);
}

TileValue numberOf(Kinds kinds, std::optional<Operand> constant, std::string runtime) {
  TileValue v;
  v.kinds = kinds;
  v.constant = std::move(constant);
  v.runtime = std::move(runtime);
  return v;
}

TileValue dtypeOf(Elements elements, std::optional<DType> dtype) {
  TileValue v;
  v.kinds = kind::DType;
  v.elements = elements;
  v.dtype = dtype;
  return v;
}

Elements elementsOf(DType d) {
  if (d == DType::Bool) return Elements::Truth;
  return isFloat(d) ? Elements::Float : Elements::Integer;
}

std::string shapeOf(const TileValue& v) { return fmt::format("[{}, {}]", v.row, v.column); }

std::string describe(const TileValue& v) {
  if (!v.isTile()) return describeKinds(v.kinds);
  switch (v.elements) {
  case Elements::Float:
    return "a tile of floats";
  case Elements::Integer:
    return v.dtype ? fmt::format("a tile of {}", name(*v.dtype)) : "a tile of integers";
  case Elements::Truth:
    return "a tile of truth values";
  case Elements::Unknown:
    break;
  }
  return "a tile";
}

bool elementsDiffer(const TileValue& a, const TileValue& b) {
  if (a.elements == Elements::Unknown || b.elements == Elements::Unknown) return false;
  if (a.elements != b.elements) return true;
  return a.elements == Elements::Integer && a.dtype && b.dtype && *a.dtype != *b.dtype;
}

} // namespace tegula::lang
