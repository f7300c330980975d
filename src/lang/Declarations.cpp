// Reading decorators, parameters and annotations.
#include "lang/Declarations.h"
#include "lang/ForeignNames.h"
#include "lang/Format.h"
#include "lang/Operand.h"
#include <algorithm>
#include <cmath>
#include <limits>

namespace tegula::lang {

namespace {

const Symbol kTensor = "Tensor", kOut = "Out", kTunable = "Tunable", kTuple = "tuple", kResidual = "Residual";

const Expr& innermost(const Expr& e) {
  const Expr* p = &e;
  while (p->is(ExprKind::Index)) p = p->args[0].get();
  return *p;
}

bool isOptionalUnion(const Expr& e) {
  return e.is(ExprKind::Binary) && e.op == Op::BitOr && e.arg(1).is(ExprKind::None);
}

/// Reads one function's header into declarations.
class Reader {
public:
  Reader(const Function& f, Diagnostics& diagnostics, bool& ok) : f_(f), diagnostics_(diagnostics), ok_(ok) {}

  Declaration read() {
    const Expr* kind = nullptr;
    for (const ExprPtr& d : f_.decorators) {
      Symbol name = decoratorName(*d);
      if (name == Symbol("example")) continue;
      if (name != Symbol("tile_op") && name != Symbol("grad") && name != Symbol("tile_kernel")) {
        report(DiagnosticId::UnknownDecorator, d->span,
               "unknown decorator{}; expected tile_op, grad, tile_kernel or example{}",
               name.empty() ? "" : fmt::format(" '{}'", name.text()),
               didYouMean(name.text(), {"tile_op", "grad", "tile_kernel", "example"}));
        return {};
      }
      if (kind)
        report(DiagnosticId::DecoratorArguments, d->span,
               "a second kind of definition; expected one of tile_op, grad and tile_kernel");
      kind = d.get();
    }
    if (!kind) {
      report(DiagnosticId::MissingDecorator, f_.nameSpan,
             "'{}' has no decorator that says what it is; expected @tile_op, @grad(…) or @tile_kernel(…)",
             f_.name.text());
      return {};
    }
    duplicateParameters();
    Symbol name = decoratorName(*kind);
    if (name == Symbol("tile_op")) return op(*kind);
    if (name == Symbol("grad")) return grad(*kind);
    return kernel(*kind);
  }

private:
  template <typename... A> void report(DiagnosticId id, Span at, fmt::format_string<A...> text, A&&... args) {
    diagnostics_.report(id, at, text, std::forward<A>(args)...);
    ok_ = false;
  }

  static Symbol decoratorName(const Expr& d) { return d.is(ExprKind::Name) ? d.name : d.callee(); }

  void duplicateParameters() {
    std::vector<Symbol> seen;
    for (const Parameter& p : f_.parameters) {
      if (p.kind == Parameter::Kind::KeywordMarker) continue;
      if (std::find(seen.begin(), seen.end(), p.name) != seen.end())
        report(DiagnosticId::DuplicateParameter, p.span, "a second parameter named '{}'; expected another name",
               p.name.text());
      seen.push_back(p.name);
    }
  }

  // ---- @tile_op
  OperatorDecl op(const Expr& decorator) {
    OperatorDecl d;
    d.function = &f_;
    d.name = f_.name;
    d.span = f_.nameSpan;
    opDecorator(decorator, d);
    for (const ExprPtr& e : f_.decorators)
      if (decoratorName(*e) == Symbol("example")) example(*e, d);
    for (const Parameter& p : f_.parameters) parameter(p, d);
    if (ok_ && d.inputs.empty())
      report(DiagnosticId::MissingInput, f_.nameSpan, "'{}' has no input; expected one tensor or more", d.name.text());
    results(d);
    typeNames(d);
    return d;
  }

