// The lexer: one pass over the bytes.
#include "lang/Lexer.h"

#include "base/Utf8.h"
#include <algorithm>
#include <array>

namespace tegula::lang {

namespace {

constexpr std::array kKeywords = {"False",  "None",   "True",    "and",      "as",       "assert", "async",
                                  "await",  "break",  "class",   "continue", "def",      "del",    "elif",
                                  "else",   "except", "finally", "for",      "from",     "global", "if",
                                  "import", "in",     "is",      "lambda",   "nonlocal", "not",    "or",
                                  "pass",   "raise",  "return",  "try",      "while",    "with",   "yield"};

// Longest first within a first character.
constexpr std::array kOperators = {
    "...", "**=", "//=", "<<=", ">>=", "->", "**", "//", "<<", ">>", "<=", ">=", "==", "!=", "+=", "-=",
    "*=",  "/=",  "@=",  "%=",  "&=",  "|=", "^=", ":=", "+",  "-",  "*",  "/",  "%",  "@",  "&",  "|",
    "^",   "~",   "<",   ">",   "=",   "(",  ")",  "[",  "]",  "{",  "}",  ",",  ":",  ".",  ";"};

bool isNameStart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isNamePart(char c) { return isNameStart(c) || isDigit(c); }

/// What looks like a piece of the language and is not, by code point.
struct Lookalike {
  char32_t code;
  std::string_view name, instead;
};
constexpr Lookalike kLookalikes[] = {{'!', "", "write 'not', or '!=' to compare"},
                                     {'`', "", "strings stand in \"…\""},
                                     {0xA0, "no-break space", "write a space"},
                                     {0xAD, "soft hyphen", "delete it"},
                                     {0x200B, "zero-width space", "delete it"},
                                     {0x200C, "zero-width non-joiner", "delete it"},
                                     {0x200D, "zero-width joiner", "delete it"},
                                     {0x2060, "word joiner", "delete it"},
                                     {0xFEFF, "byte order mark", "delete it"},
                                     {0x3000, "ideographic space", "write a space"},
                                     {0x2018, "left single quotation mark", "write '"},
                                     {0x2019, "right single quotation mark", "write '"},
                                     {0x201C, "left double quotation mark", "write \""},
                                     {0x201D, "right double quotation mark", "write \""},
                                     {0x2013, "en dash", "write -"},
                                     {0x2014, "em dash", "write -"},
                                     {0x2212, "minus sign", "write -"},
                                     {0xD7, "multiplication sign", "write *"},
                                     {0x2264, "less-than or equal to", "write <="},
                                     {0x2265, "greater-than or equal to", "write >="},
                                     {0x2260, "not equal to", "write !="},
                                     {0x2026, "horizontal ellipsis", "write ..."}};

/// The bytes of the first code point, by the first of them.
std::string_view firstCharacter(std::string_view s) {
  auto lead = static_cast<unsigned char>(s[0]);
  return s.substr(0, lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1);
}

/// Of one character that is UTF-8.
char32_t codePoint(std::string_view s) {
  auto lead = static_cast<unsigned char>(s[0]);
  char32_t code = s.size() == 1 ? lead : lead & (0x7Fu >> s.size());
  for (char c : s.substr(1)) code = code << 6 | (static_cast<unsigned char>(c) & 0x3Fu);
  return code;
}

const Lookalike* lookalike(char32_t code) {
  for (const Lookalike& l : kLookalikes)
    if (l.code == code) return &l;
  return nullptr;
}

/// "'$'", for what may not be seen "U+00A0 (no-break space)", and "this" for bytes that are no text.
std::string characterName(std::string_view c) {
  if (findInvalidUtf8(c) != std::string_view::npos) return "this";
  char32_t code = codePoint(c);
  if (code > 0x20 && code < 0x7F) return fmt::format("'{}'", c);
  const Lookalike* l = lookalike(code);
  std::string number = fmt::format("U+{:04X}", static_cast<uint32_t>(code));
  return l ? fmt::format("{} ({})", number, l->name) : number;
}

std::string_view insteadOfCharacter(std::string_view c) {
  const Lookalike* l = findInvalidUtf8(c) == std::string_view::npos ? lookalike(codePoint(c)) : nullptr;
  return l ? l->instead : "expected a name, a number, a string or an operator";
}

class Lexer {
public:
  Lexer(std::string_view text, int32_t file, Diagnostics& diagnostics)
      : text_(text), file_(file), diagnostics_(diagnostics) {
    if (text_.substr(0, 3) == "\xEF\xBB\xBF") pos_ = lineStart_ = 3;
  }

