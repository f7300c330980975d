// The checker of @tile_op and @grad bodies: names, calls, kinds of values, number of results. Every path is checked,
// whatever the attributes will be; shapes and element types are Probe.cpp's.
#include "lang/Builtins.h"
#include "lang/Declarations.h"
#include "lang/ForeignNames.h"
#include "lang/Format.h"
#include "lang/Library.h"
#include "lang/Scope.h"
#include <algorithm>

namespace tegula::lang {

namespace {

bool isComparison(Op op) { return op >= Op::Less && op <= Op::NotEqual; }

class BodyChecker {
public:
  BodyChecker(const Function& f, const OperatorTable& operators, bool complete, Diagnostics& diagnostics)
      : f_(f), operators_(operators), complete_(complete), diagnostics_(diagnostics), scope_(diagnostics) {}

  void declareOperator(const OperatorDecl& op) {
    for (const InputDecl& in : op.inputs)
      scope_.declare(in.name, in.span, {inputKinds(in)}, fmt::format("the input '{}' is never used", in.name.text()));
    for (const AttributeDecl& a : op.attributes)
      scope_.declare(a.name, a.span, {attributeKinds(op, a)},
                     fmt::format("the attribute '{}' is never used", a.name.text()));
    declareDimensions(op);
    checkTypeConditions(op);
  }

  void declareGrad(const GradDecl& g, const OperatorDecl& op) {
    const auto& p = g.function->parameters;
    size_t i = 0;
    for (const InputDecl& in : op.inputs) hasGradient_.push_back(in.differentiable);
    for (const InputDecl& in : op.inputs) scope_.declare(in.name, p[i++].span, {inputKinds(in)});
    for (const ResultDecl& r : op.results) {
      std::string unused =
          r.residual ? fmt::format("the residual '{}' is never used; a name that starts with '_' may be unused",
                                   p[i].name.text())
                     : "";
      scope_.declare(p[i].name, p[i].span, {kind::Tensor}, unused);
      ++i;
    }
    for (int k = 0; k < op.resultCount(); ++k, ++i)
      scope_.declare(p[i].name, p[i].span, {kind::Tensor},
                     fmt::format("'{}' is never used; a name that starts with '_' may be unused", p[i].name.text()));
    for (Symbol a : g.attributes) {
      scope_.declare(a, p[i].span, {attributeKinds(op, *op.attribute(a))},
                     fmt::format("the attribute '{}' is never used; leave it out", a.text()));
      ++i;
    }
    declareDimensions(op);
  }

  /// `expected` results of a return; `what` and `id` say how a wrong number is reported.
  void run(int expected, std::string what, DiagnosticId id) {
    expected_ = expected;
    what_ = std::move(what);
    resultId_ = id;
    block(f_.body);
    checkReturns(f_, diagnostics_);
    scope_.reportUnused();
  }

private:
  template <typename... A> void report(DiagnosticId id, Span at, fmt::format_string<A...> text, A&&... args) {
    diagnostics_.report(id, at, text, std::forward<A>(args)...);
  }

  static Kinds inputKinds(const InputDecl& in) {
    return in.variadic ? kind::Tuple : kind::Tensor | (in.optional ? kind::None : 0);
  }

  static Kinds attributeKinds(const OperatorDecl& op, const AttributeDecl& a) {
    static const Kinds kinds[] = {kind::Int, kind::Float, kind::Bool, kind::String, kind::DType, kind::Tuple};
    return kinds[static_cast<int>(a.type.kind)] | (a.type.optional ? kind::None : 0);
  }

  void declareDimensions(const OperatorDecl& op) {
    for (const InputDecl& in : op.inputs)
      for (const auto& a : in.type.alternatives)
        for (const Dim& d : a.tensor.dims) {
          if (d.kind == Dim::Kind::Symbol) scope_.declare(d.name, d.span, {kind::Int});
          if (d.kind == Dim::Kind::Group) scope_.declare(d.name, d.span, {kind::Tuple});
        }
  }

