// Where errors belong.
#include "lang/TokenCursor.h"

namespace tegula::lang {

const Token& TokenCursor::next() {
  const Token& t = token();
  if (t.kind != TokenKind::End) ++pos_;
  return t;
}

bool TokenCursor::isInvisible(TokenKind k) {
  return k == TokenKind::Newline || k == TokenKind::Dedent || k == TokenKind::Indent || k == TokenKind::End;
}

Span TokenCursor::missingPlace() const {
  if (at(TokenKind::Indent)) return token().span;
  if (isInvisible(token().kind)) return forcedEnd() ? nextVisible().span : Span::after(lastVisible());
  if (pos_ == 0 || isInvisible(list_.tokens[pos_ - 1].kind)) return token().span;
  const Token& before = list_.tokens[pos_ - 1];
  if (token().span.line == before.span.endLine) {
    // The second token of a line whose first was taken for the operand of an operator at the end of the line before.
    const Token* dangling = pos_ > 1 ? &list_.tokens[pos_ - 2] : nullptr;
    // An operator at the start of a line with nothing to its right: the comma before it is missing.
    bool leads = before.kind == TokenKind::Operator && !isComma(before) && !isOpen(before) && !isClose(before);
    if (leads && dangling && !isInvisible(dangling->kind) && !isComma(*dangling) && !isOpen(*dangling) &&
        dangling->span.endLine < before.span.line)
      return Span::after(dangling->span);
    bool operatorBefore = dangling && dangling->kind == TokenKind::Operator && !isComma(*dangling) &&
                          !isOpen(*dangling) && !isClose(*dangling);
    return operatorBefore && dangling->span.line < before.span.line ? Span::after(dangling->span) : token().span;
  }
  bool alone = ahead(1).span.line > token().span.endLine || isInvisible(ahead(1).kind);
  if (isClose(token())) {
    // A closing bracket stands under the start of the line that opened it; elsewhere it is the wrong thing itself.
    bool inside = isOpen(before) && token().span.column > indentationOf(pos_ - 1);
    return isComma(before) || inside ? token().span : Span::after(before.span);
  }
  return isComma(before) || isOpen(before) || alone ? token().span : Span::after(before.span);
}

bool TokenCursor::forcedEnd() const {
  if (!at(TokenKind::Newline) || pos_ == 0 || !(isComma(list_.tokens[pos_ - 1]) || isOpen(list_.tokens[pos_ - 1])))
    return false;
  bool open = false, oneLine = false;
  brackets(&oneLine, &open);
  return open && !oneLine && nextVisible().kind == TokenKind::Keyword &&
         !(nextVisible().is("def") && nextVisible().span.column == 1);
}

const Token& TokenCursor::visibleFrom(size_t i) const {
  while (i + 1 < list_.tokens.size() && isInvisible(list_.tokens[i].kind)) ++i;
  return list_.tokens[i];
}

const Token* TokenCursor::brackets(bool* oneLine, bool* any) const {
  size_t begin = pos_;
  while (begin > 0 && list_.tokens[begin - 1].kind != TokenKind::Newline) --begin;
  std::vector<size_t> open;
  int32_t line = 0, indentation = 0;
  bool header = false;    // the line begins a definition
  bool condition = false; // the line begins a statement whose head stands on one line
  const Token* first = nullptr;
  auto consider = [&](size_t i, int32_t closedOn) {
    const Token& t = list_.tokens[i];
    if (closedOn > t.span.line && (!first || t.span < first->span)) first = &t;
  };
  for (size_t i = begin; i < pos_; ++i) {
    const Token& t = list_.tokens[i];
    if (isInvisible(t.kind)) continue;
    if (t.span.line != line) {
      line = t.span.line, indentation = t.span.column;
      header = false;
      condition = t.is("if") || t.is("elif") || t.is("for") || t.is("assert");
    }
    const Token& after = visibleFrom(i + 1);
    if (isOpen(t)) {
      // After 'def' only the parameters' own bracket may go on below.
      if (i >= 2 && list_.tokens[i - 2].is("def"))
        header = true;
      else if (header)
        condition = true;
      bool close = condition || after.span.line == t.span.line || after.span.column <= indentation;
      open.push_back(close ? i : SIZE_MAX);
    } else if (isClose(t) && !open.empty()) {
      if (open.back() != SIZE_MAX) consider(open.back(), t.span.line);
      open.pop_back();
    }
  }
  for (size_t i : open) {
    if (i == SIZE_MAX) continue;
    consider(i, token().span.line);
    if (oneLine) *oneLine = true;
  }
  if (any) *any = !open.empty();
  return first;
}

bool TokenCursor::startsStatement(size_t i) const {
  const Token &t = list_.tokens[i], &after = list_.tokens[std::min(i + 1, list_.tokens.size() - 1)];
  if (isInvisible(after.kind) || after.span.line > t.span.line) return t.is("pass");
  if (t.kind == TokenKind::Keyword)
    return t.is("return") || t.is("if") || t.is("elif") || t.is("else") || t.is("for") || t.is("assert") || t.is("def");
  if (t.is("@")) return true;
  bool assigns = after.kind == TokenKind::Operator && after.text.back() == '=' && !after.is("==");
  return t.kind == TokenKind::Name && (assigns || isComma(after) || after.is("["));
}

std::optional<Span> TokenCursor::layoutBreak() const {
  struct Open {
    Span span;
    int32_t indentation;
  };
  size_t begin = pos_;
  while (begin > 0 && !isInvisible(list_.tokens[begin - 1].kind)) --begin;
  std::vector<Open> open;
  int32_t line = 0, indentation = 0;
  for (size_t i = begin; i <= pos_; ++i) {
    const Token& t = list_.tokens[i];
    if (isInvisible(t.kind)) break;
    bool first = t.span.line != line && (i == begin || list_.tokens[i - 1].span.endLine != t.span.line);
    if (first) line = t.span.line, indentation = t.span.column;
    if (first && !open.empty()) {
      if (!isClose(t) && indentation <= open.back().indentation) {
        // The next element of an outer bracket, or the next statement; or what stands where the bracket should close.
        bool element = indentation > open.front().indentation;
        return element || startsStatement(i) ? Span::after(list_.tokens[i - 1].span) : t.span;
      }
      if (isClose(t) && indentation < open.back().indentation) return open.back().span;
    }
    if (isOpen(t)) open.push_back({t.span, indentation});
    if (isClose(t) && !open.empty()) open.pop_back();
  }
  return {};
}

Span TokenCursor::lastVisible() const {
  for (size_t i = pos_; i > 0; --i) {
    TokenKind k = list_.tokens[i - 1].kind;
    if (k != TokenKind::Newline && k != TokenKind::Indent && k != TokenKind::Dedent) return list_.tokens[i - 1].span;
  }
  return token().span;
}

void TokenCursor::fail(DiagnosticId id, Span at, const std::string& message) {
  if (std::optional<Span> broken = id == DiagnosticId::TooDeep ? std::nullopt : layoutBreak();
      broken && broken->line != at.line) {
    error(DiagnosticId::ExpectedToken, *broken,
          fmt::format("a bracket is not closed here, by the layout of this statement; line {}: {}", at.line, message));
    throw SyntaxError();
  }
  bool missing =
      id == DiagnosticId::ExpectedToken || id == DiagnosticId::ExpectedExpression || id == DiagnosticId::KeywordOrder;
  const Token* open = missing ? unclosedBracket() : nullptr;
  if (open && open->span.line < at.line)
    error(DiagnosticId::ExpectedToken, open->span,
          fmt::format("this '{}' is not closed on its line; line {}: {}", open->text, at.line, message));
  else
    error(id, at, message);
  throw SyntaxError();
}

void TokenCursor::error(DiagnosticId id, Span at, const std::string& message) {
  if (!diagnostics_.hasBetween(at.file, at.line, at.line)) diagnostics_.add({id, at, message});
  failed_ = true;
}

void TokenCursor::expect(std::string_view text, std::string_view where) {
  if (take(text)) return;
  fail(DiagnosticId::ExpectedToken, missingPlace(),
       fmt::format("expected '{}' {}, found {}", text, where, describe(token())));
}

} // namespace tegula::lang