  TokenList run() {
    checkEncoding();
    while (!atEnd()) {
      if (lineBegins_) beginLine();
      if (atEnd()) break;
      token();
    }
    if (!tokens_.empty() && tokens_.back().kind != TokenKind::Newline) push(TokenKind::Newline, here(), {});
    while (indents_.size() > 1) indents_.pop_back(), push(TokenKind::Dedent, here(), {});
    push(TokenKind::End, here(), {});
    return {std::move(tokens_), std::move(comments_), tabs_};
  }

private:
  /// The first byte that is not text, wherever it stands: comments and strings are not looked at otherwise.
  void checkEncoding() {
    size_t bad = std::min(findInvalidUtf8(text_), text_.find('\0'));
    if (bad == std::string_view::npos) return;
    auto line = static_cast<int32_t>(std::ranges::count(text_.substr(0, bad), '\n')) + 1;
    size_t begin = line == 1 ? lineStart_ : text_.rfind('\n', bad) + 1;
    auto column = static_cast<int32_t>(bad - begin) + 1;
    invalidAt_ = bad;
    diagnostics_.report(DiagnosticId::NotUtf8, {file_, line, column, line, column + 1},
                        "byte 0x{:02x} is not UTF-8 text; convert the file, for example: iconv -f ISO-8859-1 -t UTF-8",
                        static_cast<unsigned char>(text_[bad]));
  }
  bool atEnd() const { return pos_ >= text_.size(); }
  char peek(size_t ahead = 0) const { return pos_ + ahead < text_.size() ? text_[pos_ + ahead] : '\0'; }
  bool startsWith(std::string_view s) const { return text_.substr(pos_, s.size()) == s; }
  Span from(size_t begin) const {
    return {file_, line_, static_cast<int32_t>(begin - lineStart_) + 1, line_,
            static_cast<int32_t>(pos_ - lineStart_) + 1};
  }
  Span here() const { return from(pos_); }
  void push(TokenKind kind, Span span, std::string_view text) { tokens_.push_back({kind, span, text, {}}); }

  void newLine() {
    ++pos_;
    ++line_;
    lineStart_ = pos_;
    lineBegins_ = true;
  }

  /// Whether the text here is the whole word `w`.
  bool wordHere(std::string_view w) const { return startsWith(w) && !isNamePart(peek(w.size())); }

  /// Whether a whole return statement begins here: the word alone is none.
  bool returnsHere() const {
    if (!wordHere("return")) return false;
    std::string_view rest = text_.substr(pos_ + 6);
    return rest.substr(0, rest.find('\n')).find_first_not_of(" \t\r") != std::string_view::npos;
  }

  /// At the first byte of a line: blank lines, comments, indentation.
  void beginLine() {
    lineBegins_ = false;
    size_t begin = pos_;
    while (peek() == ' ' || peek() == '\t' || peek() == '\f' || peek() == '\r') ++pos_;
    if (atEnd() || peek() == '\n' || peek() == '#') return; // no indentation to speak of
    if (depth_ > 0) {
      bool starts = wordHere("def") || returnsHere() || (peek() == '@' && pos_ == begin);
      if (!starts) return;
      depth_ = 0;
      endStatement();
    }
    if (joined_) {
      joined_ = false;
      return;
    }
    std::string_view blank = text_.substr(begin, pos_ - begin);
    if (blank.find('\t') != std::string_view::npos) return tabbed(blank, from(begin));
    indentTo(static_cast<int>(blank.size()), from(begin));
  }

