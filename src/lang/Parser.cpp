// Definitions and statements. The grammar is in spec/tile-language.md, section 2; each function parses the rule that
// its name says.
#include "lang/Parser.h"
#include "lang/ExpressionParser.h"
#include <utility>

namespace tegula::lang {

namespace {

constexpr std::pair<std::string_view, Op> kAugmented[] = {{"+=", Op::Add},    {"-=", Op::Sub},       {"*=", Op::Mul},
                                                          {"/=", Op::Div},    {"//=", Op::FloorDiv}, {"%=", Op::Mod},
                                                          {"@=", Op::MatMul}, {"&=", Op::BitAnd},    {"|=", Op::BitOr},
                                                          {"^=", Op::BitXor}, {"**=", Op::Pow}};

class Parser : ExpressionParser {
public:
  Parser(std::string_view text, int32_t file, Diagnostics& diagnostics) : ExpressionParser(text, file, diagnostics) {
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

  // ---- definitions
  void moduleDoc() {
    while (take(TokenKind::Newline)) {
    }
    if (!at(TokenKind::String)) return;
    Module& m = *result_.module;
    m.hasDoc = true;
    m.docSpan = token().span;
    guarded([&] {
      m.doc = stringValue();
      endOfStatement();
    });
  }

  /// A statement where a definition should begin: said once, for one import is seldom alone.
  bool foreignStatement() {
    if (at("@") || at("def") || at(TokenKind::Indent) || lostDecorator()) return false;
    // After an error on the line before, this may be the rest of a definition.
    if (!diagnostics_.hasBetween(token().span.file, lastVisible().line, token().span.line) &&
        !std::exchange(statementSaid_, true))
      error(DiagnosticId::ExpectedDefinition, token().span,
            fmt::format("a file holds definitions only: @tile_op, @grad(…) or @tile_kernel(…) and then 'def'; found {}",
                        describe(token())));
    skipStatement();
    return true;
  }

  /// Whether this line names a decorator, so that it is one whose '@' is wrong.
  bool lostDecorator() const {
    for (size_t i = pos_; i < list_.tokens.size() && list_.tokens[i].kind != TokenKind::Newline; ++i)
      for (std::string_view name : {"tile_op", "grad", "tile_kernel", "example", "def"})
        if (list_.tokens[i].text == name) return true;
    return false;
  }

  void definition() {
    if (foreignStatement()) return;
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
                        "'{}' has no decorator; expected @tile_op, @grad(…) or @tile_kernel(…) on the line before",
                        f.name.text());
    return true;
  }

  void header(Function& f) {
    while (at("@")) decorator(f);
    if (!at("def")) {
      bool first = f.decorators.empty();
      fail(first ? DiagnosticId::ExpectedDefinition : DiagnosticId::ExpectedToken, missingDefinition(first),
           fmt::format("expected {}, found {}",
                       first ? "a definition: @tile_op, @grad(…) or @tile_kernel(…) and then 'def'"
                             : "'def' after the decorators",
                       describe(token())));
    }
    next();
    if (!at(TokenKind::Name))
      fail(DiagnosticId::ExpectedToken, missingPlace(),
           fmt::format("expected a name after 'def', found {}", describe(token())));
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
      // Another definition's decorators begin after the blank lines that follow this one's.
      bool another =
          at("@") && token().span.column == 1 && !isContinuation() && token().span.line > lastVisible().endLine + 1;
      if (another && f.decorators.empty()) return;
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
      fail(DiagnosticId::ExpectedToken, missingPlace(),
           fmt::format("expected the end of the line after a decorator, found {}", describe(token())));
  }

  void parameters(Function& f) {
    bool keywordOnly = false, hadDefault = false;
    while (!at(")") && !at(TokenKind::Newline) && !at(TokenKind::End)) {
      if (at("**")) unsupported("parameters are named one by one; '**' cannot stand before one");
      if (at("/")) unsupported("'/' cannot stand among parameters; '*' starts those passed by name");
      Parameter p;
      p.span = token().span;
      if (take("*")) p.kind = at(",") ? Parameter::Kind::KeywordMarker : Parameter::Kind::Variadic;
      if (p.kind != Parameter::Kind::KeywordMarker) {
        if (!at(TokenKind::Name))
          fail(DiagnosticId::ExpectedToken, missingPlace(),
               fmt::format("expected the name of a parameter, found {}", describe(token())));
        p.span = Span::join(p.span, token().span);
        p.name = Symbol(next().text);
        if (take(":")) {
          if (at(TokenKind::String))
            fail(DiagnosticId::ExpectedExpression, Span::after(previous()),
                 fmt::format("expected a type, found {}", describe(token())));
          p.annotation = expression();
        }
        if (take("=")) p.defaultValue = expression();
      }
      bool star = p.kind != Parameter::Kind::Plain;
      if (star && keywordOnly)
        error(DiagnosticId::InputOrder, p.span, "a second '*' among the parameters; expected at most one");
      keywordOnly |= star;
      if (!keywordOnly && hadDefault && !p.defaultValue)
        error(DiagnosticId::DefaultOrder, p.span,
              fmt::format("'{}' has no default but follows a parameter that has one; give it one, or put '*' before it",
                          p.name.text()));
      hadDefault |= p.defaultValue != nullptr;
      f.parameters.push_back(std::move(p));
      if (!take(",")) break;
    }
  }

  // ---- statements
  void endOfStatement() {
    if (take(TokenKind::Newline) || at(TokenKind::End)) return;
    fail(DiagnosticId::ExpectedToken, missingPlace(),
         fmt::format("expected the end of the statement, found {}", describe(token())));
  }