  /// A name that is near to a type is that type mistyped. A short one may be meant when it stands more than once, and
  /// so ties something together.
  void typeNames(const OperatorDecl& d) {
    std::vector<const DTypeRule*> rules;
    auto collect = [&](const TypeRule& t) {
      for (const auto& a : t.alternatives)
        if (a.tensor.dtype.kind == DTypeRule::Kind::Variable) rules.push_back(&a.tensor.dtype);
    };
    for (const InputDecl& in : d.inputs) collect(in.type);
    for (const ResultDecl& r : d.results) collect(r.type);
    for (const DTypeRule* r : rules) {
      bool once = std::count_if(rules.begin(), rules.end(), [&](auto* o) { return o->name == r->name; }) == 1;
      constexpr size_t kShort = 3; // letters
      if ((!once && r->name.text().size() <= kShort) || dtypeAttribute(d, r->name)) continue;
      if (std::string hint = didYouMeanElementType(r->name.text()); !hint.empty())
        report(DiagnosticId::UnknownType, r->span, "unknown element type '{}'{}", r->name.text(), hint);
    }
  }

  static std::string keywordHint(Symbol keyword) {
    bool right = keyword == Symbol("differentiable"); // the value is wrong
    return right ? std::string() : didYouMean(keyword.text(), {"differentiable"});
  }

  void opDecorator(const Expr& e, OperatorDecl& d) {
    if (e.is(ExprKind::Name)) return;
    for (size_t i = 1; i < e.args.size(); ++i) {
      if (e.keywords[i] == Symbol("differentiable") && e.arg(i).is(ExprKind::Bool))
        d.differentiable = e.arg(i).intValue;
      else
        report(DiagnosticId::DecoratorArguments, e.arg(i).span,
               "tile_op takes differentiable=True or differentiable=False, found {}{}{}{}", e.keywords[i].text(),
               e.keywords[i].empty() ? "" : "=", formatExpression(e.arg(i)).substr(0, 60), keywordHint(e.keywords[i]));
    }
  }

  void example(const Expr& e, OperatorDecl& d) {
    if (d.exampleSpan.line) {
      report(DiagnosticId::DecoratorArguments, e.span, "a second example; expected one");
      return;
    }
    if (!e.is(ExprKind::Call) || e.args.size() != 2 || !e.keywords[1].empty() || !e.arg(1).is(ExprKind::String)) {
      report(DiagnosticId::DecoratorArguments, e.span,
             "example takes one string: a problem line such as \"softmax x=4,1000 f32\"");
      return;
    }
    d.example = e.arg(1).text;
    d.exampleSpan = e.arg(1).span;
    std::string_view first = std::string_view(d.example).substr(0, d.example.find(' '));
    bool problemLine = d.example.find(' ') != std::string::npos;
    if (first != d.name.text())
      report(DiagnosticId::ExampleMismatch, problemLine ? d.span : d.exampleSpan,
             "the operator is named '{}' but its example is a problem of '{}'", d.name.text(), first);
  }

  void parameter(const Parameter& p, OperatorDecl& d) {
    if (p.kind == Parameter::Kind::KeywordMarker) return;
    if (!p.annotation) {
      report(DiagnosticId::MissingAnnotation, p.span,
             "'{}' has no type; expected '{}: Tensor[…]' or an attribute's type", p.name.text(), p.name.text());
      return;
    }
    if (isTensorAnnotation(*p.annotation))
      input(p, d);
    else
      attribute(p, d);
  }

  static bool isTensorAnnotation(const Expr& e) {
    const Expr* p = &e;
    while (p->is(ExprKind::Conditional) || isOptionalUnion(*p)) p = p->args[0].get();
    return innermost(*p).isName(kTensor);
  }

