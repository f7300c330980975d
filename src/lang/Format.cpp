// The formatter: prints the syntax tree, and puts every comment before or after the statement it stood at.
#include "lang/Format.h"
#include "lang/Diagnostics.h"
#include "lang/Parser.h"
#include <algorithm>
#include <fmt/ranges.h>

namespace tegula::lang {

namespace {

constexpr size_t kWidth = 100;

/// Binding strengths, loosest first; a child that binds looser than its place asks is put in parentheses.
int precedence(const Expr& e) {
  switch (e.kind) {
  case ExprKind::Tuple:
    return e.args.empty() ? 20 : 0;
  case ExprKind::Conditional:
    return 1;
  case ExprKind::Unary:
    return e.op == Op::Not ? 4 : 12;
  case ExprKind::Binary:
    switch (e.op) {
    case Op::Or:
      return 2;
    case Op::And:
      return 3;
    case Op::BitOr:
      return 6;
    case Op::BitXor:
      return 7;
    case Op::BitAnd:
      return 8;
    case Op::Add:
    case Op::Sub:
      return 10;
    case Op::Mul:
    case Op::Div:
    case Op::FloorDiv:
    case Op::Mod:
    case Op::MatMul:
      return 11;
    case Op::Pow:
      return 13;
    default:
      return 5;
    }
  default:
    return 20;
  }
}

std::string quoted(const std::string& s) {
  std::string out = "\"";
  for (char c : s) {
    if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else if (c == '"' || c == '\\')
      out += '\\', out += c;
    else
      out += c;
  }
  return out + '"';
}

std::string print(const Expr& e, int least);

std::string printList(const std::vector<ExprPtr>& items, size_t from, const std::vector<Symbol>* keywords = nullptr) {
  std::string s;
  for (size_t i = from; i < items.size(); ++i) {
    if (i > from) s += ", ";
    if (keywords && !(*keywords)[i].empty()) s += fmt::format("{}=", (*keywords)[i].text());
    s += print(*items[i], 1);
  }
  return s;
}

/// Names and numbers hug `:` in a[1:n]; anything longer, and a stated element type, gets spaces.
std::string printSlice(const Expr& e, bool type) {
  bool spaced = type;
  for (const ExprPtr& a : e.args)
    spaced |= a && (a->is(ExprKind::Binary) || a->is(ExprKind::Conditional) || a->is(ExprKind::Call));
  std::string s = e.args[0] ? print(*e.args[0], 1) : "";
  for (size_t i = 1; i < 3; ++i) {
    if (i == 2 && !e.args[2]) break;
    s += spaced && !s.empty() ? " :" : ":";
    if (e.args[i]) s += (spaced ? " " : "") + print(*e.args[i], 1);
  }
  return s;
}

bool isTypeName(const Expr& e) { return e.isName("Tensor") || e.isName("Out") || e.isName("Residual"); }

std::string printPlain(const Expr& e) {
  switch (e.kind) {
  case ExprKind::Name:
    return std::string(e.name.text());
  case ExprKind::Int:
  case ExprKind::Float:
    return e.text;
  case ExprKind::String:
    return quoted(e.text);
  case ExprKind::Bool:
    return e.intValue ? "True" : "False";
  case ExprKind::None:
    return "None";
  case ExprKind::Ellipsis:
    return "...";
  case ExprKind::Unary:
    return (e.op == Op::Not ? std::string("not ") : std::string(spelling(e.op))) +
           print(e.arg(0), e.op == Op::Not ? 4 : 12);
  case ExprKind::Binary: {
    int p = precedence(e);
    if (e.op == Op::Pow) {
      // `**` binds tighter than a sign on its left, looser than one on its right.
      bool simple = precedence(e.arg(0)) == 20 && precedence(e.arg(1)) >= 12 && e.arg(1).kind != ExprKind::Binary;
      return print(e.arg(0), 14) + (simple ? "**" : " ** ") + print(e.arg(1), 12);
    }
    return fmt::format("{} {} {}", print(e.arg(0), p == 5 ? 6 : p), spelling(e.op), print(e.arg(1), p + 1));
  }
  case ExprKind::Conditional:
    return fmt::format("{} if {} else {}", print(e.arg(0), 2), print(e.arg(1), 2), print(e.arg(2), 1));
  case ExprKind::Call:
    return fmt::format("{}({})", print(e.arg(0), 20), printList(e.args, 1, &e.keywords));
  case ExprKind::Index: {
    std::string s;
    bool type = isTypeName(e.arg(0));
    for (size_t i = 1; i < e.args.size(); ++i) {
      if (i > 1) s += ", ";
      s += e.arg(i).is(ExprKind::Slice) ? printSlice(e.arg(i), type && e.arg(i).args[1] && !e.arg(i).args[2])
                                        : print(e.arg(i), 1);
    }
    return fmt::format("{}[{}]", print(e.arg(0), 20), s);
  }
  case ExprKind::Slice:
    return printSlice(e, false);
  case ExprKind::Member: {
    // 1.shape would read as a number.
    bool number = e.arg(0).is(ExprKind::Int) || e.arg(0).is(ExprKind::Float);
    return fmt::format(fmt::runtime(number ? "({}).{}" : "{}.{}"), print(e.arg(0), 20), e.name.text());
  }
  case ExprKind::Tuple:
    return e.args.empty() ? "()" : printList(e.args, 0) + (e.args.size() == 1 ? "," : "");
  case ExprKind::List:
    return fmt::format("[{}]", printList(e.args, 0));
  case ExprKind::Star:
    return "*" + print(e.arg(0), 6);
  }
  return {};
}

std::string print(const Expr& e, int least) {
  std::string s = printPlain(e);
  bool parentheses = precedence(e) < least || (e.is(ExprKind::Tuple) && e.parenthesized && !e.args.empty());
  return parentheses ? "(" + s + ")" : s;
}

class Printer {
public:
  explicit Printer(const std::vector<Comment>* comments) : comments_(comments) {}

