// Elementwise built-ins: functions of one element, choices, casts, comparisons by name.
#include "lang/Builtins.h"
#include "lang/Diagnostics.h"
#include "lang/ForeignNames.h"
#include <cmath>
#include <limits>

namespace tegula::lang {

namespace {

using Args = std::span<const Operand>;

/// A function of one element under the primitive's name; on a number, the number's value.
template <auto kName, double (*kScalar)(double)> StatusOr<Operand> unary(Emitter& e, Args a) {
  static const Symbol name = kName();
  if (a[0].isNumber()) {
    if (constexpr double (*scalar)(double) = kScalar; scalar) return Operand(scalar(a[0].number()));
    return invalid("{} of {}; expected a tensor", name.text(), describe(a[0]));
  }
  TG_ASSIGN_OR_RETURN(Value v, e.apply(name, {*a[0].tensor()}));
  return Operand(v);
}
double inverseSqrt(double x) { return 1 / std::sqrt(x); }

StatusOr<Operand> absolute(Emitter& e, Args a) {
  if (const int64_t* i = a[0].integer()) {
    if (*i == std::numeric_limits<int64_t>::min())
      return refused(DiagnosticId::ConstantArithmetic, "-({}) does not fit 64 bits", *i);
    return Operand(*i < 0 ? -*i : *i);
  }
  static constexpr auto name = [] { return Symbol("abs"); };
  return unary<name, std::fabs>(e, a);
}

template <auto kName> StatusOr<Operand> binary(Emitter& e, Args a) {
  static const Symbol name = kName();
  bool isMax = name == Symbol("maximum");
  if (a[0].integer() && a[1].integer())
    return Operand(isMax ? std::max(*a[0].integer(), *a[1].integer()) : std::min(*a[0].integer(), *a[1].integer()));
  if (a[0].isNumber() && a[1].isNumber())
    return Operand(isMax ? std::max(a[0].number(), a[1].number()) : std::min(a[0].number(), a[1].number()));
  TG_ASSIGN_OR_RETURN(Value v, e.binary(name, a[0], a[1]));
  return Operand(v);
}

/// where(condition, a, b): all three broadcast together; a number takes the type of the other choice.
StatusOr<Operand> where(Emitter& e, Args a) {
  static const Symbol kSelect = "select";
  Value c = *a[0].tensor();
  if (e.type(c).dtype != DType::Bool)
    return refused(DiagnosticId::OperandType, "where: the condition is {}; expected bool", toString(e.type(c)));
  if (!a[1].tensor() && !a[2].tensor())
    return refused(DiagnosticId::OperandType,
                   "where: both choices are numbers, so the result has no type; make one a tensor");
  TG_ASSIGN_OR_RETURN(auto choice, e.unify(a[1], a[2]));
  std::optional<Shape> all = broadcastShapes(e.shape(c), e.shape(choice.first));
  if (!all)
    return invalid("where: the condition {} does not broadcast with {}", toString(e.shape(c)),
                   toString(e.shape(choice.first)));
  TG_ASSIGN_OR_RETURN(c, e.broadcastTo(c, *all));
  // A number is filled at the full size, not broadcast twice.
  Value x, y;
  if (a[1].tensor()) {
    TG_ASSIGN_OR_RETURN(x, e.broadcastTo(choice.first, *all));
  } else {
    TG_ASSIGN_OR_RETURN(x, e.fill(a[1], e.type(choice.first).dtype, *all));
  }
  if (a[2].tensor()) {
    TG_ASSIGN_OR_RETURN(y, e.broadcastTo(choice.second, *all));
  } else {
    TG_ASSIGN_OR_RETURN(y, e.fill(a[2], e.type(choice.second).dtype, *all));
  }
  TG_ASSIGN_OR_RETURN(Value v, e.apply(kSelect, {c, x, y}));
  return Operand(v);
}

StatusOr<Operand> cast(Emitter& e, Args a) {
  DType d = DType::F32;
  if (a[1].dtype())
    d = *a[1].dtype();
  else if (const Symbol* s = a[1].string()) {
    std::optional<DType> named = parseDType(s->text());
    if (!named)
      return refused(DiagnosticId::OperandType, "cast: '{}' is not an element type{}", s->text(),
                     didYouMeanType(s->text()));
    d = *named;
  }
  TG_ASSIGN_OR_RETURN(Value v, e.cast(*a[0].tensor(), d));
  return Operand(v);
}

StatusOr<Operand> wide(Emitter& e, Args a) {
  TG_ASSIGN_OR_RETURN(Value v, e.wide(*a[0].tensor()));
  return Operand(v);
}

StatusOr<Operand> toFloat(Emitter& e, Args a) {
  if (a[0].isNumber()) return Operand(a[0].number());
  return invalid("float of {}; expected a number (cast(x, f32) converts a tensor)", describe(a[0]));
}

#define NAME(text) [] { return Symbol(text); }

} // namespace

std::span<const Builtin> mathBuiltins() {
  using namespace kind;
  static const std::vector<Builtin> table = [] {
    std::vector<Builtin> t;
    auto one = [&](std::string_view name, auto* call, bool scalar) {
      t.push_back(
          {{name, {{"x", Kinds(Tensor | (scalar ? Number : 0))}}, Kinds(Tensor | (scalar ? Number : 0))}, call});
    };
    one("neg", unary<NAME("neg"), nullptr>, false);
    one("abs", absolute, true);
    one("sign", unary<NAME("sign"), nullptr>, false);
    one("exp", unary<NAME("exp"), std::exp>, true);
    one("log", unary<NAME("log"), std::log>, true);
    one("sin", unary<NAME("sin"), std::sin>, true);
    one("cos", unary<NAME("cos"), std::cos>, true);
    one("tanh", unary<NAME("tanh"), std::tanh>, true);
    one("erf", unary<NAME("erf"), std::erf>, true);
    one("sqrt", unary<NAME("sqrt"), std::sqrt>, true);
    one("rsqrt", unary<NAME("rsqrt"), inverseSqrt>, true);
    one("floor", unary<NAME("floor"), std::floor>, true);
    one("is_nan", unary<NAME("is_nan"), nullptr>, false);
    one("stop_gradient", unary<NAME("stop_gradient"), nullptr>, false);
    one("wide", wide, false);
    Kinds any = Tensor | Number;
    t.push_back({{"maximum", {{"a", any}, {"b", any}}, any}, binary<NAME("maximum")>});
    t.push_back({{"minimum", {{"a", any}, {"b", any}}, any}, binary<NAME("minimum")>});
    t.push_back({{"where", {{"c", Tensor}, {"a", any}, {"b", any}}, Tensor}, where});
    t.push_back({{"cast", {{"x", Tensor}, {"dtype", Kinds(kind::DType | String)}}, Tensor}, cast});
    t.push_back({{"float", {{"x", Number}}, Float}, toFloat});
    return t;
  }();
  return table;
}

} // namespace tegula::lang