  void input(const Parameter& p, OperatorDecl& d) {
    InputDecl in;
    in.name = p.name;
    in.span = p.span;
    in.variadic = p.kind == Parameter::Kind::Variadic;
    if (!d.inputs.empty() && d.inputs.back().variadic)
      report(DiagnosticId::InputOrder, p.span, "'{}' follows '*{}'; the variadic input must be the last input",
             p.name.text(), d.inputs.back().name.text());
    typeRule(*p.annotation, in.type, &in.optional, false);
    if (in.variadic && in.optional)
      report(DiagnosticId::InputOrder, p.span, "a variadic input cannot be optional; it may be empty");
    if (p.defaultValue) {
      if (!p.defaultValue->is(ExprKind::None) || !in.optional)
        report(DiagnosticId::BadDefault, p.defaultValue->span,
               "the default of an input can only be None, with the type 'Tensor[…] | None'");
    }
    in.differentiable = std::any_of(in.type.alternatives.begin(), in.type.alternatives.end(), [](const auto& a) {
      const DTypeRule& r = a.tensor.dtype;
      return r.kind != DTypeRule::Kind::Int && !(r.kind == DTypeRule::Kind::Fixed && !isFloat(r.dtype));
    });
    d.inputs.push_back(std::move(in));
  }

  void attribute(const Parameter& p, OperatorDecl& d) {
    AttributeDecl a;
    a.name = p.name;
    a.span = p.span;
    if (p.kind == Parameter::Kind::Variadic) {
      report(DiagnosticId::UnknownType, p.span, "only tensors can be variadic; expected '*{}: Tensor[…]'",
             p.name.text());
      return;
    }
    if (!attributeType(*p.annotation, a.type)) return;
    if (p.defaultValue) {
      a.required = false;
      std::optional<AttrValue> value = literal(*p.defaultValue);
      if (value) value = convertAttribute(*value, a.type);
      if (value)
        a.defaultValue = *value;
      else
        badDefault(*p.defaultValue, a.type);
    }
    d.attributes.push_back(a);
  }

  void badDefault(const Expr& e, const AttributeType& type) {
    std::optional<AttrValue> value = literal(e);
    report(DiagnosticId::BadDefault, e.span, "the default is {}; expected one literal of the type {}{}",
           value ? describe(Operand::of(*value)) : fmt::format("the expression {}", formatExpression(e).substr(0, 60)),
           toString(type), e.is(ExprKind::String) ? didYouMeanForeignType(e.text) : "");
  }

  /// `expected` names the types that may stand here.
  bool attributeType(const Expr& e, AttributeType& t,
                     const std::vector<std::string_view>& expected = {"Tensor", "int", "float", "bool", "str", "dtype",
                                                                      "ints"}) {
    const Expr* p = &e;
    if (isOptionalUnion(*p)) t.optional = true, p = p->args[0].get();
    if (p->is(ExprKind::Index) && p->arg(0).isName("ints") && p->args.size() == 2 && p->arg(1).is(ExprKind::Int) &&
        p->arg(1).intValue > 0 && p->arg(1).intValue <= kMaxRank) {
      t.kind = AttributeType::Kind::Ints;
      t.length = static_cast<int>(p->arg(1).intValue);
      return true;
    }
    static const std::pair<std::string_view, AttributeType::Kind> kinds[] = {
        {"int", AttributeType::Kind::Int},     {"float", AttributeType::Kind::Float},
        {"bool", AttributeType::Kind::Bool},   {"str", AttributeType::Kind::String},
        {"dtype", AttributeType::Kind::DType}, {"ints", AttributeType::Kind::Ints}};
    if (p->is(ExprKind::Name))
      for (auto [text, kind] : kinds)
        if (p->name.text() == text) {
          t.kind = kind;
          return true;
        }
    bool kernel = std::find(expected.begin(), expected.end(), kTunable.text()) != expected.end();
    notAType(*p,
             kernel ? "Tensor[…], Out[…], Tunable (a block size), int, float or bool"
                    : "Tensor[…], int, float, bool, str, dtype, ints or ints[n]",
             expected);
    return false;
  }