  /// Said at the first of a file. The line is taken to be in the nearest block that can hold it.
  void tabbed(std::string_view blank, Span span) {
    if (!tabs_) diagnostics_.report(DiagnosticId::TabIndent, span, "a tab in the indentation; indent with spaces");
    tabs_ = true;
    constexpr int kTab = 4; // columns
    int width = 0;
    for (char c : blank) width = c == '\t' ? (width / kTab + 1) * kTab : width + 1;
    const Token* before = lastVisible(tokens_.size());
    if (before && before->is(":")) {
      width = std::max(width, indents_.back() + 1);
    } else if (indents_.size() > 1) {
      width = *std::ranges::min_element(indents_.begin() + 1, indents_.end(), {},
                                        [width](int open) { return std::abs(open - width); });
    } else {
      width = 0;
    }
    indentTo(width, span);
  }

  void indentTo(int width, Span span) {
    if (width > indents_.back()) {
      if (indents_.size() > kMaxDepth + 1) return; // the parser refuses what nests deeper
      indents_.push_back(width);
      blockStart_ = span;
      push(TokenKind::Indent, span, {});
      return;
    }
    int inner = indents_.back();
    Span block = blockStart_;
    while (width < indents_.back()) {
      indents_.pop_back();
      push(TokenKind::Dedent, here(), {});
    }
    if (width == indents_.back() || tabs_) return;
    // Of two lines that should agree, the one that is not at a multiple of four is the odd one.
    if (inner % 4 != 0 && width % 4 == 0 && block.line > 0) {
      diagnostics_.report(DiagnosticId::BadIndent, block,
                          "this block is indented by {} spaces, but line {} by {}, which no open block is", inner,
                          line_, width);
      return;
    }
    diagnostics_.report(DiagnosticId::BadIndent, here(),
                        "this line is indented by {} spaces, which no open block is; the nearest has {}", width,
                        indents_.back());
  }

  void endStatement() {
    if (tokens_.empty()) return;
    TokenKind last = tokens_.back().kind;
    if (last == TokenKind::Newline || last == TokenKind::Indent || last == TokenKind::Dedent) return;
    push(TokenKind::Newline, Span::after(tokens_.back().span), {});
  }

  void token() {
    char c = peek();
    if (c == '\n') {
      if (depth_ == 0) endStatement();
      newLine();
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f') {
      ++pos_;
    } else if (c == '#') {
      comment();
    } else if (c == '\\' && (peek(1) == '\n' || (peek(1) == '\r' && peek(2) == '\n'))) {
      pos_ += peek(1) == '\r' ? 2 : 1;
      newLine();
      joined_ = true;
    } else if (isNameStart(c)) {
      name();
    } else if (isDigit(c) || (c == '.' && isDigit(peek(1)))) {
      number();
    } else if (c == '"' || c == '\'') {
      string();
    } else {
      symbol();
    }
  }

