// What must hold for any bytes given to the language: no crash, no hang, diagnostics with places inside the text, and
// formatting that is idempotent. Shared by the libFuzzer target and the bounded test.
#pragma once

#include "lang/Diagnostics.h"
#include "lang/Format.h"
#include "lang/OperatorLibrary.h"
#include "lang/Parser.h"
#include <cstdio>
#include <cstdlib>
#include <string>

namespace tegula {

inline void holds(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "broken for this input: %s\n", what);
  std::abort();
}

inline void checkAnyInput(const std::string& text) {
  SourceFile source{"fuzz.tile", text};
  lang::Diagnostics diagnostics;
  lang::parseModule(text, 0, diagnostics);
  for (const lang::Diagnostic& d : diagnostics.shown())
    holds(d.span.line >= 1 && d.span.column >= 1, "a diagnostic has a place");
  if (diagnostics.empty()) {
    auto once = lang::format(source);
    holds(once.ok(), "what parses can be formatted");
    auto twice = lang::format({"fuzz.tile", *once});
    holds(twice.ok(), "formatted text parses");
    holds(*once == *twice, "formatting is idempotent");
  }
  auto library = OperatorLibrary::load({&source, 1});
  holds(library.ok() || !message(library.status()).empty(), "an error has a message");
}

} // namespace tegula