  /// Says what was found in place of a type, and what it may have meant.
  void notAType(const Expr& e, std::string_view expected, const std::vector<std::string_view>& near) {
    const Expr& head = innermost(e);
    std::string hint;
    if (e.is(ExprKind::Tuple)) {
      hint = "; several results are written tuple[A, B]";
    } else if (e.is(ExprKind::Binary)) {
      hint = "; a type is T, T | None, or A if … else B";
    } else if (head.is(ExprKind::Name) || head.is(ExprKind::Member)) {
      hint = didYouMean(head.name.text(), near);
      if (hint.empty()) hint = insteadOfAnnotation(head.name.text());
    }
    report(DiagnosticId::UnknownType, e.span, "'{}' is not a type; expected {}{}",
           formatExpression(head.is(ExprKind::Name) ? head : e).substr(0, 60), expected, hint);
  }

  // ---- results
  void results(OperatorDecl& d) {
    if (!f_.returns) {
      report(DiagnosticId::MissingResult, f_.nameSpan,
             "'{}' does not say what it returns; expected '-> Tensor[…]' after its parameters", f_.name.text());
      return;
    }
    const Expr& r = *f_.returns;
    if (r.is(ExprKind::Index) && r.arg(0).isName(kTuple)) {
      for (size_t i = 1; i < r.args.size(); ++i) result(r.arg(i), d);
    } else {
      result(r, d);
    }
    if (d.results.empty() || d.results[0].residual)
      report(DiagnosticId::ResidualOrder, r.span, "the first result is a residual; expected a Tensor before residuals");
    if (ok_) checkBound(d); // after an error in the header, what is bound is not known
  }

  void result(const Expr& e, OperatorDecl& d) {
    ResultDecl r;
    const Expr* p = &e;
    while (p->is(ExprKind::Conditional)) p = p->args[0].get();
    r.residual = innermost(*p).isName(kResidual);
    if (!r.residual && !d.results.empty() && d.results.back().residual)
      report(DiagnosticId::ResidualOrder, e.span, "a result follows a residual; residuals come last");
    typeRule(e, r.type, nullptr, true);
    d.results.push_back(std::move(r));
  }

  /// Symbols, groups and dtype variables of results must come from inputs.
  void checkBound(const OperatorDecl& d) {
    std::vector<Symbol> bound, dtypes;
    bool ellipsis = false;
    for (const InputDecl& in : d.inputs)
      for (const auto& a : in.type.alternatives) {
        collectSymbols(a.tensor, bound);
        if (a.tensor.dtype.kind == DTypeRule::Kind::Variable) dtypes.push_back(a.tensor.dtype.name);
        for (const Dim& dim : a.tensor.dims) ellipsis |= dim.kind == Dim::Kind::Ellipsis;
      }
    auto has = [](const std::vector<Symbol>& v, Symbol s) { return std::find(v.begin(), v.end(), s) != v.end(); };
    for (const InputDecl& in : d.inputs)
      if (has(bound, in.name))
        report(DiagnosticId::DuplicateParameter, in.span,
               "'{}' is an input and also a dimension; expected another name for one", in.name.text());
    for (const AttributeDecl& a : d.attributes)
      if (has(bound, a.name))
        report(DiagnosticId::DuplicateParameter, a.span,
               "'{}' is an attribute and also a dimension of an input; expected another name for one", a.name.text());
    for (const ResultDecl& r : d.results)
      for (const auto& a : r.type.alternatives) {
        for (const Dim& dim : a.tensor.dims) {
          bool known = dim.kind == Dim::Kind::Ellipsis ? ellipsis
                       : dim.kind == Dim::Kind::Symbol ? has(bound, dim.name) || d.attribute(dim.name)
                       : dim.kind == Dim::Kind::Group  ? has(bound, dim.name)
                                                       : true;
          if (!known)
            report(DiagnosticId::UnboundDimension, dim.span, "no input has the dimension '{}' of this result",
                   dim.kind == Dim::Kind::Ellipsis ? "..." : dim.name.text());
          if (dim.kind == Dim::Kind::Computed) checkComputed(*dim.expr, bound, d);
        }
        const DTypeRule& t = a.tensor.dtype;
        if (t.kind == DTypeRule::Kind::Variable && !has(dtypes, t.name) && !dtypeAttribute(d, t.name))
          report(DiagnosticId::UnboundDType, a.tensor.span, "no input has the element type '{}' of this result",
                 t.name.text());
      }
  }
  static bool dtypeAttribute(const OperatorDecl& d, Symbol name) {
    const AttributeDecl* a = d.attribute(name);
    return a && a->type.kind == AttributeType::Kind::DType;
  }

