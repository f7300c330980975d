// The canonical form of source text: `tegula fmt`. Idempotent; keeps every comment; does not change meaning.
//
// Four spaces a block, double quotes, one blank line at most inside a body, two between definitions, lines of at most
// 100 columns where a break at commas can achieve that (a broken list has one element a line and a trailing comma).
#pragma once

#include "base/Status.h"
#include "lang/Ast.h"
#include "lang/OperatorLibrary.h"

namespace tegula::lang {

/// Fails with rendered diagnostics when the text does not parse.
StatusOr<std::string> format(const SourceFile&);
/// One definition in canonical form, without comments.
std::string formatFunction(const Function&);
/// An expression on one line.
std::string formatExpression(const Expr&);

} // namespace tegula::lang
