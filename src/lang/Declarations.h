// Syntax to meaning: what the decorators, parameters and annotations of a Function say. Bodies are checked later.
#pragma once

#include "lang/Ast.h"
#include "lang/Diagnostics.h"
#include <variant>

namespace tegula::lang {

/// What a function declares; monostate when its decorators could not be read.
using Declaration = std::variant<std::monostate, OperatorDecl, GradDecl, KernelDecl>;

/// Reads one function. `ok` turns false when something was reported.
Declaration declare(const Function&, Diagnostics&, bool& ok);

/// Element types that a `: T` in Tensor[…] may name: f32, bf16, …; nothing for classes and variables.
std::optional<DType> dtypeNamed(Symbol);

/// `e` folded to an attribute value when it is a literal (with sign), a dtype name, or a tuple of integers.
std::optional<AttrValue> literal(const Expr& e);

/// Converts a value to an attribute's type (int to float, int to a list of length n); nothing if it does not fit.
std::optional<AttrValue> convertAttribute(const AttrValue&, const AttributeType&);

} // namespace tegula::lang