  void checkComputed(const Expr& e, const std::vector<Symbol>& bound, const OperatorDecl& d) {
    if (e.is(ExprKind::Name)) {
      if (std::find(bound.begin(), bound.end(), e.name) == bound.end() && !d.attribute(e.name) &&
          d.inputIndex(e.name) < 0)
        report(DiagnosticId::UnboundDimension, e.span, "no input has the dimension '{}' of this result", e.name.text());
      return;
    }
    for (size_t i = e.is(ExprKind::Call) ? 1 : 0; i < e.args.size(); ++i)
      if (e.args[i]) checkComputed(*e.args[i], bound, d);
  }

  // ---- types
  void typeRule(const Expr& e, TypeRule& rule, bool* optional, bool result) {
    const Expr* p = &e;
    // `A | None` around the whole, or around the last alternative.
    auto stripNone = [&] {
      if (!isOptionalUnion(*p)) return;
      if (optional)
        *optional = true;
      else
        report(DiagnosticId::UnknownType, p->span, "a result cannot be None");
      p = p->args[0].get();
    };
    stripNone();
    while (p->is(ExprKind::Conditional)) {
      TypeRule::Alternative a;
      a.condition = p->args[1].get();
      tensorRule(p->arg(0), a.tensor, result);
      rule.alternatives.push_back(std::move(a));
      p = p->args[2].get();
      stripNone();
    }
    TypeRule::Alternative last;
    tensorRule(*p, last.tensor, result);
    rule.alternatives.push_back(std::move(last));
  }

  void tensorRule(const Expr& e, TensorRule& t, bool result, Symbol kind = kTensor) {
    t.span = e.span;
    bool residual = result && innermost(e).isName(kResidual);
    if (e.isName(kind) || (residual && e.is(ExprKind::Name))) {
      t.anyShape = true;
      return;
    }
    if (!e.is(ExprKind::Index) || !(e.arg(0).isName(kind) || (residual && e.arg(0).is(ExprKind::Name)))) {
      notAType(e, fmt::format("{}[…]{}", kind.text(), result ? " or tuple[Tensor[…], …]" : ""),
               {kind.text(), result ? "tuple" : kind.text()});
      return;
    }
    for (size_t i = 1; i < e.args.size(); ++i) dimension(e.arg(i), t, result, i + 1 == e.args.size());
    int open = 0;
    for (const Dim& d : t.dims) {
      if (d.kind != Dim::Kind::Ellipsis && d.kind != Dim::Kind::Group) continue;
      if (++open == 2)
        report(DiagnosticId::TwoEllipses, d.span,
               "a second group of unnamed axes in one type; expected one '...' or '*NAME'");
    }
    if (static_cast<int>(t.dims.size()) > kMaxRank)
      report(DiagnosticId::BadDimension, e.span, "{} dimensions; a tensor has at most {}", t.dims.size(), kMaxRank);
  }