  /// Conditions and computed dimensions in the header are uses too.
  void checkTypeConditions(const OperatorDecl& op) {
    auto rule = [&](const TypeRule& r) {
      for (const auto& a : r.alternatives) {
        if (a.condition) condition(*a.condition);
        for (const Dim& d : a.tensor.dims) {
          if (d.kind == Dim::Kind::Computed) expect(*d.expr, kind::Int, "a dimension");
          if (d.kind == Dim::Kind::Symbol) scope_.markUsed(d.name);
        }
        if (a.tensor.dtype.kind == DTypeRule::Kind::Variable) scope_.markUsed(a.tensor.dtype.name);
      }
    };
    for (const InputDecl& in : op.inputs) rule(in.type);
    for (const ResultDecl& r : op.results) rule(r.type);
  }

  // ---- statements
  void block(const Block& b) {
    for (const StmtPtr& s : b) statement(*s);
  }

  void statement(const Stmt& s) {
    switch (s.kind) {
    case StmtKind::Assign:
      assign(*s.target, *s.value);
      break;
    case StmtKind::AugAssign: {
      Kinds a = expression(*s.target).kinds, b = expression(*s.value).kinds;
      scope_.set(s.target->name, s.target->span, {binaryKinds(s.op, a, b, s.span)});
      break;
    }
    case StmtKind::Return:
      returned(*s.value);
      break;
    case StmtKind::If:
      ifStatement(s);
      break;
    case StmtKind::For:
      forStatement(s);
      break;
    case StmtKind::Assert:
      condition(*s.value);
      if (s.message && !s.message->is(ExprKind::String))
        report(DiagnosticId::ArgumentType, s.message->span, "the message of an assert must be a string");
      break;
    case StmtKind::Expr: {
      size_t before = diagnostics_.size();
      expression(*s.value);
      if (diagnostics_.size() == before)
        report(DiagnosticId::NoEffect, s.span, "this value is not used; expected an assignment or 'return'");
      break;
    }
    case StmtKind::Pass:
      break;
    }
  }

  void assign(const Expr& target, const Expr& value) {
    NameState v = expression(value);
    if (target.is(ExprKind::Name)) return scope_.set(target.name, target.span, v);
    if (target.is(ExprKind::Index)) {
      report(DiagnosticId::BadTarget, target.span,
             "elements of tensors cannot be assigned; where, pad or concatenate make a tensor from parts");
      return;
    }
    int names = static_cast<int>(target.args.size());
    if (!(v.kinds & kind::Tuple))
      report(DiagnosticId::ResultCount, value.span, "{} names but one value", names);
    else if (v.count >= 0 && v.count != names)
      report(DiagnosticId::ResultCount, value.span, "{} names but {} values", names, v.count);
    for (size_t i = 0; i < target.args.size(); ++i) {
      NameState one;
      // Elements of a written tuple keep their own kinds.
      if (value.is(ExprKind::Tuple) && i < value.args.size() && !value.args[i]->is(ExprKind::Star))
        one = expression(*value.args[i]);
      else if (value.is(ExprKind::Call))
        one = {kind::Tensor};
      scope_.set(target.args[i]->name, target.args[i]->span, one);
    }
  }

  void returned(const Expr& value) {
    NameState v = expression(value);
    int count = v.kinds & kind::Tuple ? v.count : 1;
    if (v.kinds == kind::Any) count = -1;
    if (count >= 0 && count != expected_ && expected_ >= 0)
      report(resultId_, wrongCountAt(value, count), "{} {} returned; expected {} ({})", count,
             count == 1 ? "value is" : "values are", expected_, what_);
    if (resultId_ != DiagnosticId::ResultCount) return;
    if (value.is(ExprKind::Tuple) && count == static_cast<int>(value.args.size())) {
      for (const ExprPtr& e : value.args)
        if (!e->is(ExprKind::Star)) returnedTensor(expression(*e).kinds, e->span);
    } else if (!(v.kinds & kind::Tuple)) {
      returnedTensor(v.kinds, value.span);
    }
  }

