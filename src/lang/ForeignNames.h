// Names of Python, NumPy and PyTorch that come by habit, and what the tile language has instead: the hints of
// diagnostics. One table for each kind of name.
#pragma once

#include <string>
#include <string_view>

namespace tegula::lang {

/// "f32" for "float32", "i64" for "long"; empty when it is no other name of an element type.
std::string_view foreignType(std::string_view name);
/// `; did you mean 'f32'?` for another name of an element type, or a name that is near to one; or nothing.
std::string didYouMeanType(std::string_view name);
/// The same for what may follow the ':' in Tensor[…], where a class, float or int, may stand too.
std::string didYouMeanElementType(std::string_view name);
/// The same for another name only: not for what is near.
std::string didYouMeanForeignType(std::string_view name);
/// Whether it is what Python programs call a module of mathematics: "np", "torch", "math".
bool isForeignModule(std::string_view name);
/// `; write int | None` for the annotation "Optional"; or nothing.
std::string insteadOfAnnotation(std::string_view name);
/// `; write full(shape, 0)` for "zeros"; or nothing.
std::string insteadOfFunction(std::string_view name);
/// `; write transpose(x)` for the member or method "T"; or nothing.
std::string insteadOfMember(std::string_view name);
/// `; did you mean 'True'?` for "true", "newaxis"; or nothing.
std::string insteadOfName(std::string_view name);

} // namespace tegula::lang