  void comment() {
    size_t begin = pos_;
    bool own = text_.substr(lineStart_, pos_ - lineStart_).find_first_not_of(" \t") == std::string_view::npos;
    while (!atEnd() && peek() != '\n') ++pos_;
    std::string_view text = text_.substr(begin, pos_ - begin);
    while (!text.empty() && (text.back() == '\r' || text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
    comments_.push_back({from(begin), std::string(text), own});
  }

  void name() {
    size_t begin = pos_;
    while (isNamePart(peek())) ++pos_;
    std::string_view text = text_.substr(begin, pos_ - begin);
    bool keyword = std::find(kKeywords.begin(), kKeywords.end(), text) != kKeywords.end();
    push(keyword ? TokenKind::Keyword : TokenKind::Name, from(begin), text);
  }

  void number() {
    size_t begin = pos_;
    bool isFloat = false;
    if (peek() == '0' && (peek(1) == 'x' || peek(1) == 'X')) {
      pos_ += 2;
      while (std::isxdigit(static_cast<unsigned char>(peek()))) ++pos_;
    } else {
      while (isDigit(peek())) ++pos_;
      if (peek() == '.' && !startsWith("...")) isFloat = true, ++pos_;
      while (isDigit(peek())) ++pos_;
      if ((peek() == 'e' || peek() == 'E') &&
          (isDigit(peek(1)) || ((peek(1) == '+' || peek(1) == '-') && isDigit(peek(2))))) {
        isFloat = true;
        pos_ += 2;
        while (isDigit(peek())) ++pos_;
      }
    }
    size_t end = pos_;
    while (isNamePart(peek())) ++pos_;
    std::string_view text = text_.substr(begin, end - begin);
    bool leadingZero = !isFloat && text.size() > 1 && text[0] == '0' && isDigit(text[1]);
    if (end != pos_ || text == "0x" || text == "0X" || leadingZero)
      diagnostics_.report(DiagnosticId::BadNumber, from(begin), "'{}' is not a number; expected 12, 0x1f, 0.5 or 1e-5",
                          text_.substr(begin, std::min<size_t>(pos_ - begin, 40)));
    push(isFloat ? TokenKind::Float : TokenKind::Int, from(begin), text);
  }

  void string() {
    size_t begin = pos_;
    Span start = here();
    char quote = peek();
    bool triple = peek(1) == quote && peek(2) == quote;
    pos_ += triple ? 3 : 1;
    std::string value;
    bool closed = false;
    while (!atEnd()) {
      char c = peek();
      if (c == quote && (!triple || (peek(1) == quote && peek(2) == quote))) {
        pos_ += triple ? 3 : 1;
        closed = true;
        break;
      }
      if (c == '\n') {
        if (!triple) break;
        value += c;
        newLine();
        lineBegins_ = false;
        continue;
      }
      if (c == '\\') {
        escape(value);
        continue;
      }
      value += c;
      ++pos_;
    }
    Span span = Span::join(start, here());
    if (!closed) {
      diagnostics_.report(DiagnosticId::UnterminatedString, start, "this string has no closing {}",
                          triple ? std::string(3, quote) : std::string(1, quote));
      if (triple) span = start;
    }
    tokens_.push_back({TokenKind::String, span, text_.substr(begin, pos_ - begin), std::move(value)});
  }

  void escape(std::string& value) {
    size_t begin = pos_++;
    char c = peek();
    if (c == '\n') return newLine(), void(lineBegins_ = false);
    if (!atEnd()) ++pos_;
    switch (c) {
    case 'n':
      value += '\n';
      return;
    case 't':
      value += '\t';
      return;
    case '\\':
    case '"':
    case '\'':
      value += c;
      return;
    default:
      break;
    }
    diagnostics_.report(DiagnosticId::BadEscape, from(begin),
                        R"(unknown escape in a string; expected \n, \t, \\, \" or \')");
  }

  void symbol() {
    size_t begin = pos_;
    for (std::string_view op : kOperators) {
      if (!startsWith(op)) continue;
      pos_ += op.size();
      bracket(text_.substr(begin, op.size()), from(begin));
      return;
    }
    // One report for a run of strange bytes.
    auto strange = [](char c) {
      return static_cast<unsigned char>(c) >= 0x80 || c == '$' || c == '?' || c == '!' || c == '`' || c == '\\' ||
             (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t' && c != '\r') || c == 0x7f;
    };
    while (!atEnd() && strange(peek())) ++pos_;
    if (pos_ == begin) ++pos_;
    if (begin <= invalidAt_ && invalidAt_ < pos_) return; // said in checkEncoding
    std::string_view first = firstCharacter(text_.substr(begin));
    diagnostics_.report(DiagnosticId::BadCharacter, from(begin), "{} is not part of the tile language; {}",
                        characterName(first), insteadOfCharacter(first));
  }

  void bracket(std::string_view op, Span span) {
    if (op == "(" || op == "[" || op == "{") {
      if (depth_++ == 0) outermost_ = line_;
    }
    if (op == ")" || op == "]" || op == "}") {
      if (depth_ == 0) {
        unmatched(op, span);
        return;
      }
      if (--depth_ == 0) closedSeveralLines_ = outermost_ < line_;
    }
    push(TokenKind::Operator, span, op);
  }

  /// A closing bracket that closes nothing. When it is the first thing on its line, as the formatter writes brackets of
  /// several lines, either an earlier one closed too early, or the opening one is missing on the line it stands under.
  void unmatched(std::string_view op, Span span) {
    bool first = text_.substr(lineStart_, static_cast<size_t>(span.column) - 1).find_first_not_of(" \t") ==
                 std::string_view::npos;
    std::string_view rest = text_.substr(pos_, text_.find('\n', pos_) - pos_);
    bool last = rest.find_first_not_of(" ,:)\r") == std::string_view::npos || rest.substr(0, 3) == " ->";
    const Token* before = lastVisible(tokens_.size());
    bool ended = before && (before->is(",") || before->is(")") || before->is("]"));
    if (first && last && ended && closedSeveralLines_ && before->span.line + 1 >= span.line) {
      diagnostics_.report(DiagnosticId::UnmatchedBracket, before->span,
                          "the brackets of this statement are closed here, but '{}' follows on line {}", op, span.line);
      return;
    }
    const Token* head = first && last ? headAbove(span) : nullptr;
    // After ':' the lines between are a block. In the first column no block ends with a bracket. After an opening
    // bracket it was closed too early, and what follows was reported already.
    bool opens = head && (head->is("(") || head->is("[") || head->is("{"));
    if (head && !opens && (!head->is(":") || span.column == 1) && head->span.line + 1 < span.line)
      diagnostics_.report(DiagnosticId::UnmatchedBracket, Span::after(head->span),
                          "no bracket is open at the end of this line, but '{}' on line {} closes one", op, span.line);
    else
      diagnostics_.report(DiagnosticId::UnmatchedBracket, span, "'{}' closes nothing", op);
  }

  /// The last of the tokens before `end` that can be seen, or null.
  const Token* lastVisible(size_t end) const {
    while (end > 0 && tokens_[end - 1].text.empty()) --end;
    return end > 0 ? &tokens_[end - 1] : nullptr;
  }

  /// The last token of the nearest line above that is indented no deeper than `at`, or null.
  const Token* headAbove(Span at) const {
    const Token* end = nullptr; // the last token of the line that is looked at
    for (size_t i = tokens_.size(); i > 0; --i) {
      const Token& t = tokens_[i - 1];
      if (t.text.empty()) continue;
      if (!end || t.span.endLine != end->span.line) end = &t;
      const Token* before = lastVisible(i - 1);
      bool begins = !before || before->span.endLine < t.span.line;
      if (begins && t.span.line < at.line && t.span.column <= at.column) return end;
    }
    return nullptr;
  }

  std::string_view text_;
  int32_t file_;
  Diagnostics& diagnostics_;
  size_t pos_ = 0, lineStart_ = 0;
  size_t invalidAt_ = std::string_view::npos; // of the byte that checkEncoding reported
  int32_t line_ = 1;
  int depth_ = 0;                   // open brackets
  int32_t outermost_ = 0;           // the line of the first of them
  bool closedSeveralLines_ = false; // the last brackets that closed stood on several lines
  bool lineBegins_ = true, joined_ = false, tabs_ = false;
  std::vector<int> indents_ = {0};
  Span blockStart_; // of the block begun last
  std::vector<Token> tokens_;
  std::vector<Comment> comments_;
};

} // namespace

std::string describe(const Token& t) {
  switch (t.kind) {
  case TokenKind::Name:
    return fmt::format("the name '{}'", t.text.substr(0, 40));
  case TokenKind::Keyword:
    return fmt::format("the keyword '{}'", t.text);
  case TokenKind::Int:
  case TokenKind::Float:
    return fmt::format("the number {}", t.text.substr(0, 40));
  case TokenKind::String:
    return "a string";
  case TokenKind::Operator:
    return fmt::format("'{}'", t.text);
  case TokenKind::Newline:
    return "the end of the line";
  case TokenKind::Indent:
    return "an indented line";
  case TokenKind::Dedent:
    return "the end of the block";
  case TokenKind::End:
    return "the end of the file";
  }
  return {};
}

TokenList tokenize(std::string_view text, int32_t file, Diagnostics& diagnostics) {
  return Lexer(text, file, diagnostics).run();
}

} // namespace tegula::lang