  /// The value that is one too many: the gradient of an input that has none, else the first beyond what is expected.
  Span wrongCountAt(const Expr& value, int count) const {
    if (!value.is(ExprKind::Tuple) || count <= expected_ || count != static_cast<int>(value.args.size()))
      return value.span;
    size_t extra = static_cast<size_t>(expected_);
    if (hasGradient_.size() == value.args.size())
      extra = static_cast<size_t>(std::find(hasGradient_.begin(), hasGradient_.end(), false) - hasGradient_.begin());
    return value.arg(extra).span;
  }

  void returnedTensor(Kinds k, Span at) {
    if (!(k & kind::Tensor))
      report(DiagnosticId::ArgumentType, at, "{} is returned; expected a tensor", describeKinds(k));
  }

  void ifStatement(const Stmt& s) {
    std::vector<Scope::Names> ends;
    Scope::Names before = scope_.snapshot();
    for (const Stmt::Branch& b : s.branches) {
      condition(*b.condition);
      before = scope_.snapshot();
      block(b.body);
      if (!alwaysReturns(b.body)) ends.push_back(scope_.snapshot());
      scope_.restore(before);
    }
    block(s.orElse);
    if (!alwaysReturns(s.orElse)) ends.push_back(scope_.snapshot());
    if (!ends.empty()) scope_.restore(Scope::merge(ends));
  }

  void forStatement(const Stmt& s) {
    NameState range = expression(*s.value);
    if (!(range.kinds & kind::Tuple))
      report(DiagnosticId::LoopRange, s.value->span, "a loop over {}; expected range(…) or a tuple",
             describeKinds(range.kinds));
    Scope::Names before = scope_.snapshot();
    NameState item;
    if (s.value->callee() == Symbol("range")) item = {kind::Int};
    auto bindTarget = [&](const Expr& t) { scope_.set(t.name, t.span, item); };
    if (s.target->is(ExprKind::Name))
      bindTarget(*s.target);
    else
      for (const ExprPtr& t : s.target->args) bindTarget(*t);
    block(s.body);
    scope_.restore(Scope::merge({before, scope_.snapshot()}));
  }

  void condition(const Expr& e) { conditionOf(e, expression(e).kinds); }

  void conditionOf(const Expr& e, Kinds k) {
    if (k & (kind::Bool | kind::Int)) return;
    if ((k & kind::None) && e.is(ExprKind::Name))
      return report(DiagnosticId::ConditionType, e.span, "a condition is {}; write '{} is None' or '{} is not None'",
                    describeKinds(k), e.name.text(), e.name.text());
    report(DiagnosticId::ConditionType, e.span, "a condition is {}; expected a constant bool{}", describeKinds(k),
           k & kind::Tensor ? " (where(c, a, b) chooses by element)" : "");
  }

  void expect(const Expr& e, Kinds wanted, std::string_view what) {
    Kinds k = expression(e).kinds;
    if (!(k & wanted))
      report(DiagnosticId::ArgumentType, e.span, "{} is {}; expected {}", what, describeKinds(k),
             describeKinds(wanted));
  }

