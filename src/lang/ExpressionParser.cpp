// The grammar of expressions: spec/tile-language.md, section 2.
#include "lang/ExpressionParser.h"
#include "lang/Builtins.h"
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
    {"|", Op::BitOr, 1}, {"^", Op::BitXor, 2}, {"&", Op::BitAnd, 3},    {"+", Op::Add, 4}, {"-", Op::Sub, 4},
    {"*", Op::Mul, 5},   {"/", Op::Div, 5},    {"//", Op::FloorDiv, 5}, {"%", Op::Mod, 5}, {"@", Op::MatMul, 5},
};
constexpr std::pair<std::string_view, Op> kComparisons[] = {
    {"<", Op::Less},          {"<=", Op::LessEqual}, {">", Op::Greater},
    {">=", Op::GreaterEqual}, {"==", Op::Equal},     {"!=", Op::NotEqual},
};

} // namespace

ExprPtr ExpressionParser::make(ExprKind kind, Span span) {
  auto e = std::make_unique<Expr>();
  e->kind = kind;
  e->span = span;
  return e;
}

ExprPtr ExpressionParser::finish(ExprPtr e) {
  for (const ExprPtr& a : e->args)
    if (a) e->depth = std::max(e->depth, a->depth + 1);
  if (e->depth > kMaxDepth)
    fail(DiagnosticId::TooDeep, e->span,
         fmt::format("this expression nests more than {} deep; name a part of it", kMaxDepth));
  return e;
}

ExprPtr ExpressionParser::binary(Op op, ExprPtr a, ExprPtr b) {
  ExprPtr e = make(ExprKind::Binary, Span::join(a->span, b->span));
  e->op = op;
  e->args.push_back(std::move(a));
  e->args.push_back(std::move(b));
  return finish(std::move(e));
}

