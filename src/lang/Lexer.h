// Source text to tokens: Python's lexical rules for the subset that the tile language uses. Lines join inside brackets
// and after a backslash; blank and comment lines make no tokens; blocks become Indent and Dedent.
//
// Recovery: a line that starts with `def`, `return`, or `@` in the first column ends whatever bracket is open, so that
// a missing `)` costs one statement and not the rest of the file.
#pragma once

#include "lang/Ast.h"
#include "lang/Diagnostics.h"
#include <string_view>
#include <vector>

namespace tegula::lang {

enum class TokenKind : uint8_t { Name, Keyword, Int, Float, String, Operator, Newline, Indent, Dedent, End };

struct Token {
  TokenKind kind;
  Span span;
  std::string_view text; // as written (a piece of the source)
  std::string value;     // String: contents with escapes resolved
  bool is(std::string_view t) const { return (kind == TokenKind::Operator || kind == TokenKind::Keyword) && text == t; }
};
/// For messages: "'+'", "the name 'x'", "the end of the line".
std::string describe(const Token&);

struct TokenList {
  std::vector<Token> tokens; // ends with End
  std::vector<Comment> comments;
  bool tabs = false; // a tab stood in an indentation and was reported: the depth of lines is a guess
};

/// Never fails: what cannot be read is reported and skipped.
TokenList tokenize(std::string_view text, int32_t file, Diagnostics&);

} // namespace tegula::lang