  // ---- expressions
  NameState expression(const Expr& e) {
    switch (e.kind) {
    case ExprKind::Name: {
      const NameState* s = scope_.use(e);
      return s ? NameState{s->kinds, true, s->count} : NameState{};
    }
    case ExprKind::Int:
      return {kind::Int};
    case ExprKind::Float:
      return {kind::Float};
    case ExprKind::String:
      return {kind::String};
    case ExprKind::Bool:
      return {kind::Bool};
    case ExprKind::None:
      return {kind::None};
    case ExprKind::Unary:
      return unary(e);
    case ExprKind::Binary:
      return binary(e);
    case ExprKind::Conditional: {
      condition(e.arg(1));
      NameState a = expression(e.arg(0)), b = expression(e.arg(2));
      return {static_cast<Kinds>(a.kinds | b.kinds), true, a.count == b.count ? a.count : -1};
    }
    case ExprKind::Call:
      return call(e);
    case ExprKind::Index:
      return index(e);
    case ExprKind::Member:
      return member(e);
    case ExprKind::Tuple:
    case ExprKind::List:
      return sequence(e);
    case ExprKind::Ellipsis:
    case ExprKind::Slice:
    case ExprKind::Star:
      break;
    }
    report(DiagnosticId::OperandType, e.span, "this cannot stand here; expected a value");
    return {};
  }

  NameState sequence(const Expr& e) {
    int count = 0;
    for (const ExprPtr& a : e.args) {
      if (!a->is(ExprKind::Star)) {
        expression(*a);
        if (count >= 0) ++count;
        continue;
      }
      NameState s = expression(a->arg(0));
      if (!(s.kinds & kind::Tuple))
        report(DiagnosticId::OperandType, a->span, "'*' before {}; expected a tuple", describeKinds(s.kinds));
      count = count >= 0 && s.count >= 0 ? count + s.count : -1;
    }
    return {kind::Tuple, true, count};
  }

  NameState unary(const Expr& e) {
    if (e.op == Op::Not) {
      condition(e.arg(0));
      return {kind::Bool};
    }
    Kinds k = expression(e.arg(0)).kinds;
    Kinds fits = e.op == Op::Invert ? kind::Tensor | kind::Int : kind::Tensor | kind::Number;
    if (!(k & fits)) {
      report(DiagnosticId::OperandType, e.span, "'{}' of {}; expected {}", spelling(e.op), describeKinds(k),
             describeKinds(fits));
      return {};
    }
    return {static_cast<Kinds>(k & fits)};
  }

  NameState binary(const Expr& e) {
    if (e.op == Op::And || e.op == Op::Or) return logical(e);
    NameState a = expression(e.arg(0)), b = expression(e.arg(1));
    if (e.op == Op::Is || e.op == Op::IsNot) {
      if (!e.arg(1).is(ExprKind::None))
        report(DiagnosticId::OperandType, e.arg(1).span, "'{}' compares with None only; use '==' or '!='",
               spelling(e.op));
      return {kind::Bool};
    }
    bool equality = e.op == Op::Equal || e.op == Op::NotEqual;
    if (equality && (a.kinds == kind::None || b.kinds == kind::None) && ((a.kinds | b.kinds) & kind::Tensor)) {
      report(DiagnosticId::OperandType, e.span, "{} compared with None by '{}'; write '{} {} None'",
             describeKinds(a.kinds == kind::None ? b.kinds : a.kinds), spelling(e.op),
             formatExpression(e.arg(a.kinds == kind::None ? 1 : 0)), e.op == Op::Equal ? "is" : "is not");
      return {kind::Bool};
    }
    NameState out{binaryKinds(e.op, a.kinds, b.kinds, e.span)};
    if (e.op == Op::Add && a.count >= 0 && b.count >= 0 && out.kinds == kind::Tuple) out.count = a.count + b.count;
    return out;
  }

  /// `and` and `or` are of constants; between tensors, which is one mistake, the result counts as the tensor meant.
  NameState logical(const Expr& e) {
    size_t before = diagnostics_.size();
    Kinds a = expression(e.arg(0)).kinds, b = expression(e.arg(1)).kinds;
    if (a != kind::Tensor && b != kind::Tensor) {
      conditionOf(e.arg(0), a);
      conditionOf(e.arg(1), b);
      return {kind::Bool};
    }
    if (diagnostics_.size() > before) return {kind::Tensor};
    Op op = e.op == Op::And ? Op::BitAnd : Op::BitOr;
    auto part = [](const Expr& x) {
      return x.is(ExprKind::Binary) ? fmt::format("({})", formatExpression(x)) : formatExpression(x);
    };
    report(DiagnosticId::ConditionType, e.span, "'{}' of tensors; by element it is written {} {} {}", spelling(e.op),
           part(e.arg(0)), spelling(op), part(e.arg(1)));
    return {kind::Tensor};
  }

