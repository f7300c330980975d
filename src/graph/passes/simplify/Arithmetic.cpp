// Identities of arithmetic that hold for every value.
#include "graph/passes/simplify/Simplifier.h"
#include "primitives/InferRules.h"

namespace tegula {

namespace {

using In = std::span<const Value>;
const Symbol kNeg = "neg", kAbs = "abs", kMul = "mul", kDiv = "div", kNot = "logical_not", kBroadcast = "broadcast",
             kConstant = "constant", kAdd = "add", kSub = "sub", kSqrt = "sqrt", kCast = "cast";

Value add(Simplifier& s, Symbol, In in, const Attributes&) {
  bool floats = isFloat(s.typeOf(in[0]).dtype);
  double zero = floats ? -0.0 : 0.0; // x + (+0) turns -0 into +0
  if (s.isConstant(in[1], zero)) return in[0];
  if (s.isConstant(in[0], zero)) return in[1];
  return {};
}

Value sub(Simplifier& s, Symbol, In in, const Attributes&) { return s.isConstant(in[1], 0.0) ? in[0] : Value{}; }

Value mul(Simplifier& s, Symbol, In in, const Attributes&) {
  for (int k : {0, 1}) {
    if (s.isConstant(in[k], 1)) return in[1 - k];
    if (s.isConstant(in[k], -1)) return s.make(kNeg, {in[1 - k]});
  }
  return {};
}

Value div(Simplifier& s, Symbol, In in, const Attributes&) { return s.isConstant(in[1], 1) ? in[0] : Value{}; }

/// A square and a reciprocal round once, as the power does.
Value pow(Simplifier& s, Symbol, In in, const Attributes&) {
  if (!isFloat(s.typeOf(in[0]).dtype)) return {};
  if (s.isConstant(in[1], 1)) return in[0];
  if (s.isConstant(in[1], 2)) return s.make(kMul, {in[0], in[0]});
  if (s.isConstant(in[1], -1)) return s.make(kDiv, {s.constantLike(1, in[0]), in[0]});
  return {};
}

Value neg(Simplifier& s, Symbol, In in, const Attributes&) {
  const Node* n = s.producer(in[0], kNeg);
  return n ? n->inputs[0] : Value{};
}

Value abs(Simplifier& s, Symbol, In in, const Attributes&) {
  if (s.producer(in[0], kAbs)) return in[0];
  if (!isFloat(s.typeOf(in[0]).dtype)) return {}; // the least integer has no positive
  const Node* n = s.producer(in[0], kNeg);
  return n ? s.make(kAbs, {n->inputs[0]}) : Value{};
}

Value logicalNot(Simplifier& s, Symbol, In in, const Attributes&) {
  const Node* n = s.producer(in[0], kNot);
  return n && s.typeOf(n->inputs[0]).dtype == DType::Bool ? n->inputs[0] : Value{};
}

Value extreme(Simplifier&, Symbol, In in, const Attributes&) { return in[0] == in[1] ? in[0] : Value{}; }

Value select(Simplifier&, Symbol, In in, const Attributes&) { return in[1] == in[2] ? in[1] : Value{}; }

/// The result in double of one correctly rounded operation: rounding it to f32 or less again gives the same as rounding
/// once (53 >= 2 * 24 + 2 bits), and f64 is exact as it is.
std::optional<double> folded(Symbol op, double a, double b) {
  if (op == kAdd) return a + b;
  if (op == kSub) return a - b;
  if (op == kMul) return a * b;
  if (op == kDiv) return a / b;
  if (op == kNeg) return -a;
  if (op == kSqrt) return std::sqrt(a);
  if (op == kCast) return a;
  return std::nullopt;
}

} // namespace

Value foldConstants(Simplifier& s, Symbol op, In in, const Attributes& attrs) {
  double numbers[2] = {0, 0};
  if (in.empty() || in.size() > 2) return {};
  for (size_t k = 0; k < in.size(); ++k) {
    const Node* n = s.producer(in[k], kConstant);
    if (!n || !isFloat(n->results[0].dtype)) return {};
    const double* d = std::get_if<double>(n->attrs.find(attr::value));
    const int64_t* i = std::get_if<int64_t>(n->attrs.find(attr::value));
    if (!d && !i) return {};
    numbers[k] = HostArray::scalar(n->results[0].dtype, d ? *d : static_cast<double>(*i)).get(0);
  }
  DType result = op == kCast ? attrs.getDType(attr::dtype) : s.typeOf(in[0]).dtype;
  std::optional<double> value = isFloat(result) ? folded(op, numbers[0], numbers[1]) : std::nullopt;
  if (!value) return {};
  double rounded = HostArray::scalar(result, *value).get(0);
  return s.make(kConstant, {}, {{attr::value, rounded}, {attr::dtype, result}});
}

Value hoistAboveBroadcast(Simplifier& s, Symbol op, In in, const Attributes& attrs) {
  const Node* pattern = nullptr; // the broadcast whose axes all share; others repeat one number
  for (Value v : in) {
    const Node* n = s.producer(v, kBroadcast);
    if (!n) return {};
    if (n->attrs.getInts(attr::axes).rank() == 0) continue;
    bool same = !pattern || (n->attrs.getInts(attr::axes) == pattern->attrs.getInts(attr::axes) &&
                             s.shapeOf(n->inputs[0]) == s.shapeOf(pattern->inputs[0]));
    if (!same) return {};
    pattern = n;
  }
  if (in.empty()) return {};
  Shape shape = s.shapeOf(in[0]), axes = pattern ? pattern->attrs.getInts(attr::axes) : Shape{};
  Shape inner = pattern ? s.shapeOf(pattern->inputs[0]) : Shape{};
  Values operands;
  for (Value v : in) {
    const Node* n = s.producer(v, kBroadcast);
    Value x = n->inputs[0];
    bool number = n->attrs.getInts(attr::axes).rank() == 0;
    operands.push_back(number && pattern ? s.make(kBroadcast, {x}, {{attr::shape, inner}, {attr::axes, Shape{}}}) : x);
  }
  Value once = s.make(op, operands, attrs);
  if (!once.present()) return {};
  return s.make(kBroadcast, {once}, {{attr::shape, shape}, {attr::axes, axes}});
}

std::span<const NamedRule> arithmeticSimplifications() {
  static const NamedRule table[] = {
      {"add", add},         {"sub", sub},         {"mul", mul},      {"div", div},
      {"pow", pow},         {"neg", neg},         {"abs", abs},      {"logical_not", logicalNot},
      {"maximum", extreme}, {"minimum", extreme}, {"select", select}};
  return table;
}

} // namespace tegula