ExprPtr ExpressionParser::expressionList() {
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

ExprPtr ExpressionParser::expression() {
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

ExprPtr ExpressionParser::logicalOr() {
  ExprPtr e = logicalAnd();
  while (take("or")) e = binary(Op::Or, std::move(e), logicalAnd());
  return e;
}

ExprPtr ExpressionParser::logicalAnd() {
  ExprPtr e = logicalNot();
  while (take("and")) e = binary(Op::And, std::move(e), logicalNot());
  return e;
}

ExprPtr ExpressionParser::logicalNot() {
  if (!at("not")) return comparison();
  Depth depth(*this);
  return unaryWith(Op::Not, [&] { return logicalNot(); });
}

Op ExpressionParser::comparisonOperator() {
  for (const auto& [text, op] : kComparisons)
    if (take(text)) return op;
  if (take("is")) return take("not") ? Op::IsNot : Op::Is;
  return Op::None;
}

ExprPtr ExpressionParser::comparison() {
  ExprPtr e = arithmetic(1);
  if (at("in") || (at("not") && ahead(1).is("in")))
    unsupported("'in' stands only in a 'for' statement; compare with each: a == b or a == c");
  Op op = comparisonOperator();
  if (op == Op::None) return e;
  e = binary(op, std::move(e), arithmetic(1));
  Span at = token().span;
  if (comparisonOperator() != Op::None)
    fail(DiagnosticId::ChainedComparison, at,
         "a chained comparison; write 'a < b and b < c', or '(a < b) & (b < c)' for tensors");
  return e;
}

ExprPtr ExpressionParser::arithmetic(int precedence) {
  ExprPtr e = unary();
  for (;;) {
    const BinaryRule* rule = nullptr;
    for (const BinaryRule& r : kBinary)
      if (at(r.text) && r.precedence >= precedence) rule = &r;
    if (!rule) {
      if (at("<<") || at(">>"))
        unsupported("shifts are not part of the tile language; write x * 2 ** n, or x // 2 ** n");
      return e;
    }
    next();
    refuseOperatorOfC();
    e = binary(rule->op, std::move(e), rule->precedence == 5 ? unary() : arithmetic(rule->precedence + 1));
  }
}

void ExpressionParser::refuseOperatorOfC() {
  if (!adjacent()) return;
  std::string_view before = list_.tokens[pos_ - 1].text;
  if (before == "&" && at("&")) unsupported("'&&' is written 'and' of constants, '&' of tensors");
  if (before == "|" && at("|")) unsupported("'||' is written 'or' of constants, '|' of tensors");
  if ((before == "+" || before == "-") && at(before) && ahead(1).kind == TokenKind::Newline)
    unsupported(before == "+" ? "'x++' is written x += 1" : "'x--' is written x -= 1");
}

ExprPtr ExpressionParser::unary() {
  Op op = at("-") ? Op::Neg : at("+") ? Op::Pos : at("~") ? Op::Invert : Op::None;
  if (op == Op::None) return power();
  Depth depth(*this);
  return unaryWith(op, [&] { return unary(); });
}

ExprPtr ExpressionParser::power() {
  ExprPtr base = postfix();
  if (!take("**")) return base;
  Depth depth(*this);
  return binary(Op::Pow, std::move(base), unary());
}

ExprPtr ExpressionParser::postfix() {
  ExprPtr e = atom();
  for (;;) {
    if (at("("))
      e = call(std::move(e));
    else if (at("["))
      e = index(std::move(e));
    else if (at("."))
      e = member(std::move(e));
    else
      return e;
  }
}

ExprPtr ExpressionParser::member(ExprPtr base) {
  next();
  if (!at(TokenKind::Name))
    fail(DiagnosticId::ExpectedToken, missingPlace(),
         fmt::format("expected a name after '.', found {}", describe(token())));
  ExprPtr e = make(ExprKind::Member, Span::join(base->span, token().span));
  e->name = Symbol(next().text);
  e->args.push_back(std::move(base));
  return finish(std::move(e));
}

ExprPtr ExpressionParser::call(ExprPtr callee) {
  next();
  ExprPtr e = make(ExprKind::Call, callee->span);
  e->args.push_back(std::move(callee));
  e->keywords.emplace_back();
  while (!at(")")) {
    Symbol keyword;
    if (at(TokenKind::Name) && ahead(1).is("=")) {
      keyword = Symbol(token().text);
      for (Symbol k : e->keywords)
        if (k == keyword)
          error(DiagnosticId::DuplicateKeyword, token().span, fmt::format("'{}' is given twice", keyword.text()));
      next();
      next();
    } else if (!e->keywords.back().empty()) {
      fail(DiagnosticId::KeywordOrder, missingPlace(),
           "an argument without a name follows one with a name; expected name=value");
    }
    if (at("**")) unsupported("'**' cannot stand before an argument; write name=value for each");
    e->keywords.push_back(keyword);
    e->args.push_back(at("*") ? star() : expression());
    refuseComprehension();
    refuseWalrus();
    if (!take(",")) break;
  }
  expect(")", "after the arguments");
  e->span = Span::join(e->span, previous());
  return finish(std::move(e));
}

ExprPtr ExpressionParser::star() {
  Span at = next().span;
  ExprPtr e = make(ExprKind::Star, at);
  e->args.push_back(arithmetic(1));
  e->span = Span::join(at, previous());
  return finish(std::move(e));
}

ExprPtr ExpressionParser::index(ExprPtr base) {
  Span bracket = next().span;
  ExprPtr e = make(ExprKind::Index, base->span);
  e->args.push_back(std::move(base));
  if (at("]")) fail(DiagnosticId::ExpectedExpression, token().span, "expected an index between '[' and ']'");
  while (!at("]")) {
    e->args.push_back(subscript());
    if (!take(",")) break;
  }
  if (at("=")) fail(DiagnosticId::ExpectedToken, bracket, "name=value inside an index; expected '(' for a call");
  const Expr& indexed = e->arg(0);
  if (indexed.is(ExprKind::Name) && findBuiltin(indexed.name)) refuseOtherEnd(bracket);
  expect("]", "after the indices");
  e->span = Span::join(e->span, previous());
  return finish(std::move(e));
}

ExprPtr ExpressionParser::subscript() {
  if (at("*")) return star(); // no slice after it: Python has none
  refuseTextBelow();
  if (at(":")) return sliceAfter(nullptr);
  return sliceAfter(expression());
}

void ExpressionParser::refuseTextBelow() {
  bool below = at(TokenKind::String) && token().span.line > previous().endLine && !ahead(1).is(",");
  if (below && !isComma(list_.tokens[pos_ - 1]))
    fail(DiagnosticId::ExpectedExpression, Span::after(previous()),
         "expected an index before the end of this line, found a string below it");
}

ExprPtr ExpressionParser::sliceAfter(ExprPtr low) {
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

std::string ExpressionParser::stringValue() {
  std::string s;
  while (at(TokenKind::String)) s += next().value;
  return s;
}

ExprPtr ExpressionParser::atom() {
  const Token& t = token();
  switch (t.kind) {
  case TokenKind::Name: {
    if (ahead(1).kind == TokenKind::String && ahead(1).span.line == t.span.line &&
        ahead(1).span.column == t.span.endColumn && t.text.size() <= 2)
      unsupported("strings have no prefix in the tile language (no f-strings); write a plain \"…\"");
    ExprPtr e = make(ExprKind::Name, next().span);
    e->name = Symbol(t.text);
    return e;
  }
  case TokenKind::Int:
    return integer();
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
  case TokenKind::Keyword:
    return keywordAtom();
  case TokenKind::Operator:
    if (at("(")) return parentheses();
    if (at("[")) return listInBrackets();
    if (at("...")) return make(ExprKind::Ellipsis, next().span);
    if (at("{")) unsupported("there are no dictionaries and no sets; several values are a tuple: (a, b)");
    break;
  default:
    break;
  }
  fail(DiagnosticId::ExpectedExpression, missingPlace(), fmt::format("expected an expression, found {}", describe(t)));
}

ExprPtr ExpressionParser::keywordAtom() {
  if (at("None")) return make(ExprKind::None, next().span);
  if (at("True") || at("False")) {
    ExprPtr e = make(ExprKind::Bool, token().span);
    e->intValue = next().text == "True";
    return e;
  }
  if (at("lambda") || at("await") || at("yield"))
    fail(DiagnosticId::UnsupportedSyntax, token().span,
         fmt::format("{} is not part of the tile language", describe(token())));
  fail(DiagnosticId::ExpectedExpression, missingPlace(),
       fmt::format("expected an expression, found {}", describe(token())));
}

ExprPtr ExpressionParser::integer() {
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

ExprPtr ExpressionParser::parentheses() {
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
  refuseComprehension();
  refuseWalrus();
  if (at("="))
    fail(DiagnosticId::ExpectedToken, begin,
         "name=value inside parentheses that are not a call; expected the name of a function before '('");
  expect(")", "to close the '('");
  e->parenthesized = true;
  e->span = Span::join(begin, previous());
  return e;
}

void ExpressionParser::refuseOtherEnd(Span bracket) {
  if (at(")") && token().span.line > bracket.line)
    fail(DiagnosticId::ExpectedToken, bracket,
         fmt::format("this '[' meets ')' on line {}; expected '(' here or ']' there", token().span.line));
}

ExprPtr ExpressionParser::listInBrackets() {
  Depth depth(*this);
  ExprPtr e = make(ExprKind::List, next().span);
  Span bracket = e->span;
  while (!at("]")) {
    refuseOtherEnd(bracket);
    if (at(":")) fail(DiagnosticId::ExpectedToken, e->span, "a slice in a list; expected what is indexed before '['");
    e->args.push_back(element());
    refuseComprehension();
    if (!take(",")) break;
  }
  refuseOtherEnd(bracket);
  expect("]", "to close the '['");
  e->span = Span::join(e->span, previous());
  return finish(std::move(e));
}

std::string_view spelling(Op op) {
  switch (op) {
  case Op::None:
    return "";
  case Op::Neg:
    return "-";
  case Op::Pos:
    return "+";
  case Op::Invert:
    return "~";
  case Op::Not:
    return "not";
  case Op::And:
    return "and";
  case Op::Or:
    return "or";
  case Op::Is:
    return "is";
  case Op::IsNot:
    return "is not";
  case Op::Pow:
    return "**";
  default:
    break;
  }
  for (const BinaryRule& r : kBinary)
    if (r.op == op) return r.text;
  for (const auto& [text, o] : kComparisons)
    if (o == op) return text;
  return "?";
}

} // namespace tegula::lang
