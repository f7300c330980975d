// Where a piece of source text lies. Lines and columns count from 1, columns in bytes.
#pragma once

#include <cstdint>
#include <tuple>

namespace tegula::lang {

struct Span {
  int32_t file = 0; // index into the list of sources that were loaded
  int32_t line = 0, column = 0;
  int32_t endLine = 0, endColumn = 0; // one past the last byte

  /// From the start of `a` to the end of `b`.
  static Span join(Span a, Span b) { return {a.file, a.line, a.column, b.endLine, b.endColumn}; }
  /// The empty place right after `a`: where something is missing.
  static Span after(Span a) { return {a.file, a.endLine, a.endColumn, a.endLine, a.endColumn}; }
  friend bool operator<(Span a, Span b) {
    return std::tie(a.file, a.line, a.column) < std::tie(b.file, b.line, b.column);
  }
};

} // namespace tegula::lang
