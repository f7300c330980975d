// The parser's place in the tokens: looking, taking, and reporting. Most of it is the question where an error belongs:
// the token that cannot be taken is often on the line after the one that is wrong. Private to the parser.
#pragma once

#include "lang/Lexer.h"
#include <optional>

namespace tegula::lang {

/// Thrown up to the statement or definition that contains the error; never leaves the parser.
struct SyntaxError {};

class TokenCursor {
protected:
  TokenCursor(std::string_view text, int32_t file, Diagnostics& diagnostics)
      : list_(tokenize(text, file, diagnostics)), diagnostics_(diagnostics) {}

  const Token& token() const { return list_.tokens[pos_]; }
  const Token& ahead(size_t n) const { return list_.tokens[std::min(pos_ + n, list_.tokens.size() - 1)]; }
  bool at(TokenKind k) const { return token().kind == k; }
  bool at(std::string_view text) const { return token().is(text); }
  const Token& next();
  bool take(TokenKind k) { return at(k) ? (next(), true) : false; }
  bool take(std::string_view text) { return at(text) ? (next(), true) : false; }
  Span previous() const { return pos_ > 0 ? list_.tokens[pos_ - 1].span : token().span; }
  static bool isInvisible(TokenKind k);
  /// Where to report that something is missing: at the token found, or at the end of the line before when that is where
  /// the sense broke off (the line ended, or it ended in something other than a comma or an opening bracket).
  Span missingPlace() const;
  /// Whether the line ended by force: the next word cannot stand inside brackets, and those here are of several lines.
  bool forcedEnd() const;
  const Token& nextVisible() const { return visibleFrom(pos_); }
  const Token& visibleFrom(size_t i) const;
  /// The column of the first token on the line of token i.
  int32_t indentationOf(size_t i) const {
    while (i > 0 && list_.tokens[i - 1].span.endLine == list_.tokens[i].span.line &&
           !isInvisible(list_.tokens[i - 1].kind))
      --i;
    return list_.tokens[i].span.column;
  }
  static bool isComma(const Token& t) { return t.is(","); }
  static bool isOpen(const Token& t) { return t.is("(") || t.is("[") || t.is("{"); }
  static bool isClose(const Token& t) { return t.is(")") || t.is("]") || t.is("}"); }
  /// The first bracket of this statement that was meant to close on its line, an earlier one, and did not: something
  /// follows it there, or the next line is not indented deeper. An error further down is its fault. Null: none.
  const Token* unclosedBracket() const { return brackets(); }
  /// `oneLine`: a bracket that is open here was meant to close on its line. `any`: a bracket is open here.
  const Token* brackets(bool* oneLine = nullptr, bool* any = nullptr) const;
  /// Where the layout shows that a bracket of this statement was not closed: a line inside it that is indented no
  /// deeper than the line that opened it and does not begin with the closing bracket, or a closing bracket that stands
  /// under an earlier line than the one it would close. Only asked after an error, because layout inside brackets is
  /// free.
  std::optional<Span> layoutBreak() const;
  /// Whether a statement or definition could begin at token i, by the token after it.
  bool startsStatement(size_t i) const;
  Span lastVisible() const;
  [[noreturn]] void fail(DiagnosticId id, Span at, const std::string& message);
  /// One error a line: the first explains the others.
  void error(DiagnosticId id, Span at, const std::string& message);
  void expect(std::string_view text, std::string_view where);

  TokenList list_;
  Diagnostics& diagnostics_;
  size_t pos_ = 0;
  bool failed_ = false; // an error in the definition being parsed
};

} // namespace tegula::lang
