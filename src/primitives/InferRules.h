// What the shape and type rules of primitives share: attribute checks whose messages name the primitive, the attribute
// and the values. The accepting path neither allocates nor interns, because recording a node runs it.
#pragma once

#include "primitives/Primitive.h"
#include <algorithm>
#include <initializer_list>

namespace tegula {

/// A primitive's name as a template argument, for rules that a family shares.
template <size_t N> struct RuleName {
  char text[N];
  constexpr RuleName(const char (&s)[N]) { std::copy_n(s, N, text); } // NOLINT: implicit on purpose
  constexpr std::string_view view() const { return {text, N - 1}; }
};

/// The attributes' names, interned once.
namespace attr {
inline const Symbol axes = "axes", axis = "axis", batchA = "batch_a", batchB = "batch_b", contractA = "contract_a",
                    contractB = "contract_b", descending = "descending", dilation = "dilation", dtype = "dtype",
                    groups = "groups", high = "high", interior = "interior", keepdim = "keepdim", kind = "kind",
                    low = "low", padHigh = "pad_high", padLow = "pad_low", pair = "pair", panel = "panel",
                    panelAxis = "panel_axis", permutation = "permutation", reverse = "reverse", shape = "shape",
                    size = "size", sizes = "sizes", starts = "starts", steps = "steps", stream = "stream",
                    strides = "strides", value = "value";
} // namespace attr

Status checkInputCount(std::string_view primitive, std::span<const TensorType> inputs, size_t expected);
/// Fails for an attribute that is not in `known`, and names those.
Status checkKnown(std::string_view primitive, const Attributes& attributes, std::initializer_list<Symbol> known);

StatusOr<int64_t> intAttribute(std::string_view primitive, const Attributes& attributes, Symbol name);
StatusOr<Shape> intsAttribute(std::string_view primitive, const Attributes& attributes, Symbol name);
/// The same with a required length: `slice: starts has 2 numbers but x has rank 3`.
StatusOr<Shape> intsAttribute(std::string_view primitive, const Attributes& attributes, Symbol name, int length);
StatusOr<DType> dtypeAttribute(std::string_view primitive, const Attributes& attributes, Symbol name);
StatusOr<Symbol> nameAttribute(std::string_view primitive, const Attributes& attributes, Symbol name);
/// Absent means false.
StatusOr<bool> flagAttribute(std::string_view primitive, const Attributes& attributes, Symbol name);
/// The attribute `axis`, inside `rank`.
StatusOr<int> axisAttribute(std::string_view primitive, const Attributes& attributes, int rank);

/// Inside the rank and distinct.
Status checkAxes(std::string_view primitive, Symbol name, const Shape& axes, int rank);
/// No negative extent, and a size in bytes that 64 bits hold.
Status checkSize(std::string_view primitive, const TensorType& result);
Status checkRank(std::string_view primitive, int rank);

inline bool contains(const Shape& axes, int axis) { return std::find(axes.begin(), axes.end(), axis) != axes.end(); }

inline TensorTypes one(const TensorType& t) { return TensorTypes{t}; }

} // namespace tegula