  /// What `a op b` may be; reports when it can be nothing.
  Kinds binaryKinds(Op op, Kinds a, Kinds b, Span at) {
    using namespace kind;
    Kinds out = 0;
    bool tensors = ((a & Tensor) && (b & (Tensor | Number | Bool))) || ((b & Tensor) && (a & (Tensor | Number | Bool)));
    if (op == Op::MatMul) tensors = (a & Tensor) && (b & Tensor);
    if (tensors) out |= Tensor;
    if (isComparison(op)) {
      bool equality = op == Op::Equal || op == Op::NotEqual;
      if (equality ? (a & ~Tensor) && (b & ~Tensor) : (a & Number) && (b & Number)) out |= Bool;
    } else if (op != Op::MatMul) {
      bool bits = op == Op::BitAnd || op == Op::BitOr || op == Op::BitXor;
      if ((a & Int) && (b & Int)) out |= op == Op::Div ? Float : Int;
      if (!bits && (a & Number) && (b & Number) && ((a | b) & Float)) out |= Float;
      if (op == Op::Add && (a & Tuple) && (b & Tuple)) out |= Tuple;
      if (op == Op::Mul && (a & Tuple) && (b & Int)) out |= Tuple;
    }
    if (out) return out;
    report(DiagnosticId::OperandType, at, "{} {} {} has no meaning", describeKinds(a), spelling(op), describeKinds(b));
    return Any;
  }

  /// "np.sqrt" of a module that there is not; empty when the base is something.
  std::string moduleMember(const Expr& e) const {
    const Expr& base = e.arg(0);
    if (!base.is(ExprKind::Name) || scope_.has(base.name) || !isForeignModule(base.name.text())) return {};
    return fmt::format("{}.{}", base.name.text(), e.name.text());
  }

  /// x.sum(…), np.sqrt(x): reported at the member.
  void methodCall(const Expr& callee) {
    std::string_view name = callee.name.text();
    std::string way;
    if (findBuiltin(callee.name) || operators_.find(callee.name))
      way = fmt::format("; functions are called by name: {}(x, …)", name);
    if (std::string module = moduleMember(callee); !module.empty()) {
      if (way.empty()) way = insteadOfFunction(name);
      return report(DiagnosticId::UnknownFunction, callee.span, "'{}' is a function of a module{}", module,
                    way.empty() ? ", which there are not; functions are called by name" : way);
    }
    size_t before = diagnostics_.size();
    Kinds k = expression(callee.arg(0)).kinds;
    if (diagnostics_.size() > before) return;
    if (std::string instead = k & kind::Tensor ? insteadOfMember(name) : ""; way.empty()) way = instead;
    const Expr& base = callee.arg(0);
    report(DiagnosticId::UnknownFunction, callee.span, "'{}.{}' is a method{}",
           base.is(ExprKind::Name) ? base.name.text() : "", name,
           way.empty() ? ", which there are not; functions are called by name" : way);
  }

  NameState member(const Expr& e) {
    if (std::string module = moduleMember(e); !module.empty()) {
      std::string_view name = e.name.text();
      bool known = name == "pi" || name == "inf" || name == "nan" || dtypeNamed(e.name);
      report(DiagnosticId::UnknownMember, e.span, "'{}' is of a module, which there are not{}", module,
             known ? fmt::format("; write {}", name) : insteadOfName(name) + didYouMeanForeignType(name));
      return {};
    }
    Kinds k = expression(e.arg(0)).kinds;
    bool shape = e.name == Symbol("shape"), dtype = e.name == Symbol("dtype");
    if ((shape || dtype) && (k & kind::Tensor)) return {shape ? kind::Tuple : kind::DType};
    std::string hint = k & kind::Tensor ? insteadOfMember(e.name.text()) : "";
    if (hint.empty()) hint = didYouMean(e.name.text(), {"shape", "dtype"});
    report(DiagnosticId::UnknownMember, e.span, "{} has no '{}'; a tensor has shape and dtype{}", describeKinds(k),
           e.name.text(), hint);
    return {};
  }

