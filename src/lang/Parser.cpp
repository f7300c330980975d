// The recursive-descent parser. The grammar is in spec/tile-language.md, section 2; each function parses the rule
// that its name says.
#include "lang/Parser.h"
#include "lang/Lexer.h"
#include <charconv>
#include <cmath>

namespace tegula::lang {

namespace {

struct BinaryRule {
  std::string_view text;
  Op op;
  int precedence;
};
// Python's precedences, loosest first. `**` binds tighter than unary minus and is handled in power().
constexpr BinaryRule kBinary[] = {
    {"|", Op::BitOr, 1},  {"^", Op::BitXor, 2}, {"&", Op::BitAnd, 3},    {"+", Op::Add, 4},    {"-", Op::Sub, 4},
    {"*", Op::Mul, 5},    {"/", Op::Div, 5},    {"//", Op::FloorDiv, 5}, {"%", Op::Mod, 5},    {"@", Op::MatMul, 5},
};
constexpr std::pair<std::string_view, Op> kComparisons[] = {
    {"<", Op::Less},          {"<=", Op::LessEqual}, {">", Op::Greater},
    {">=", Op::GreaterEqual}, {"==", Op::Equal},     {"!=", Op::NotEqual},
};
constexpr std::pair<std::string_view, Op> kAugmented[] = {
    {"+=", Op::Add},       {"-=", Op::Sub}, {"*=", Op::Mul},    {"/=", Op::Div},    {"//=", Op::FloorDiv}, {"%=", Op::Mod},
    {"@=", Op::MatMul},    {"&=", Op::BitAnd}, {"|=", Op::BitOr}, {"^=", Op::BitXor}, {"**=", Op::Pow}};

/// Thrown away up to the statement or definition that contains the error. Internal to the parser.
struct SyntaxError {};

class Parser {
public:
  Parser(std::string_view text, int32_t file, Diagnostics& diagnostics)
      : list_(tokenize(text, file, diagnostics)), diagnostics_(diagnostics) {
    result_.module = std::make_unique<Module>();
    result_.module->file = file;
  }

  ParsedModule run() {
    moduleDoc();
    while (!at(TokenKind::End)) {
      if (take(TokenKind::Newline) || take(TokenKind::Dedent)) continue;
      definition();
    }
    result_.module->comments = std::move(list_.comments);
    return std::move(result_);
  }

private:
  // ---- tokens
  const Token& token() const { return list_.tokens[pos_]; }
  const Token& ahead(size_t n) const { return list_.tokens[std::min(pos_ + n, list_.tokens.size() - 1)]; }
  bool at(TokenKind k) const { return token().kind == k; }
  bool at(std::string_view text) const { return token().is(text); }
  const Token& next() {
    const Token& t = token();
    if (t.kind != TokenKind::End) ++pos_;
    return t;
  }
  bool take(TokenKind k) { return at(k) ? (next(), true) : false; }
  bool take(std::string_view text) { return at(text) ? (next(), true) : false; }
  Span previous() const { return pos_ > 0 ? list_.tokens[pos_ - 1].span : token().span; }