  void dimension(const Expr& e, TensorRule& t, bool result, bool last) {
    if (e.is(ExprKind::Slice)) {
      if (!last || e.args[2] || !e.args[1]) {
        report(DiagnosticId::BadDimension, e.span, "expected ': T' only once, after the last dimension");
        return;
      }
      if (e.args[0] && !e.arg(1).is(ExprKind::Name) && e.arg(1).span.line > e.arg(0).span.endLine) {
        report(DiagnosticId::UnknownType, Span::after(e.arg(0).span),
               "what follows this ':' is not an element type; expected ',' or the name of a type");
        return;
      }
      t.dtype.span = e.arg(1).span;
      dtypeRule(e.arg(1), t.dtype);
      if (e.args[0]) dimension(e.arg(0), t, result, false);
      return;
    }
    if (e.is(ExprKind::Tuple) && e.args.empty()) return; // Tensor[()]: rank 0
    Dim d;
    d.span = e.span;
    if (e.is(ExprKind::Name)) {
      if (dtypeNamed(e.name)) {
        report(DiagnosticId::BadDimension, e.span, "'{}' is an element type, not a dimension; write it last, after ':'",
               e.name.text());
        return;
      }
      d.kind = Dim::Kind::Symbol;
      d.name = e.name;
    } else if (e.is(ExprKind::Int)) {
      d.kind = Dim::Kind::Constant;
      d.value = e.intValue;
    } else if (e.is(ExprKind::Ellipsis)) {
      d.kind = Dim::Kind::Ellipsis;
    } else if (e.is(ExprKind::Star) && e.arg(0).is(ExprKind::Name)) {
      d.kind = Dim::Kind::Group;
      d.name = e.arg(0).name;
    } else if (result && isArithmetic(e)) {
      d.kind = Dim::Kind::Computed;
      d.expr = &e;
    } else {
      report(DiagnosticId::BadDimension, e.span,
             "this is not a dimension; expected a name, a number, '...' or '*NAME'{}",
             result ? ", or an expression over them" : "");
      return;
    }
    t.dims.push_back(d);
  }

  static bool isArithmetic(const Expr& e) {
    switch (e.kind) {
    case ExprKind::Unary:
    case ExprKind::Binary:
    case ExprKind::Conditional:
    case ExprKind::Call:
    case ExprKind::Index:
    case ExprKind::Member:
      return true;
    default:
      return false;
    }
  }

  void dtypeRule(const Expr& e, DTypeRule& r) {
    if (!e.is(ExprKind::Name)) {
      report(DiagnosticId::UnknownType, e.span,
             "this is not an element type; expected f32, bf16, …, float, int, bool or a name");
      return;
    }
    if (e.name == Symbol("float"))
      r.kind = DTypeRule::Kind::Float;
    else if (e.name == Symbol("int"))
      r.kind = DTypeRule::Kind::Int;
    else if (std::optional<DType> d = dtypeNamed(e.name))
      r.kind = DTypeRule::Kind::Fixed, r.dtype = *d;
    else if (!foreignType(e.name.text()).empty())
      report(DiagnosticId::UnknownType, e.span, "unknown element type '{}'{}", e.name.text(),
             didYouMeanElementType(e.name.text()));
    else
      r.kind = DTypeRule::Kind::Variable, r.name = e.name;
  }

  // ---- @grad
  Declaration grad(const Expr& e) {
    GradDecl d;
    d.function = &f_;
    if (!e.is(ExprKind::Call) || e.args.size() != 2 || !e.keywords[1].empty() || !e.arg(1).is(ExprKind::Name)) {
      report(DiagnosticId::DecoratorArguments, e.span, "grad takes the name of an operator: @grad(softmax)");
      return {};
    }
    d.op = e.arg(1).name;
    d.span = e.arg(1).span;
    refuseExample("@grad");
    if (f_.returns)
      report(
          DiagnosticId::GradParameters, f_.returns->span,
          "a @grad has no result types: it returns one gradient for each differentiable input of '{}'; leave out '->'",
          d.op.text());
    return d;
  }

  void refuseExample(std::string_view kind) {
    for (const ExprPtr& e : f_.decorators)
      if (decoratorName(*e) == Symbol("example"))
        report(DiagnosticId::DecoratorArguments, e->span, "an example of a {}; it belongs to the @tile_op", kind);
  }