  NameState index(const Expr& e) {
    Kinds k = expression(e.arg(0)).kinds;
    if (!(k & (kind::Tensor | kind::Tuple))) {
      report(DiagnosticId::OperandType, e.arg(0).span, "{} has no elements to index", describeKinds(k));
      return {};
    }
    bool sliced = false;
    int ellipses = 0;
    for (size_t i = 1; i < e.args.size(); ++i) {
      const Expr& a = e.arg(i);
      if (a.is(ExprKind::Slice)) {
        sliced = true;
        for (const ExprPtr& part : a.args)
          if (part) expect(*part, kind::Int | kind::None, "a bound of a slice");
      } else if (a.is(ExprKind::Ellipsis)) {
        if (++ellipses == 2)
          report(DiagnosticId::BadIndex, a.span, "a second '...' in one index; expected at most one");
      } else if (a.is(ExprKind::Star)) {
        report(DiagnosticId::BadIndex, a.span, "'*' cannot stand in an index");
      } else if (!a.is(ExprKind::None)) {
        Kinds v = expression(a).kinds;
        if (!(v & kind::Int))
          report(DiagnosticId::BadIndex, a.span, "an index is {}; expected an integer, a slice, None or '...'{}",
                 describeKinds(v), v & kind::Tensor ? " (take(x, indices) indexes by a tensor)" : "");
      }
    }
    if (k & kind::Tensor) return k & kind::Tuple ? NameState{} : NameState{kind::Tensor};
    if (e.args.size() > 2) report(DiagnosticId::BadIndex, e.span, "a tuple takes one index");
    // Elements of shapes and of integer lists are integers, of variadic inputs tensors.
    return sliced ? NameState{kind::Tuple} : NameState{static_cast<Kinds>(kind::Int | kind::Tensor)};
  }

  NameState call(const Expr& e) {
    Symbol name = e.callee();
    if (name.empty()) {
      if (e.arg(0).is(ExprKind::Member)) {
        methodCall(e.arg(0));
        return {};
      }
      Span at = e.arg(0).span;
      if (at.endLine > at.line) at = Span::after(at); // the bracket that calls
      report(DiagnosticId::UnknownFunction, at, "only functions and operators can be called, by name");
      arguments(e);
      return {};
    }
    if (const Builtin* b = findBuiltin(name)) return matched(b->signature, e);
    if (const OperatorDecl* op = operators_.find(name); op && !op->broken)
      return matched(signatureOf(*op), e);
    else if (op || !complete_) {
      arguments(e);
      return {};
    }
    std::string hint = functionHint(name);
    report(DiagnosticId::UnknownFunction, e.arg(0).span, "unknown function '{}'{}", name.text(),
           hint.empty() ? "; expected a built-in function or an operator" : hint);
    arguments(e);
    return {};
  }

  std::string functionHint(Symbol name) const {
    constexpr size_t kMostHints = 256; // each looks at all functions, and only the first errors are shown
    std::string hint = insteadOfFunction(name.text());
    if (!hint.empty() || diagnostics_.size() > kMostHints) return hint;
    std::vector<std::string_view> names;
    for (Symbol s : builtinNames()) names.push_back(s.text());
    for (Symbol s : operators_.names()) names.push_back(s.text());
    return didYouMean(name.text(), names);
  }