  static bool isInvisible(TokenKind k) {
    return k == TokenKind::Newline || k == TokenKind::Dedent || k == TokenKind::Indent || k == TokenKind::End;
  }
  /// Where to report that something is missing: at the token found, or at the end of the line before when that is where
  /// the sense broke off (the line ended, or it ended in something other than a comma or an opening bracket).
  Span missingPlace() const {
    if (at(TokenKind::Indent)) return token().span;
    if (isInvisible(token().kind)) return forcedEnd() ? nextVisible().span : Span::after(lastVisible());
    if (pos_ == 0 || isInvisible(list_.tokens[pos_ - 1].kind)) return token().span;
    const Token& before = list_.tokens[pos_ - 1];
    if (token().span.line == before.span.endLine) {
      // The second token of a line whose first was taken for the operand of an operator at the end of the line before.
      const Token* dangling = pos_ > 1 ? &list_.tokens[pos_ - 2] : nullptr;
      // An operator at the start of a line with nothing to its right: the comma before it is missing.
      bool leads = before.kind == TokenKind::Operator && !isComma(before) && !isOpen(before) && !isClose(before);
      if (leads && dangling && !isInvisible(dangling->kind) && !isComma(*dangling) && !isOpen(*dangling) && dangling->span.endLine < before.span.line) return Span::after(dangling->span);
      bool operatorBefore = dangling && dangling->kind == TokenKind::Operator && !isComma(*dangling) && !isOpen(*dangling) && !isClose(*dangling);
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
  /// Whether the line ended by force: the next word cannot stand inside brackets, and those here are of several lines.
  bool forcedEnd() const {
    if (!at(TokenKind::Newline) || pos_ == 0 || !(isComma(list_.tokens[pos_ - 1]) || isOpen(list_.tokens[pos_ - 1]))) return false;
    bool open = false, oneLine = false;
    brackets(&oneLine, &open);
    return open && !oneLine && nextVisible().kind == TokenKind::Keyword && !(nextVisible().is("def") && nextVisible().span.column == 1);
  }
  const Token& nextVisible() const { return visibleFrom(pos_); }
  const Token& visibleFrom(size_t i) const {
    while (i + 1 < list_.tokens.size() && isInvisible(list_.tokens[i].kind)) ++i;
    return list_.tokens[i];
  }
  /// The column of the first token on the line of token i.
  int32_t indentationOf(size_t i) const {
    while (i > 0 && list_.tokens[i - 1].span.endLine == list_.tokens[i].span.line && !isInvisible(list_.tokens[i - 1].kind)) --i;
    return list_.tokens[i].span.column;
  }
  static bool isComma(const Token& t) { return t.is(","); }
  static bool isOpen(const Token& t) { return t.is("(") || t.is("[") || t.is("{"); }
  static bool isClose(const Token& t) { return t.is(")") || t.is("]") || t.is("}"); }
  /// The first bracket of this statement that was meant to close on its line, an earlier one, and did not: something
  /// follows it there, or the next line is not indented deeper. An error further down is its fault. Null: none.
  const Token* unclosedBracket() const { return brackets(); }
  /// `oneLine`: a bracket that is open here was meant to close on its line. `any`: a bracket is open here.
  const Token* brackets(bool* oneLine = nullptr, bool* any = nullptr) const {
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
        if (i >= 2 && list_.tokens[i - 2].is("def")) header = true;
        else if (header) condition = true;
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
  Span lastVisible() const {
    for (size_t i = pos_; i > 0; --i) {
      TokenKind k = list_.tokens[i - 1].kind;
      if (k != TokenKind::Newline && k != TokenKind::Indent && k != TokenKind::Dedent) return list_.tokens[i - 1].span;
    }
    return token().span;
  }
  [[noreturn]] void fail(DiagnosticId id, Span at, const std::string& message) {
    bool missing = id == DiagnosticId::ExpectedToken || id == DiagnosticId::ExpectedExpression || id == DiagnosticId::KeywordOrder;
    const Token* open = missing ? unclosedBracket() : nullptr;
    if (open && open->span.line < at.line)
      error(DiagnosticId::ExpectedToken, open->span, fmt::format("this '{}' is not closed on its line; line {}: {}", open->text, at.line, message));
    else error(id, at, message);
    throw SyntaxError();
  }
  /// One error a line: the first explains the others.
  void error(DiagnosticId id, Span at, const std::string& message) {
    if (!diagnostics_.hasBetween(at.file, at.line, at.line)) diagnostics_.add({id, at, message});
    failed_ = true;
  }
  void expect(std::string_view text, std::string_view where) {
    if (take(text)) return;
    fail(DiagnosticId::ExpectedToken, missingPlace(), fmt::format("expected '{}' {}, found {}", text, where, describe(token())));
  }

  // ---- recovery
  /// Skips the rest of the statement, and the block under it.
  void skipStatement() {
    while (!at(TokenKind::Newline) && !at(TokenKind::End) && !at(TokenKind::Indent) && !at(TokenKind::Dedent)) next();
    take(TokenKind::Newline);
    if (at(TokenKind::Indent)) skipBlock();
  }
  void skipBlock() {
    int depth = 0;
    do {
      if (at(TokenKind::Indent)) ++depth;
      if (at(TokenKind::Dedent)) --depth;
      next();
    } while (depth > 0 && !at(TokenKind::End));
  }
  bool atDefinition() const { return token().span.column == 1 && (at("@") || at("def")); }
  void skipToDefinition() {
    while (!at(TokenKind::End) && !(atDefinition() && (pos_ == 0 || !isContinuation()))) next();
  }
  /// Whether the token stands inside a statement that began earlier.
  bool isContinuation() const {
    TokenKind k = list_.tokens[pos_ - 1].kind;
    return k != TokenKind::Newline && k != TokenKind::Indent && k != TokenKind::Dedent;
  }

  // ---- nodes
  ExprPtr make(ExprKind kind, Span span) {
    auto e = std::make_unique<Expr>();
    e->kind = kind;
    e->span = span;
    return e;
  }
  /// Sets the depth from the children and refuses trees that are too deep to walk.
  ExprPtr finish(ExprPtr e) {
    for (const ExprPtr& a : e->args)
      if (a) e->depth = std::max(e->depth, a->depth + 1);
    if (e->depth > kMaxDepth)
      fail(DiagnosticId::TooDeep, e->span, fmt::format("this expression nests more than {} deep; name a part of it", kMaxDepth));
    return e;
  }
  ExprPtr binary(Op op, ExprPtr a, ExprPtr b) {
    ExprPtr e = make(ExprKind::Binary, Span::join(a->span, b->span));
    e->op = op;
    e->args.push_back(std::move(a));
    e->args.push_back(std::move(b));
    return finish(std::move(e));
  }
  struct Depth {
    explicit Depth(Parser& p) : parser(p) {
      if (++p.depth_ <= kMaxDepth) return;
      --p.depth_; // the destructor does not run
      p.fail(DiagnosticId::TooDeep, p.token().span, fmt::format("this nests more than {} deep; name a part of it", kMaxDepth));
    }
    ~Depth() { --parser.depth_; }
    Parser& parser;
  };

  // ---- definitions
  void moduleDoc() {
    while (take(TokenKind::Newline)) {}
    if (!at(TokenKind::String)) return;
    Module& m = *result_.module;
    m.hasDoc = true;
    m.docSpan = token().span;
    guarded([&] {
      m.doc = stringValue();
      endOfStatement();
    });
  }

  void definition() {
    size_t begin = pos_;
    auto f = std::make_unique<Function>();
    failed_ = false;
    f->span = token().span;
    bool decorated = at("@");
    try {
      header(*f);
    } catch (SyntaxError) {
      recoverHeader(*f);
    }
    if (f->name.empty()) {
      if (pos_ == begin) next();
      skipToDefinition();
      return;
    }
    if (at(TokenKind::Indent) || !failed_) block(f->body, "after the header of a definition", f.get());
    f->endLine = lastVisible().endLine;
    if (!decorated && !failed_) failed_ = missingDecorator(*f);
    if (failed_) result_.broken.insert(f.get());
    result_.module->functions.push_back(std::move(f));
  }

  bool missingDecorator(const Function& f) {
    diagnostics_.report(DiagnosticId::MissingDecorator, f.nameSpan,
                        "'{}' has no decorator; expected @tile_op, @grad(…) or @tile_kernel(…) on the line before", f.name.text());
    return true;
  }

  void header(Function& f) {
    while (at("@")) decorator(f);
    if (!at("def")) {
      bool first = f.decorators.empty();
      fail(first ? DiagnosticId::ExpectedDefinition : DiagnosticId::ExpectedToken, missingDefinition(first),
           fmt::format("expected {}, found {}",
                       first ? "a definition: @tile_op, @grad(…) or @tile_kernel(…) and then 'def'" : "'def' after the decorators",
                       describe(token())));
    }
    next();
    if (!at(TokenKind::Name))
      fail(DiagnosticId::ExpectedToken, missingPlace(), fmt::format("expected a name after 'def', found {}", describe(token())));
    f.nameSpan = token().span;
    f.name = Symbol(next().text);
    expect("(", "after the name of a definition");
    parameters(f);
    expect(")", "after the parameters");
    if (take("->")) f.returns = expression();
    f.span = Span::join(f.span, previous());
    expect(":", "at the end of a definition's header");
    if (!take(TokenKind::Newline))
      fail(DiagnosticId::ExpectedBlock, missingPlace(),
           fmt::format("expected the end of the line and an indented block, found {}", describe(token())));
  }
  Span missingDefinition(bool first) const { return first ? token().span : missingPlace(); }

  /// After an error in a header: find its name if it has one, and its block.
  void recoverHeader(Function& f) {
    while (f.name.empty() && !at(TokenKind::End) && !at(TokenKind::Indent)) {
      if (at("def") && ahead(1).kind == TokenKind::Name) {
        next();
        f.nameSpan = token().span;
        f.name = Symbol(next().text);
        break;
      }
      // Stop at the next definition's decorators, but not at further decorators of this one.
      if (atDefinition() && f.decorators.empty() && !isContinuation() && at("@") && pos_ > 0 && token().span.line > f.span.line + 1) return;
      next();
    }
    while (!at(TokenKind::Newline) && !at(TokenKind::End) && !at(TokenKind::Indent) && !at(TokenKind::Dedent)) next();
    take(TokenKind::Newline);
  }

  void decorator(Function& f) {
    next();
    if (!at(TokenKind::Name))
      fail(DiagnosticId::ExpectedToken, missingPlace(),
           fmt::format("expected tile_op, grad, tile_kernel or example after '@', found {}", describe(token())));
    f.decorators.push_back(postfix());
    if (!take(TokenKind::Newline))
      fail(DiagnosticId::ExpectedToken, missingPlace(), fmt::format("expected the end of the line after a decorator, found {}", describe(token())));
  }

  void parameters(Function& f) {
    bool keywordOnly = false, hadDefault = false;
    while (!at(")") && !at(TokenKind::Newline) && !at(TokenKind::End)) {
      Parameter p;
      p.span = token().span;
      if (take("*")) p.kind = at(",") ? Parameter::Kind::KeywordMarker : Parameter::Kind::Variadic;
      if (p.kind != Parameter::Kind::KeywordMarker) {
        if (!at(TokenKind::Name))
          fail(DiagnosticId::ExpectedToken, missingPlace(), fmt::format("expected the name of a parameter, found {}", describe(token())));
        p.span = Span::join(p.span, token().span);
        p.name = Symbol(next().text);
        if (take(":")) {
          if (at(TokenKind::String)) fail(DiagnosticId::ExpectedExpression, Span::after(previous()), fmt::format("expected a type, found {}", describe(token())));
          p.annotation = expression();
        }
        if (take("=")) p.defaultValue = expression();
      }
      bool star = p.kind != Parameter::Kind::Plain;
      if (star && keywordOnly) error(DiagnosticId::InputOrder, p.span, "a second '*' among the parameters; expected at most one");
      keywordOnly |= star;
      if (!keywordOnly && hadDefault && !p.defaultValue)
        error(DiagnosticId::DefaultOrder, p.span,
              fmt::format("'{}' has no default but follows a parameter that has one; give it one, or put '*' before it", p.name.text()));
      hadDefault |= p.defaultValue != nullptr;
      f.parameters.push_back(std::move(p));
      if (!take(",")) break;
    }
  }

  // ---- statements
  void endOfStatement() {
    if (take(TokenKind::Newline) || at(TokenKind::End)) return;
    fail(DiagnosticId::ExpectedToken, missingPlace(), fmt::format("expected the end of the statement, found {}", describe(token())));
  }

  void block(Block& out, std::string_view where, Function* docOwner = nullptr) {
    if (!take(TokenKind::Indent)) {
      error(DiagnosticId::ExpectedBlock, missingPlace(), fmt::format("expected an indented block {}, found {}", where, describe(token())));
      return;
    }
    if (docOwner && at(TokenKind::String)) {
      docOwner->hasDoc = true;
      docOwner->docSpan = token().span;
      guarded([&] {
        docOwner->doc = stringValue();
        endOfStatement();
      });
      if (at(TokenKind::Dedent)) {
        error(DiagnosticId::ExpectedBlock, missingPlace(), "expected statements after the description, found the end of the block");
      }
    }
    while (!at(TokenKind::Dedent) && !at(TokenKind::End)) {
      if (take(TokenKind::Newline)) continue;
      if (at(TokenKind::Indent)) {
        // After a statement with a comma at its end, or of several lines: its brackets closed too early.
        const Stmt* last = out.empty() ? nullptr : out.back().get();
        bool severalLines = last && last->span.endLine > last->span.line && token().span.endColumn > last->span.column + 1;
        bool continues = pos_ > 1 && (list_.tokens[pos_ - 2].is(",") || severalLines);
        error(DiagnosticId::UnexpectedIndent, continues ? Span::after(lastVisible()) : token().span,
              continues ? "the next line is indented as if this statement went on; its brackets are closed here"
                        : "this line is indented deeper than its block; expected the same indentation");
        skipBlock();
        continue;
      }
      guarded([&] { out.push_back(statement()); });
    }
    take(TokenKind::Dedent);
  }

  template <typename F> void guarded(F&& parse) {
    size_t begin = pos_;
    try {
      parse();
    } catch (SyntaxError) {
      if (pos_ == begin) next();
      skipStatement();
    }
  }

  StmtPtr makeStmt(StmtKind kind) {
    auto s = std::make_unique<Stmt>();
    s->kind = kind;
    s->span = token().span;
    return s;
  }

  StmtPtr statement() {
    Depth depth(*this);
    if (at("return")) return returnStatement();
    if (at("if")) return ifStatement();
    if (at("for")) return forStatement();
    if (at("assert")) return assertStatement();
    if (at("pass")) {
      StmtPtr s = makeStmt(StmtKind::Pass);
      next();
      endOfStatement();
      return s;
    }
    if (at("@") || (at(TokenKind::Keyword) && !startsExpression()))
      fail(DiagnosticId::UnsupportedSyntax, token().span,
           fmt::format("{} cannot stand here; a body holds assignments, 'if', 'for', 'assert', 'pass' and 'return'", describe(token())));
    return simpleStatement();
  }
  bool startsExpression() const { return at("not") || at("None") || at("True") || at("False") || at("lambda") || at("await") || at("yield"); }

  StmtPtr simpleStatement() {
    StmtPtr s = makeStmt(StmtKind::Expr);
    ExprPtr e = expressionList();
    if (take("=")) {
      s->kind = StmtKind::Assign;
      checkTarget(*e, true);
      s->target = std::move(e);
      s->value = expressionList();
      if (s->value->is(ExprKind::Tuple) && !s->value->parenthesized && s->target->is(ExprKind::Name))
        fail(DiagnosticId::BadTarget, Span::after(s->value->args[0]->span), "several values for one name; write (a, b) for a tuple, or one name for each value");
      if (at("=")) fail(DiagnosticId::UnsupportedSyntax, token().span, "a second '=' in one assignment; write one statement for each");
    } else if (Op op = augmented(); op != Op::None) {
      next();
      s->kind = StmtKind::AugAssign;
      s->op = op;
      checkTarget(*e, false);
      s->target = std::move(e);
      s->value = expressionList();
    } else {
      if (at(":") || at(":=") || at(";"))
        fail(DiagnosticId::UnsupportedSyntax, token().span, fmt::format("{} cannot stand here; expected '=' or the end of the statement", describe(token())));
      s->value = std::move(e);
    }
    s->span = Span::join(s->span, previous());
    endOfStatement();
    return s;
  }

  Op augmented() const {
    for (const auto& [text, op] : kAugmented)
      if (at(text)) return op;
    return Op::None;
  }

  void checkTarget(const Expr& e, bool allowTuple) {
    if (e.is(ExprKind::Name) || (allowTuple && e.is(ExprKind::Index) && e.arg(0).is(ExprKind::Name))) return;
    if (allowTuple && e.is(ExprKind::Tuple) && !e.args.empty()) {
      for (const ExprPtr& a : e.args)
        if (!a->is(ExprKind::Name)) fail(DiagnosticId::BadTarget, a->span, "cannot assign to this; expected a name");
      return;
    }
    fail(DiagnosticId::BadTarget, e.span,
         allowTuple ? "cannot assign to this; expected a name, names with commas between, or an output's tile c[i, j]"
                    : "cannot update this; expected a name");
  }

  StmtPtr returnStatement() {
    StmtPtr s = makeStmt(StmtKind::Return);
    next();
    s->value = expressionList();
    s->span = Span::join(s->span, previous());
    endOfStatement();
    return s;
  }

  StmtPtr assertStatement() {
    StmtPtr s = makeStmt(StmtKind::Assert);
    next();
    s->value = expression();
    if (take(",")) s->message = expression();
    s->span = Span::join(s->span, previous());
    endOfStatement();
    return s;
  }

  void colonAndBlock(Block& out, std::string_view where) {
    if (!take(":")) {
      error(DiagnosticId::ExpectedToken, missingPlace(), fmt::format("expected ':' {}, found {}", where, describe(token())));
      while (!at(TokenKind::Newline) && !at(TokenKind::End)) next();
    }
    if (!take(TokenKind::Newline))
      fail(DiagnosticId::ExpectedBlock, missingPlace(), fmt::format("expected the end of the line and an indented block, found {}", describe(token())));
    block(out, where);
  }

  StmtPtr ifStatement() {
    StmtPtr s = makeStmt(StmtKind::If);
    do {
      next(); // if, elif
      Stmt::Branch& b = s->branches.emplace_back();
      b.condition = expression();
      if (s->branches.size() == 1) s->span = Span::join(s->span, previous());
      colonAndBlock(b.body, "after a condition");
    } while (at("elif"));
    if (take("else")) colonAndBlock(s->orElse, "after 'else'");
    return s;
  }

  StmtPtr forStatement() {
    StmtPtr s = makeStmt(StmtKind::For);
    next();
    s->target = targetList();
    expect("in", "after the loop's names");
    s->value = expression();
    s->span = Span::join(s->span, previous());
    colonAndBlock(s->body, "after the head of a loop");
    return s;
  }

  ExprPtr targetList() {
    std::vector<ExprPtr> names;
    Span begin = token().span;
    do {
      if (!at(TokenKind::Name))
        fail(DiagnosticId::BadTarget, missingPlace(), fmt::format("expected a name that the loop sets, found {}", describe(token())));
      names.push_back(atom());
    } while (take(","));
    if (names.size() == 1) return std::move(names[0]);
    ExprPtr e = make(ExprKind::Tuple, Span::join(begin, previous()));
    e->args = std::move(names);
    return finish(std::move(e));
  }

  // ---- expressions
  /// expression (',' expression)*: a Tuple when there is a comma.
  ExprPtr expressionList() {
    ExprPtr first = expression();
    if (!at(",")) return first;
    ExprPtr e = make(ExprKind::Tuple, first->span);
    e->args.push_back(std::move(first));
    while (take(",")) {
      if (at(TokenKind::Newline) || at("=")) break;
      e->args.push_back(expression());
    }
    e->span = Span::join(e->span, previous());
    return finish(std::move(e));
  }

  ExprPtr expression() {
    Depth depth(*this);
    ExprPtr value = logicalOr();
    if (!take("if")) return value;
    ExprPtr e = make(ExprKind::Conditional, value->span);
    e->args.push_back(std::move(value));
    e->args.push_back(logicalOr());
    expect("else", "in a conditional expression");
    e->args.push_back(expression());
    e->span = Span::join(e->span, e->args[2]->span);
    return finish(std::move(e));
  }

  ExprPtr logicalOr() {
    ExprPtr e = logicalAnd();
    while (take("or")) e = binary(Op::Or, std::move(e), logicalAnd());
    return e;
  }
  ExprPtr logicalAnd() {
    ExprPtr e = logicalNot();
    while (take("and")) e = binary(Op::And, std::move(e), logicalNot());
    return e;
  }
  ExprPtr logicalNot() {
    if (!at("not")) return comparison();
    Depth depth(*this);
    return unaryWith(Op::Not, [&] { return logicalNot(); });
  }
  template <typename F> ExprPtr unaryWith(Op op, F&& operand) {
    ExprPtr e = make(ExprKind::Unary, next().span);
    e->op = op;
    e->args.push_back(operand());
    e->span = Span::join(e->span, e->args[0]->span);
    return finish(std::move(e));
  }

  Op comparisonOperator() {
    for (const auto& [text, op] : kComparisons)
      if (take(text)) return op;
    if (take("is")) return take("not") ? Op::IsNot : Op::Is;
    return Op::None;
  }
  ExprPtr comparison() {
    ExprPtr e = arithmetic(1);
    Op op = comparisonOperator();
    if (op == Op::None) return e;
    e = binary(op, std::move(e), arithmetic(1));
    Span at = token().span;
    if (comparisonOperator() != Op::None)
      fail(DiagnosticId::ChainedComparison, at, "a chained comparison; write 'a < b and b < c', or '(a < b) & (b < c)' for tensors");
    return e;
  }

  ExprPtr arithmetic(int precedence) {
    ExprPtr e = unary();
    for (;;) {
      const BinaryRule* rule = nullptr;
      for (const BinaryRule& r : kBinary)
        if (at(r.text) && r.precedence >= precedence) rule = &r;
      if (!rule) return e;
      next();
      e = binary(rule->op, std::move(e), rule->precedence == 5 ? unary() : arithmetic(rule->precedence + 1));
    }
  }

  ExprPtr unary() {
    Op op = at("-") ? Op::Neg : at("+") ? Op::Pos : at("~") ? Op::Invert : Op::None;
    if (op == Op::None) return power();
    Depth depth(*this);
    return unaryWith(op, [&] { return unary(); });
  }

  ExprPtr power() {
    ExprPtr base = postfix();
    if (!take("**")) return base;
    Depth depth(*this);
    return binary(Op::Pow, std::move(base), unary());
  }

  ExprPtr postfix() {
    ExprPtr e = atom();
    for (;;) {
      if (at("(")) e = call(std::move(e));
      else if (at("[")) e = index(std::move(e));
      else if (at(".")) e = member(std::move(e));
      else return e;
    }
  }

  ExprPtr member(ExprPtr base) {
    next();
    if (!at(TokenKind::Name))
      fail(DiagnosticId::ExpectedToken, missingPlace(), fmt::format("expected a name after '.', found {}", describe(token())));
    ExprPtr e = make(ExprKind::Member, Span::join(base->span, token().span));
    e->name = Symbol(next().text);
    e->args.push_back(std::move(base));
    return finish(std::move(e));
  }

  ExprPtr call(ExprPtr callee) {
    next();
    ExprPtr e = make(ExprKind::Call, callee->span);
    e->args.push_back(std::move(callee));
    e->keywords.emplace_back();
    while (!at(")")) {
      Symbol keyword;
      if (at(TokenKind::Name) && ahead(1).is("=")) {
        keyword = Symbol(token().text);
        for (Symbol k : e->keywords)
          if (k == keyword) error(DiagnosticId::DuplicateKeyword, token().span, fmt::format("'{}' is given twice", keyword.text()));
        next();
        next();
      } else if (!e->keywords.back().empty()) {
        fail(DiagnosticId::KeywordOrder, missingPlace(), "an argument without a name follows one with a name; expected name=value");
      }
      e->keywords.push_back(keyword);
      e->args.push_back(at("*") ? star() : expression());
      if (!take(",")) break;
    }
    expect(")", "after the arguments");
    e->span = Span::join(e->span, previous());
    return finish(std::move(e));
  }

  ExprPtr star() {
    Span at = next().span;
    ExprPtr e = make(ExprKind::Star, at);
    e->args.push_back(arithmetic(1));
    e->span = Span::join(at, previous());
    return finish(std::move(e));
  }

  ExprPtr index(ExprPtr base) {
    Span bracket = next().span;
    ExprPtr e = make(ExprKind::Index, base->span);
    e->args.push_back(std::move(base));
    if (at("]")) fail(DiagnosticId::ExpectedExpression, token().span, "expected an index between '[' and ']'");
    while (!at("]")) {
      e->args.push_back(subscript());
      if (!take(",")) break;
    }
    if (at("=")) fail(DiagnosticId::ExpectedToken, bracket, "name=value inside an index; expected '(' for a call");
    expect("]", "after the indices");
    e->span = Span::join(e->span, previous());
    return finish(std::move(e));
  }

  ExprPtr subscript() {
    if (at("*")) return star(); // no slice after it: Python has none
    refuseTextBelow();
    if (at(":")) return sliceAfter(nullptr);
    return sliceAfter(expression());
  }
  /// A string on the next line is the description of a definition whose header did not end.
  void refuseTextBelow() {
    bool below = at(TokenKind::String) && token().span.line > previous().endLine;
    if (below && !isComma(list_.tokens[pos_ - 1]))
      fail(DiagnosticId::ExpectedExpression, Span::after(previous()), "expected an index before the end of this line, found a string below it");
  }
  /// The rest of a:b:c once `a` has been read.
  ExprPtr sliceAfter(ExprPtr low) {
    if (!at(":")) return low;
    ExprPtr e = make(ExprKind::Slice, low ? low->span : token().span);
    e->args.push_back(std::move(low));
    for (int i = 0; i < 2; ++i) {
      bool given = take(":") && !at(":") && !at(",") && !at("]");
      if (given) refuseTextBelow();
      e->args.push_back(given ? expression() : nullptr);
    }
    if (at(":")) fail(DiagnosticId::ExpectedToken, e->span, "a slice of more than three parts; expected start:stop:step");
    e->span = Span::join(e->span, previous());
    return finish(std::move(e));
  }

  std::string stringValue() {
    std::string s;
    while (at(TokenKind::String)) s += next().value;
    return s;
  }

  ExprPtr atom() {
    const Token& t = token();
    switch (t.kind) {
    case TokenKind::Name: {
      ExprPtr e = make(ExprKind::Name, next().span);
      e->name = Symbol(t.text);
      return e;
    }
    case TokenKind::Int: return integer();
    case TokenKind::Float: {
      ExprPtr e = make(ExprKind::Float, next().span);
      e->text = std::string(t.text);
      e->floatValue = std::strtod(e->text.c_str(), nullptr);
      return e;
    }
    case TokenKind::String: {
      ExprPtr e = make(ExprKind::String, t.span);
      e->text = stringValue();
      return e;
    }
    case TokenKind::Keyword: return keywordAtom();
    case TokenKind::Operator:
      if (at("(")) return parentheses();
      if (at("[")) return listInBrackets();
      if (at("...")) return make(ExprKind::Ellipsis, next().span);
      break;
    default: break;
    }
    fail(DiagnosticId::ExpectedExpression, missingPlace(), fmt::format("expected an expression, found {}", describe(t)));
  }

  ExprPtr keywordAtom() {
    if (at("None")) return make(ExprKind::None, next().span);
    if (at("True") || at("False")) {
      ExprPtr e = make(ExprKind::Bool, token().span);
      e->intValue = next().text == "True";
      return e;
    }
    if (at("lambda") || at("await") || at("yield"))
      fail(DiagnosticId::UnsupportedSyntax, token().span, fmt::format("{} is not part of the tile language", describe(token())));
    fail(DiagnosticId::ExpectedExpression, missingPlace(), fmt::format("expected an expression, found {}", describe(token())));
  }

  ExprPtr integer() {
    const Token& t = next();
    ExprPtr e = make(ExprKind::Int, t.span);
    std::string_view digits = t.text;
    int base = 10;
    if (digits.size() > 2 && (digits[1] == 'x' || digits[1] == 'X')) base = 16, digits.remove_prefix(2);
    auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), e->intValue, base);
    if (code == std::errc::result_out_of_range)
      error(DiagnosticId::BadNumber, t.span, "this integer does not fit 64 bits");
    e->text = std::string(t.text);
    return e;
  }

  ExprPtr parentheses() {
    Depth depth(*this);
    Span begin = next().span;
    if (at(")")) {
      ExprPtr e = make(ExprKind::Tuple, Span::join(begin, next().span));
      e->parenthesized = true;
      return e;
    }
    ExprPtr e = element();
    if (at(",") || e->is(ExprKind::Star)) {
      if (!at(",")) fail(DiagnosticId::ExpectedToken, missingPlace(), "expected ',' after '*' and a name in a tuple");
      ExprPtr tuple = make(ExprKind::Tuple, begin);
      tuple->args.push_back(std::move(e));
      while (take(",")) {
        if (at(")")) break;
        tuple->args.push_back(element());
      }
      e = finish(std::move(tuple));
    }
    if (at("for")) fail(DiagnosticId::UnsupportedSyntax, token().span, "comprehensions are not part of the tile language; write a 'for' statement");
    if (at("=")) fail(DiagnosticId::ExpectedToken, begin, "name=value inside parentheses that are not a call; expected the name of a function before '('");
    expect(")", "to close the '('");
    e->parenthesized = true;
    e->span = Span::join(begin, previous());
    return e;
  }

  /// An element of a tuple or list: an expression, or *expression.
  ExprPtr element() { return at("*") ? star() : expression(); }

  ExprPtr listInBrackets() {
    Depth depth(*this);
    ExprPtr e = make(ExprKind::List, next().span);
    while (!at("]")) {
      if (at(":")) fail(DiagnosticId::ExpectedToken, e->span, "a slice in a list; expected what is indexed before '['");
      e->args.push_back(element());
      if (at("for")) fail(DiagnosticId::UnsupportedSyntax, token().span, "comprehensions are not part of the tile language; write a 'for' statement");
      if (!take(",")) break;
    }
    expect("]", "to close the '['");
    e->span = Span::join(e->span, previous());
    return finish(std::move(e));
  }

  TokenList list_;
  Diagnostics& diagnostics_;
  ParsedModule result_;
  size_t pos_ = 0;
  int depth_ = 0;
  bool failed_ = false; // an error in the definition being parsed
};

} // namespace

std::string_view spelling(Op op) {
  switch (op) {
  case Op::None: return "";
  case Op::Neg: return "-";
  case Op::Pos: return "+";
  case Op::Invert: return "~";
  case Op::Not: return "not";
  case Op::And: return "and";
  case Op::Or: return "or";
  case Op::Is: return "is";
  case Op::IsNot: return "is not";
  case Op::Pow: return "**";
  default: break;
  }
  for (const BinaryRule& r : kBinary)
    if (r.op == op) return r.text;
  for (const auto& [text, o] : kComparisons)
    if (o == op) return text;
  return "?";
}

ParsedModule parseModule(std::string_view text, int32_t file, Diagnostics& diagnostics) {
  ParsedModule m = Parser(text, file, diagnostics).run();
  // What the lexer reported inside a function makes it broken too.
  for (const auto& f : m.module->functions)
    if (diagnostics.hasBetween(file, f->span.line, f->endLine)) m.broken.insert(f.get());
  return m;
}

} // namespace tegula::lang