  // ---- @tile_kernel
  Declaration kernel(const Expr& e) {
    KernelDecl d;
    d.function = &f_;
    d.name = f_.name;
    d.span = f_.nameSpan;
    const Expr* op = e.is(ExprKind::Call) && e.args.size() == 2 ? e.keyword("implements") : nullptr;
    if (!op || !op->is(ExprKind::Name)) {
      report(DiagnosticId::DecoratorArguments, e.span,
             "tile_kernel takes the operator that it computes: @tile_kernel(implements=matmul)");
      return {};
    }
    d.implements = op->name;
    d.implementsSpan = op->span;
    for (const Parameter& p : f_.parameters) kernelParameter(p, d);
    refuseExample("@tile_kernel");
    if (f_.returns)
      report(DiagnosticId::KernelParameters, f_.returns->span,
             "a kernel returns nothing, it stores its outputs: a parameter 'y: Out[…]' for each; leave out '->'");
    return d;
  }

  void kernelParameter(const Parameter& p, KernelDecl& d) {
    KernelParam k;
    k.name = p.name;
    k.span = p.span;
    if (p.kind != Parameter::Kind::Plain) {
      report(DiagnosticId::KernelParameters, p.span, "a kernel's parameters are plain: no '*'");
      return;
    }
    if (p.defaultValue) {
      report(DiagnosticId::KernelParameters, p.span,
             "'{}' has a default; a kernel's parameters have none: the values of attributes come from the operator, "
             "and block sizes, '{}: Tunable', from the schedule",
             p.name.text(), p.name.text());
      return;
    }
    if (!p.annotation) {
      report(DiagnosticId::MissingAnnotation, p.span,
             "'{}' has no type; expected Tensor[…], Out[…], Tunable or an attribute's type", p.name.text());
      return;
    }
    const Expr* a = p.annotation.get();
    if (isOptionalUnion(*a) && innermost(a->arg(0)).isName(kTensor)) k.optional = true, a = a->args[0].get();
    if (a->isName(kTunable)) {
      k.role = KernelParam::Role::Tunable;
    } else if (innermost(*a).isName(kTensor) || innermost(*a).isName(kOut)) {
      bool out = innermost(*a).isName(kOut);
      k.role = out ? KernelParam::Role::Output : KernelParam::Role::Input;
      tensorRule(*a, k.tensor, false, out ? kOut : kTensor);
      bool plain = !k.tensor.anyShape && k.tensor.dims.size() == 2;
      for (const Dim& dim : k.tensor.dims) plain &= dim.kind == Dim::Kind::Symbol || dim.kind == Dim::Kind::Constant;
      if (!plain && ok_)
        report(DiagnosticId::TileShape, a->span,
               "a kernel works on matrices; expected two dimensions, each a name or a number{}",
               vectorHint(k.tensor, p.name, out));
    } else {
      k.role = KernelParam::Role::Attribute;
      if (!attributeType(*a, k.attribute, {"Tensor", "Out", "Tunable", "int", "float", "bool"})) return;
    }
    d.params.push_back(std::move(k));
  }

  /// How a vector is written as a matrix.
  static std::string vectorHint(const TensorRule& t, Symbol name, bool out) {
    if (t.anyShape || t.dims.size() != 1 || t.dims[0].kind != Dim::Kind::Symbol) return {};
    return fmt::format("; write {}[1, {}] and {} {}[:, j]", out ? kOut.text() : kTensor.text(), t.dims[0].name.text(),
                       out ? "store" : "read", name.text());
  }

  const Function& f_;
  Diagnostics& diagnostics_;
  bool& ok_;
};

} // namespace

Declaration declare(const Function& f, Diagnostics& diagnostics, bool& ok) { return Reader(f, diagnostics, ok).read(); }

} // namespace tegula::lang
