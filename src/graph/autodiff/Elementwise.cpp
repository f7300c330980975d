// Derivatives of functions of one element: arithmetic, functions, select, cast.
#include "graph/autodiff/Rules.h"
#include <numbers>

namespace tegula {

namespace {

const Symbol kSign = "sign", kCos = "cos", kSin = "sin", kExp = "exp", kLog = "log", kPow = "pow", kFloor = "floor";

Value scaled(Emit& e, Value x, double by) { return e.mul(x, e.constantLike(by, x)); }

void add(RuleCall& c) {
  c.set(0, [&] { return c.dy(); });
  c.set(1, [&] { return c.dy(); });
}
void sub(RuleCall& c) {
  c.set(0, [&] { return c.dy(); });
  c.set(1, [&] { return c.e.neg(c.dy()); });
}
void mul(RuleCall& c) {
  c.set(0, [&] { return c.e.mul(c.dy(), c.in(1)); });
  c.set(1, [&] { return c.e.mul(c.dy(), c.in(0)); });
}
void div(RuleCall& c) {
  c.set(0, [&] { return c.e.div(c.dy(), c.in(1)); });
  c.set(1, [&] { return c.e.neg(c.e.div(c.e.mul(c.dy(), c.out()), c.in(1))); });
}

/// d(a^b)/da = b a^(b-1), and 0 where b = 0 even if a = 0. d/db = a^b log a, and 0 where a^b is 0 for b > 0 (a = 0).
void pow(RuleCall& c) {
  Emit& e = c.e;
  Value a = c.in(0), b = c.in(1), zero = e.constantLike(0, c.dy());
  c.set(0, [&] {
    Value slope = e.mul(b, e.primitive(kPow, {a, e.sub(b, e.constantLike(1, b))}));
    return e.select(e.equal(b, zero), zero, e.mul(c.dy(), slope));
  });
  c.set(1, [&] {
    Value slope = e.mul(c.out(), e.primitive(kLog, {a}));
    Value flat = e.logicalAnd(e.equal(a, zero), e.primitive("less_equal", {zero, b}));
    return e.select(flat, zero, e.mul(c.dy(), slope));
  });
}

/// `lesser` holds where the other operand wins; ties give half each.
Value extremeGradient(RuleCall& c, Value lesser) {
  Emit& e = c.e;
  Value half = e.select(e.equal(c.in(0), c.in(1)), scaled(e, c.dy(), 0.5), c.dy());
  return e.select(lesser, e.constantLike(0, c.dy()), half);
}
void maximum(RuleCall& c) {
  c.set(0, [&] { return extremeGradient(c, c.e.less(c.in(0), c.in(1))); });
  c.set(1, [&] { return extremeGradient(c, c.e.less(c.in(1), c.in(0))); });
}
void minimum(RuleCall& c) {
  c.set(0, [&] { return extremeGradient(c, c.e.less(c.in(1), c.in(0))); });
  c.set(1, [&] { return extremeGradient(c, c.e.less(c.in(0), c.in(1))); });
}

/// a - b floor(a/b).
void remainder(RuleCall& c) {
  c.set(0, [&] { return c.dy(); });
  c.set(1, [&] { return c.e.neg(c.e.mul(c.dy(), c.e.primitive(kFloor, {c.e.div(c.in(0), c.in(1))}))); });
}

void neg(RuleCall& c) {
  c.set(0, [&] { return c.e.neg(c.dy()); });
}
void abs(RuleCall& c) {
  c.set(0, [&] { return c.e.mul(c.dy(), c.e.primitive(kSign, {c.in(0)})); });
}
void exp(RuleCall& c) {
  c.set(0, [&] { return c.e.mul(c.dy(), c.out()); });
}
void log(RuleCall& c) {
  c.set(0, [&] { return c.e.div(c.dy(), c.in(0)); });
}
void sin(RuleCall& c) {
  c.set(0, [&] { return c.e.mul(c.dy(), c.e.primitive(kCos, {c.in(0)})); });
}
void cos(RuleCall& c) {
  c.set(0, [&] { return c.e.neg(c.e.mul(c.dy(), c.e.primitive(kSin, {c.in(0)}))); });
}
void tanh(RuleCall& c) {
  c.set(0, [&] { return c.e.mul(c.dy(), c.e.sub(c.e.constantLike(1, c.out()), c.e.mul(c.out(), c.out()))); });
}
void erf(RuleCall& c) {
  c.set(0, [&] {
    Value x = c.in(0);
    Value bell = c.e.primitive(kExp, {c.e.neg(c.e.mul(x, x))});
    return c.e.mul(c.dy(), scaled(c.e, bell, 2 / std::sqrt(std::numbers::pi)));
  });
}
void sqrt(RuleCall& c) {
  c.set(0, [&] { return c.e.div(scaled(c.e, c.dy(), 0.5), c.out()); });
}
void rsqrt(RuleCall& c) {
  c.set(0, [&] {
    Value cube = c.e.mul(c.out(), c.e.mul(c.out(), c.out()));
    return c.e.mul(c.dy(), scaled(c.e, cube, -0.5));
  });
}

void select(RuleCall& c) {
  Value zero = c.e.constantLike(0, c.dy());
  c.set(1, [&] { return c.e.select(c.in(0), c.dy(), zero); });
  c.set(2, [&] { return c.e.select(c.in(0), zero, c.dy()); });
}

void cast(RuleCall& c) {
  c.set(0, [&] { return c.e.cast(c.dy(), c.e.dtypeOf(c.in(0))); });
}

void relayout(RuleCall& c) {
  c.set(0, [&] { return c.dy(); });
}

} // namespace

std::span<const Rule> elementwiseRules() {
  static const Rule table[] = {
      {"add", add},          {"sub", sub},         {"mul", mul},         {"div", div},
      {"pow", pow},          {"maximum", maximum}, {"minimum", minimum}, {"remainder", remainder},
      {"neg", neg},          {"abs", abs},         {"exp", exp},         {"log", log},
      {"sin", sin},          {"cos", cos},         {"tanh", tanh},       {"erf", erf},
      {"sqrt", sqrt},        {"rsqrt", rsqrt},     {"select", select},   {"cast", cast},
      {"relayout", relayout}};
  return table;
}

} // namespace tegula
