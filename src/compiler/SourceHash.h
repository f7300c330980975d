// A hash of the compiler's own sources, made at build time: part of every cache key, so that an image made by other
// code is never taken for this compiler's.
#pragma once

#include <string_view>

namespace tegula {

/// 16 hexadecimal digits; changes with any file below src/compiler.
std::string_view compilerSourceHash();

} // namespace tegula
