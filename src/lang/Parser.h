// Tokens to syntax: recursive descent with bounded depth. An error is reported once, at the place where something is
// missing or wrong, and parsing goes on at the next statement or definition; a definition that held an error is marked
// so that later stages do not report its consequences.
#pragma once

#include "lang/Ast.h"
#include "lang/Diagnostics.h"
#include <string_view>
#include <unordered_set>

namespace tegula::lang {

struct ParsedModule {
  std::unique_ptr<Module> module;
  /// Functions whose syntax had errors: their names exist, their contents are not checked.
  std::unordered_set<const Function*> broken;
};

/// Never fails; what was wrong is in the diagnostics.
ParsedModule parseModule(std::string_view text, int32_t file, Diagnostics&);

} // namespace tegula::lang
