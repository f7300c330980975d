// The shared checks of shape and type rules.
#include "primitives/InferRules.h"

namespace tegula {
namespace {

std::string_view kindName(const AttrValue& value) {
  constexpr std::string_view kNames[] = {"none", "a bool", "an int", "a float", "a list of ints", "a dtype", "a name"};
  return kNames[value.index()];
}

template <typename T>
StatusOr<const T*> typed(std::string_view primitive, const Attributes& attributes, Symbol name, std::string_view what) {
  const AttrValue* value = attributes.find(name);
  if (!value) return invalid("{}: attribute {} is missing; expected {}", primitive, name.text(), what);
  const T* result = std::get_if<T>(value);
  if (!result)
    return invalid("{}: attribute {} is {} ({}); expected {}", primitive, name.text(), toString(*value),
                   kindName(*value), what);
  return result;
}

} // namespace

Status checkInputCount(std::string_view primitive, std::span<const TensorType> inputs, size_t expected) {
  if (inputs.size() == expected) return OkStatus();
  return invalid("{}: takes {} input{} but was given {}", primitive, expected, expected == 1 ? "" : "s", inputs.size());
}

Status checkKnown(std::string_view primitive, const Attributes& attributes, std::initializer_list<Symbol> known) {
  for (const auto& [name, value] : attributes) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    std::string names;
    for (Symbol k : known) names += fmt::format("{}{}", names.empty() ? "" : ", ", k.text());
    return invalid("{}: unknown attribute {}={}; it takes {}", primitive, name.text(), toString(value),
                   names.empty() ? "none" : names);
  }
  return OkStatus();
}

StatusOr<int64_t> intAttribute(std::string_view primitive, const Attributes& attributes, Symbol name) {
  TG_ASSIGN_OR_RETURN(const int64_t* value, typed<int64_t>(primitive, attributes, name, "an int"));
  return *value;
}

StatusOr<Shape> intsAttribute(std::string_view primitive, const Attributes& attributes, Symbol name) {
  TG_ASSIGN_OR_RETURN(const Shape* value, typed<Shape>(primitive, attributes, name, "a list of ints"));
  return *value;
}

StatusOr<Shape> intsAttribute(std::string_view primitive, const Attributes& attributes, Symbol name, int length) {
  TG_ASSIGN_OR_RETURN(const Shape* value, typed<Shape>(primitive, attributes, name, "a list of ints"));
  if (value->rank() != length)
    return invalid("{}: attribute {} is {} with {} numbers; expected {}, one per axis", primitive, name.text(),
                   toString(*value), value->rank(), length);
  return *value;
}

StatusOr<DType> dtypeAttribute(std::string_view primitive, const Attributes& attributes, Symbol name) {
  TG_ASSIGN_OR_RETURN(const DType* value, typed<DType>(primitive, attributes, name, "a dtype"));
  return *value;
}

StatusOr<Symbol> nameAttribute(std::string_view primitive, const Attributes& attributes, Symbol name) {
  TG_ASSIGN_OR_RETURN(const Symbol* value, typed<Symbol>(primitive, attributes, name, "a name"));
  return *value;
}

StatusOr<bool> flagAttribute(std::string_view primitive, const Attributes& attributes, Symbol name) {
  if (!attributes.has(name)) return false;
  TG_ASSIGN_OR_RETURN(const bool* value, typed<bool>(primitive, attributes, name, "a bool"));
  return *value;
}

StatusOr<int> axisAttribute(std::string_view primitive, const Attributes& attributes, int rank) {
  TG_ASSIGN_OR_RETURN(int64_t axis, intAttribute(primitive, attributes, attr::axis));
  if (axis < 0 || axis >= rank) return invalid("{}: axis {} is outside rank {}", primitive, axis, rank);
  return static_cast<int>(axis);
}

Status checkAxes(std::string_view primitive, Symbol name, const Shape& axes, int rank) {
  uint32_t seen = 0;
  for (int64_t axis : axes) {
    if (axis < 0 || axis >= rank)
      return invalid("{}: {} {} names axis {}, outside rank {}", primitive, name.text(), toString(axes), axis, rank);
    if (seen >> axis & 1) return invalid("{}: {} {} names axis {} twice", primitive, name.text(), toString(axes), axis);
    seen |= 1u << axis;
  }
  return OkStatus();
}

Status checkSize(std::string_view primitive, const TensorType& result) {
  if (checkedElements(result.shape, sizeBytes(result.dtype))) return OkStatus();
  for (int i = 0; i < result.shape.rank(); ++i)
    if (result.shape[i] < 0)
      return invalid("{}: the result {} has a negative extent at axis {}", primitive, toString(result), i);
  return invalid("{}: the result {} needs more than 2^62 bytes", primitive, toString(result));
}

Status checkRank(std::string_view primitive, int rank) {
  if (rank <= kMaxRank) return OkStatus();
  return invalid("{}: the result has rank {}; at most {} axes are supported", primitive, rank, kMaxRank);
}

} // namespace tegula
