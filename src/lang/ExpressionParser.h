// Expressions, by recursive descent with bounded depth; each function parses the rule that its name says. Private to
// the parser.
#pragma once

#include "lang/TokenCursor.h"

namespace tegula::lang {

class ExpressionParser : protected TokenCursor {
protected:
  using TokenCursor::TokenCursor;

  ExprPtr make(ExprKind kind, Span span);
  /// Sets the depth from the children and refuses trees that are too deep to walk.
  ExprPtr finish(ExprPtr e);
  ExprPtr binary(Op op, ExprPtr a, ExprPtr b);
  struct Depth {
    explicit Depth(ExpressionParser& p) : parser(p) {
      if (++p.depth_ <= kMaxDepth) return;
      --p.depth_; // the destructor does not run
      p.fail(DiagnosticId::TooDeep, p.token().span,
             fmt::format("this nests more than {} deep; name a part of it", kMaxDepth));
    }
    ~Depth() { --parser.depth_; }
    ExpressionParser& parser;
  };
  /// expression (',' expression)*: a Tuple when there is a comma.
  ExprPtr expressionList();
  ExprPtr expression();
  ExprPtr logicalOr();
  ExprPtr logicalAnd();
  ExprPtr logicalNot();
  template <typename F> ExprPtr unaryWith(Op op, F&& operand) {
    ExprPtr e = make(ExprKind::Unary, next().span);
    e->op = op;
    e->args.push_back(operand());
    e->span = Span::join(e->span, e->args[0]->span);
    return finish(std::move(e));
  }
  Op comparisonOperator();
  ExprPtr comparison();
  ExprPtr arithmetic(int precedence);
  ExprPtr unary();
  ExprPtr power();
  ExprPtr postfix();
  ExprPtr member(ExprPtr base);
  ExprPtr call(ExprPtr callee);
  ExprPtr star();
  ExprPtr index(ExprPtr base);
  ExprPtr subscript();
  /// A string on the next line is the description of a definition whose header did not end.
  void refuseTextBelow();
  /// The rest of a:b:c once `a` has been read.
  ExprPtr sliceAfter(ExprPtr low);
  std::string stringValue();
  ExprPtr atom();
  ExprPtr keywordAtom();
  ExprPtr integer();
  ExprPtr parentheses();
  /// An element of a tuple or list: an expression, or *expression.
  ExprPtr element() { return at("*") ? star() : expression(); }
  ExprPtr listInBrackets();
  /// A '[' of several lines that ends in ')', where a '[' cannot stand: the '[' is the wrong one.
  void refuseOtherEnd(Span bracket);

  /// Refuses the Python and C that has another form here, naming it.
  [[noreturn]] void unsupported(std::string_view message) {
    fail(DiagnosticId::UnsupportedSyntax, token().span, std::string(message));
  }
  void refuseComprehension() {
    if (at("for")) unsupported("comprehensions are not part of the tile language; write a 'for' statement");
  }
  void refuseWalrus() {
    if (at(":=")) unsupported("':=' is not part of the tile language; assign on a line before");
  }
  void refuseOperatorOfC();
  /// Whether the token follows the one before it without a space.
  bool adjacent() const {
    const Span &a = previous(), &b = token().span;
    return a.endLine == b.line && a.endColumn == b.column;
  }

  int depth_ = 0;
};

} // namespace tegula::lang