  std::string module(const Module& m) {
    commentsBefore(m.hasDoc ? m.docSpan.line : m.functions.empty() ? INT32_MAX : firstLine(*m.functions[0]), 0);
    if (m.hasDoc) {
      docstring(m.doc, 0);
      trailing(m.docSpan.endLine);
    }
    for (size_t i = 0; i < m.functions.size(); ++i) {
      const Function* f = m.functions[i].get();
      bound_ = i + 1 < m.functions.size() ? firstLine(*m.functions[i + 1]) : INT32_MAX;
      size_t before = out_.size();
      bool opening = i == 0 && !m.hasDoc; // only comments stand before it
      if (before > 0 && (!opening || gapAfterComments_)) out_ += "\n\n";
      size_t mark = out_.size();
      commentsBefore(firstLine(*f), 0);
      if (out_.size() > mark && gapAfterComments_) out_ += "\n\n";
      function(*f);
    }
    size_t mark = out_.size();
    if (pending(INT32_MAX) && mark > 0) out_ += "\n\n";
    commentsBefore(INT32_MAX, 0);
    return std::move(out_);
  }

  void function(const Function& f) {
    for (const ExprPtr& d : f.decorators) {
      commentsBefore(d->span.line, 0);
      line(0, "@" + print(*d, 20));
      trailing(d->span.endLine);
    }
    commentsBefore(f.nameSpan.line, 0);
    header(f);
    // Comments inside the header follow it.
    trailing(f.nameSpan.line);
    trailing(f.span.endLine);
    commentsBefore(f.hasDoc ? f.docSpan.line : f.body.empty() ? f.endLine : f.body[0]->span.line, 1);
    if (f.hasDoc) {
      docstring(f.doc, 1);
      trailing(f.docSpan.endLine);
    }
    lastLine_ = f.hasDoc ? f.docSpan.endLine : 0;
    block(f.body, 1);
    closeBlock(0);
  }

  std::string take() { return std::move(out_); }

private:
  static int32_t firstLine(const Function& f) {
    return f.decorators.empty() ? f.span.line : std::min(f.decorators[0]->span.line, f.span.line);
  }

  void line(int indent, std::string_view text) {
    out_.append(static_cast<size_t>(indent) * 4, ' ');
    out_ += text;
    out_ += '\n';
  }

  // ---- comments
  bool pending(int32_t before) const {
    return comments_ && next_ < comments_->size() && (*comments_)[next_].span.line < before;
  }

  /// Comments of lines before `line`, each on its own line.
  void commentsBefore(int32_t before, int indent) {
    gapAfterComments_ = false;
    while (pending(before)) {
      const Comment& c = (*comments_)[next_++];
      if (lastLine_ > 0 && c.ownLine && c.span.line > lastLine_ + 1 && !out_.empty()) blank();
      line(indent, c.text);
      lastLine_ = c.span.line;
      gapAfterComments_ = before != INT32_MAX && before > c.span.line + 1;
    }
  }
  /// A comment that ends line `line` goes to the end of the last printed line.
  void trailing(int32_t at) {
    if (!comments_ || next_ >= comments_->size() || (*comments_)[next_].ownLine || (*comments_)[next_].span.line != at)
      return;
    out_.pop_back();
    out_ += "  " + (*comments_)[next_++].text + "\n";
  }
  /// Own-line comments after the last statement of a block that are indented deeper than the block's parent.
  void closeBlock(int parentIndent) {
    while (pending(bound_)) {
      const Comment& c = (*comments_)[next_];
      if (!c.ownLine || c.span.column <= parentIndent * 4 + 1) break;
      if (lastLine_ > 0 && c.span.line > lastLine_ + 1) blank();
      line(parentIndent + 1, c.text);
      lastLine_ = c.span.line;
      ++next_;
    }
  }
  void blank() {
    if (out_.size() >= 2 && out_[out_.size() - 1] == '\n' && out_[out_.size() - 2] != '\n') out_ += '\n';
  }