  void block(Block& out, std::string_view where, Function* docOwner = nullptr) {
    if (!take(TokenKind::Indent)) {
      error(DiagnosticId::ExpectedBlock, missingPlace(),
            fmt::format("expected an indented block {}, found {}", where, describe(token())));
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
        error(DiagnosticId::ExpectedBlock, missingPlace(),
              "expected statements after the description, found the end of the block");
      }
    }
    while (!at(TokenKind::Dedent) && !at(TokenKind::End)) {
      if (take(TokenKind::Newline)) continue;
      if (at(TokenKind::Indent)) {
        // After a statement with a comma at its end, or of several lines: its brackets closed too early.
        const Stmt* last = out.empty() ? nullptr : out.back().get();
        bool severalLines =
            last && last->span.endLine > last->span.line && token().span.endColumn > last->span.column + 1;
        bool continues = pos_ > 1 && (list_.tokens[pos_ - 2].is(",") || severalLines);
        Span indented = token().span, before = Span::after(lastVisible());
        skipBlock();
        // The lexer found a bracket below that closes nothing: its opening one is missing here.
        continues |= diagnostics_.hasBetween(indented.file, before.line, token().span.line);
        failed_ = true;
        if (list_.tabs) continue; // said there
        error(DiagnosticId::UnexpectedIndent, continues ? before : indented,
              continues ? "the next line is indented as if this statement went on, but no bracket is open here"
                        : "this line is indented deeper than its block; expected the same indentation");
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
           fmt::format("{} cannot stand here; a body holds assignments, 'if', 'for', 'assert', 'pass' and 'return'",
                       describe(token())));
    return simpleStatement();
  }
  bool startsExpression() const {
    return at("not") || at("None") || at("True") || at("False") || at("lambda") || at("await") || at("yield");
  }

  StmtPtr simpleStatement() {
    StmtPtr s = makeStmt(StmtKind::Expr);
    ExprPtr e = expressionList();
    if (take("=")) {
      s->kind = StmtKind::Assign;
      checkTarget(*e, true);
      s->target = std::move(e);
      s->value = expressionList();
      if (s->value->is(ExprKind::Tuple) && !s->value->parenthesized && s->target->is(ExprKind::Name))
        fail(DiagnosticId::BadTarget, Span::after(s->value->args[0]->span),
             "several values for one name; write (a, b) for a tuple, or one name for each value");
      if (at("="))
        fail(DiagnosticId::UnsupportedSyntax, token().span,
             "a second '=' in one assignment; write one statement for each");
    } else if (Op op = augmented(); op != Op::None) {
      next();
      s->kind = StmtKind::AugAssign;
      s->op = op;
      checkTarget(*e, false);
      s->target = std::move(e);
      s->value = expressionList();
    } else {
      if (at(":") || at(":=") || at(";"))
        fail(DiagnosticId::UnsupportedSyntax, token().span,
             fmt::format("{} cannot stand here; expected '=' or the end of the statement", describe(token())));
      refuseMistypedKeyword(*e);
      s->value = std::move(e);
    }
    s->span = Span::join(s->span, previous());
    endOfStatement();
    return s;
  }

  /// `retrun x`: a name and what cannot follow one.
  void refuseMistypedKeyword(const Expr& e) {
    bool follows = at(TokenKind::Name) || at(TokenKind::Int) || at(TokenKind::Float) || at("not") || at("None");
    if (!e.is(ExprKind::Name) || !follows) return;
    std::string hint = didYouMean(e.name.text(), {"return", "assert", "if", "elif", "for", "while"});
    if (!hint.empty())
      fail(DiagnosticId::UnsupportedSyntax, e.span, fmt::format("'{}' is not a statement{}", e.name.text(), hint));
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
      error(DiagnosticId::ExpectedToken, missingPlace(),
            fmt::format("expected ':' {}, found {}", where, describe(token())));
      while (!at(TokenKind::Newline) && !at(TokenKind::End)) next();
    }
    if (!take(TokenKind::Newline))
      fail(DiagnosticId::ExpectedBlock, missingPlace(),
           fmt::format("expected the end of the line and an indented block, found {}", describe(token())));
    block(out, where);
  }

  StmtPtr ifStatement() {
    StmtPtr s = makeStmt(StmtKind::If);
    do {
      next(); // if, elif
      Stmt::Branch& b = s->branches.emplace_back();
      b.condition = expression();
      refuseWalrus();
      if (at("=")) fail(DiagnosticId::ExpectedToken, token().span, "'=' assigns; a comparison is written '=='");
      if (s->branches.size() == 1) s->span = Span::join(s->span, previous());
      colonAndBlock(b.body, "after a condition");
    } while (at("elif"));
    if (take("else")) {
      if (at("if")) unsupported("'else if' is written 'elif'");
      colonAndBlock(s->orElse, "after 'else'");
    }
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
        fail(DiagnosticId::BadTarget, missingPlace(),
             fmt::format("expected a name that the loop sets, found {}", describe(token())));
      names.push_back(atom());
    } while (take(","));
    if (names.size() == 1) return std::move(names[0]);
    ExprPtr e = make(ExprKind::Tuple, Span::join(begin, previous()));
    e->args = std::move(names);
    return finish(std::move(e));
  }

  ParsedModule result_;
  bool statementSaid_ = false; // a statement outside definitions was reported
};

} // namespace

ParsedModule parseModule(std::string_view text, int32_t file, Diagnostics& diagnostics) {
  ParsedModule m = Parser(text, file, diagnostics).run();
  // What the lexer reported inside a function makes it broken too.
  for (const auto& f : m.module->functions)
    if (diagnostics.hasBetween(file, f->span.line, f->endLine)) m.broken.insert(f.get());
  return m;
}

} // namespace tegula::lang