  void arguments(const Expr& e) {
    for (size_t i = 1; i < e.args.size(); ++i) expression(e.arg(i).is(ExprKind::Star) ? e.arg(i).arg(0) : e.arg(i));
  }

  NameState matched(const Signature& s, const Expr& e) {
    Matched m = matchArguments(s, e);
    for (const Matched::Problem& p : m.problems) {
      Span at = p.argument ? e.arg(p.argument).span : e.span;
      bool unknown = p.kind == Matched::Problem::Kind::Unknown;
      report(unknown ? DiagnosticId::UnknownArgument : DiagnosticId::ArgumentCount, at, "{}", p.message);
    }
    if (!m.problems.empty()) {
      arguments(e);
      return {s.result, true, s.results > 1 ? s.results : -1};
    }
    std::vector<Kinds> kinds(e.args.size()); // each argument is checked once: calls nest
    for (size_t p = 0; p < s.params.size(); ++p)
      for (size_t i : m.arguments[p]) {
        const Expr& a = e.arg(i);
        bool star = a.is(ExprKind::Star);
        Kinds k = kinds[i] = expression(star ? a.arg(0) : a).kinds;
        Kinds wanted = star ? (s.params[p].variadic ? kind::Tuple : Kinds(0)) : s.params[p].kinds;
        if (k & wanted) continue;
        // max(x, y): the axis is a tensor.
        bool two = p == 1 && k == kind::Tensor && (s.name == Symbol("max") || s.name == Symbol("min"));
        report(DiagnosticId::ArgumentType, a.span, "'{}' of '{}' is {}; expected {}{}", s.params[p].name.text(),
               s.name.text(), star ? "spread by '*'" : describeKinds(k), describeKinds(s.params[p].kinds),
               two ? fmt::format("; of two tensors by element: {}imum(a, b)", s.name.text()) : "");
      }
    return {resultKinds(s, m, kinds), true, s.results > 1 ? s.results : -1};
  }

  /// Functions of numbers and tensors give what they were given: a tensor when one argument is one.
  static Kinds resultKinds(const Signature& s, const Matched& m, const std::vector<Kinds>& kinds) {
    if (s.result != (kind::Tensor | kind::Number)) return s.result;
    bool tensor = false, number = false;
    for (size_t p = 0; p < s.params.size(); ++p)
      for (size_t i : m.arguments[p]) {
        if (!(s.params[p].kinds & kind::Tensor)) continue; // axis, keepdim
        tensor |= (kinds[i] & kind::Tensor) != 0;
        number |= p == 0 && (kinds[i] & kind::Number);
      }
    if (!tensor && number) return kind::Number;
    return number ? s.result : Kinds(kind::Tensor);
  }

  const Function& f_;
  const OperatorTable& operators_;
  bool complete_;
  Diagnostics& diagnostics_;
  Scope scope_;
  int expected_ = 1;
  std::string what_;
  std::vector<bool> hasGradient_; // of each input, in a @grad
  DiagnosticId resultId_ = DiagnosticId::ResultCount;
};

} // namespace

void checkOperator(const OperatorDecl& op, const OperatorTable& operators, bool complete, Diagnostics& diagnostics) {
  BodyChecker c(*op.function, operators, complete, diagnostics);
  c.declareOperator(op);
  c.run(static_cast<int>(op.results.size()), "its declared results", DiagnosticId::ResultCount);
}

void checkGrad(const GradDecl& g, const OperatorDecl& op, const OperatorTable& operators, bool complete,
               Diagnostics& diagnostics) {
  BodyChecker c(*g.function, operators, complete, diagnostics);
  c.declareGrad(g, op);
  int count = 0;
  bool variadic = false;
  std::string names;
  for (const InputDecl& in : op.inputs) {
    if (!in.differentiable) continue;
    ++count;
    variadic |= in.variadic;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", in.name.text());
  }
  c.run(variadic ? -1 : count, "one for each input that has a gradient: " + names, DiagnosticId::GradArity);
}

} // namespace tegula::lang