  // ---- pieces
  void docstring(const std::string& doc, int indent) {
    std::string pad(static_cast<size_t>(indent) * 4, ' ');
    // Lines are trimmed to the least indentation after the first; empty lines stay empty.
    std::vector<std::string> lines;
    size_t begin = 0;
    while (begin <= doc.size()) {
      size_t end = std::min(doc.find('\n', begin), doc.size());
      lines.push_back(doc.substr(begin, end - begin));
      begin = end + 1;
    }
    size_t least = SIZE_MAX;
    for (size_t i = 1; i < lines.size(); ++i) {
      size_t blanks = lines[i].find_first_not_of(' ');
      if (blanks != std::string::npos) least = std::min(least, blanks);
    }
    for (size_t i = 0; i < lines.size(); ++i) {
      std::string& l = lines[i];
      if (i > 0 && least != SIZE_MAX)
        l.erase(0, std::min(least, l.find_first_not_of(' ') == std::string::npos ? l.size() : least));
      while (!l.empty() && l.back() == ' ') l.pop_back();
    }
    while (lines.size() > 1 && lines.back().empty()) lines.pop_back();
    while (!lines[0].empty() && lines[0].front() == ' ') lines[0].erase(0, 1);
    bool raw = doc.find('\\') != std::string::npos || doc.find("\"\"\"") != std::string::npos;
    out_ += pad + "\"\"\"";
    for (size_t i = 0; i < lines.size(); ++i) {
      std::string text = lines[i];
      if (raw) {
        std::string escaped;
        for (char c : text) escaped += c == '\\' || c == '"' ? std::string("\\") + c : std::string(1, c);
        text = escaped;
      }
      if (i > 0)
        out_.append("\n").append(text.empty() ? "" : pad).append(text);
      else
        out_ += text;
    }
    if (lines.size() > 1)
      out_ += "\n" + pad;
    else if (!lines[0].empty() && lines[0].back() == '"' && !raw)
      out_.insert(out_.size() - 1, "\\");
    out_ += "\"\"\"\n";
  }

  static std::string parameter(const Parameter& p) {
    if (p.kind == Parameter::Kind::KeywordMarker) return "*";
    std::string s = p.kind == Parameter::Kind::Variadic ? "*" : "";
    s += p.name.text();
    if (p.annotation) s += ": " + print(*p.annotation, 1);
    if (p.defaultValue) s += (p.annotation ? " = " : "=") + print(*p.defaultValue, 1);
    return s;
  }

  void header(const Function& f) {
    std::string params;
    for (const Parameter& p : f.parameters) params += (params.empty() ? "" : ", ") + parameter(p);
    std::string result = f.returns ? " -> " + print(*f.returns, 1) : "";
    std::string one = fmt::format("def {}({}){}:", f.name.text(), params, result);
    if (one.size() <= kWidth || f.parameters.empty()) return line(0, one);
    line(0, fmt::format("def {}(", f.name.text()));
    for (const Parameter& p : f.parameters) line(1, parameter(p) + ",");
    if (f.returns)
      wrapped(0, ") -> ", *f.returns, ":");
    else
      line(0, "):");
  }

  void block(const Block& body, int indent) {
    int32_t outer = bound_;
    for (size_t i = 0; i < body.size(); ++i) {
      bound_ = i + 1 < body.size() ? body[i + 1]->span.line : outer;
      statement(*body[i], indent);
    }
    bound_ = outer;
  }

  void statement(const Stmt& s, int indent) {
    // One blank line of the author's stays one blank line.
    commentsBefore(s.span.line, indent);
    if (lastLine_ > 0 && s.span.line > lastLine_ + 1) blank();
    switch (s.kind) {
    case StmtKind::Assign:
      wrapped(indent, print(*s.target, 0) + " = ", *s.value, "");
      break;
    case StmtKind::AugAssign:
      wrapped(indent, fmt::format("{} {}= ", print(*s.target, 0), spelling(s.op)), *s.value, "");
      break;
    case StmtKind::Return:
      wrapped(indent, "return ", *s.value, "");
      break;
    case StmtKind::Assert:
      line(indent, "assert " + print(*s.value, 1) + (s.message ? ", " + print(*s.message, 1) : ""));
      break;
    case StmtKind::Pass:
      line(indent, "pass");
      break;
    case StmtKind::Expr:
      wrapped(indent, "", *s.value, "");
      break;
    case StmtKind::If:
      ifStatement(s, indent);
      return;
    case StmtKind::For:
      line(indent, fmt::format("for {} in {}:", print(*s.target, 0), print(*s.value, 1)));
      trailing(s.span.endLine);
      nested(s.body, indent, s.span.endLine, INT32_MAX);
      return;
    }
    trailing(s.span.endLine);
    lastLine_ = s.span.endLine;
  }

  void nested(const Block& body, int indent, int32_t headLine, int32_t bound) {
    int32_t outer = bound_;
    bound_ = std::min(bound, outer);
    lastLine_ = 0;
    block(body, indent + 1);
    if (lastLine_ == 0) lastLine_ = headLine;
    closeBlock(indent);
    bound_ = outer;
  }

  void ifStatement(const Stmt& s, int indent) {
    for (size_t i = 0; i < s.branches.size(); ++i) {
      const Stmt::Branch& b = s.branches[i];
      if (i > 0) commentsBefore(b.condition->span.line, indent);
      line(indent, fmt::format("{} {}:", i == 0 ? "if" : "elif", print(*b.condition, 1)));
      trailing(b.condition->span.endLine);
      int32_t next = i + 1 < s.branches.size() ? s.branches[i + 1].condition->span.line
                     : s.orElse.empty()        ? INT32_MAX
                                               : s.orElse[0]->span.line;
      nested(b.body, indent, b.condition->span.endLine, next);
    }
    if (s.orElse.empty()) return;
    line(indent, "else:");
    if (s.orElse[0]->span.line > 1) trailing(s.orElse[0]->span.line - 1);
    nested(s.orElse, indent, lastLine_, INT32_MAX);
  }

  /// `prefix value suffix`. A line that is too long is broken inside the brackets of the value: all its elements on one
  /// line if they fit, else one on each.
  void wrapped(int indent, const std::string& prefix, const Expr& value, std::string_view suffix) {
    std::string one = fmt::format("{}{}{}", prefix, print(value, 0), suffix);
    bool applied = value.is(ExprKind::Call) || value.is(ExprKind::Index);
    bool many = value.is(ExprKind::List) || value.is(ExprKind::Tuple);
    size_t from = applied ? 1 : 0, width = kWidth - static_cast<size_t>(indent) * 4;
    if (one.size() <= width || !(applied || many) || value.args.size() <= from) return line(indent, one);
    std::string_view open = value.is(ExprKind::Index) || value.is(ExprKind::List) ? "[" : "(";
    std::vector<std::string> items;
    for (size_t i = from; i < value.args.size(); ++i) {
      std::string key =
          value.is(ExprKind::Call) && !value.keywords[i].empty() ? fmt::format("{}=", value.keywords[i].text()) : "";
      items.push_back(key + (value.arg(i).is(ExprKind::Slice) ? printSlice(value.arg(i), isTypeName(value.arg(0)))
                                                              : print(value.arg(i), 1)));
    }
    line(indent, fmt::format("{}{}{}", prefix, applied ? print(value.arg(0), 20) : "", open));
    std::string joined = fmt::format("{}", fmt::join(items, ", "));
    if (joined.size() + 4 <= width && (applied || items.size() > 1))
      line(indent + 1, joined);
    else
      for (const std::string& i : items) line(indent + 1, i + ",");
    line(indent, fmt::format("{}{}", open == "[" ? "]" : ")", suffix));
  }

  const std::vector<Comment>* comments_;
  size_t next_ = 0;
  int32_t lastLine_ = 0;
  int32_t bound_ = INT32_MAX; // comments from this line on belong to what follows the block being printed
  bool gapAfterComments_ = false;
  std::string out_;
};

} // namespace

StatusOr<std::string> format(const SourceFile& source) {
  Diagnostics diagnostics;
  ParsedModule parsed = parseModule(source.text, 0, diagnostics);
  TG_RETURN_IF_ERROR(diagnostics.status({&source, 1}));
  return Printer(&parsed.module->comments).module(*parsed.module);
}

std::string formatFunction(const Function& f) {
  Printer p(nullptr);
  p.function(f);
  return p.take();
}

std::string formatExpression(const Expr& e) { return print(e, 0); }

} // namespace tegula::lang
