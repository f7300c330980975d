// The operators + - * / … of expressions: numbers by Python's rules, tensors as primitives.
#include "lang/Diagnostics.h"
#include "lang/Interpreter.h"
#include <cmath>

namespace tegula::lang {

namespace {

const Symbol kAdd = "add", kSub = "sub", kMul = "mul", kDiv = "div", kPow = "pow", kRemainder = "remainder",
             kFloor = "floor", kNeg = "neg", kEqual = "equal", kLess = "less", kLessEqual = "less_equal",
             kAnd = "logical_and", kOr = "logical_or", kNot = "logical_not";

Status overflow(Op op, int64_t a, int64_t b) {
  return refused(DiagnosticId::ConstantArithmetic, "{} {} {} does not fit 64 bits", a, spelling(op), b);
}
template <typename T> Status byZero(T a, Op op, T b) {
  return refused(DiagnosticId::ConstantArithmetic, "{} {} {}: division by zero", a, spelling(op), b);
}
Status noMeaning(const Operand& a, Op op, const Operand& b, std::string_view expected) {
  return refused(DiagnosticId::OperandType, "{} {} {} has no meaning; expected {}", describe(a), spelling(op),
                 describe(b), expected);
}

int64_t floorDivide(int64_t a, int64_t b) {
  int64_t q = a / b;
  return q * b != a && (a < 0) != (b < 0) ? q - 1 : q;
}

/// a - floor(a / b) * b, exact: what the primitive `remainder` gives.
double floorRemainder(double a, double b) {
  double r = std::fmod(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

StatusOr<Operand> integers(Op op, int64_t a, int64_t b) {
  int64_t r = 0;
  switch (op) {
  case Op::Add:
    if (__builtin_add_overflow(a, b, &r)) return overflow(op, a, b);
    return Operand(r);
  case Op::Sub:
    if (__builtin_sub_overflow(a, b, &r)) return overflow(op, a, b);
    return Operand(r);
  case Op::Mul:
    if (__builtin_mul_overflow(a, b, &r)) return overflow(op, a, b);
    return Operand(r);
  case Op::FloorDiv:
  case Op::Mod:
    if (b == 0) return byZero(a, op, b);
    if (b == -1) return op == Op::Mod ? Operand(int64_t{0}) : integers(Op::Sub, 0, a);
    return Operand(op == Op::FloorDiv ? floorDivide(a, b) : a - floorDivide(a, b) * b);
  case Op::Pow: {
    if (a == 0 && b < 0) return byZero(a, op, b);
    if (b < 0) return Operand(std::pow(static_cast<double>(a), static_cast<double>(b)));
    r = 1;
    for (int64_t i = 0; i < b && r != 0 && !(a == 1) && !(a == -1 && i >= 2); ++i)
      if (__builtin_mul_overflow(r, a, &r)) return overflow(op, a, b);
    if (a == -1) r = b % 2 ? -1 : 1;
    return Operand(r);
  }
  case Op::BitAnd:
    return Operand(a & b);
  case Op::BitOr:
    return Operand(a | b);
  case Op::BitXor:
    return Operand(a ^ b);
  default:
    return invalid("'{}' of two integers", spelling(op));
  }
}

StatusOr<Operand> floats(Op op, double a, double b) {
  switch (op) {
  case Op::Add:
    return Operand(a + b);
  case Op::Sub:
    return Operand(a - b);
  case Op::Mul:
    return Operand(a * b);
  case Op::Div:
    if (b == 0) return byZero(a, op, b);
    return Operand(a / b);
  case Op::FloorDiv:
    if (b == 0) return byZero(a, op, b);
    return Operand(std::floor(a / b));
  case Op::Mod:
    if (b == 0) return byZero(a, op, b);
    return Operand(floorRemainder(a, b));
  case Op::Pow:
    if (a == 0 && b < 0) return byZero(a, op, b);
    return Operand(std::pow(a, b));
  default:
    return invalid("'{}' of two numbers", spelling(op));
  }
}

template <typename T> bool compare(Op op, const T& a, const T& b) {
  switch (op) {
  case Op::Less:
    return a < b;
  case Op::LessEqual:
    return a <= b;
  case Op::Greater:
    return a > b;
  case Op::GreaterEqual:
    return a >= b;
  case Op::NotEqual:
    return a != b;
  default:
    return a == b;
  }
}

bool isComparison(Op op) { return op >= Op::Less && op <= Op::NotEqual; }

bool sameConstant(const Operand& a, const Operand& b) {
  if (a.isNumber() && b.isNumber()) return a.number() == b.number();
  const Sequence *p = a.sequence(), *q = b.sequence();
  if (p && q) {
    if (p->size() != q->size()) return false;
    for (size_t i = 0; i < p->size(); ++i)
      if (!sameConstant((*p)[i], (*q)[i])) return false;
    return true;
  }
  return a.v == b.v;
}

/// (0,) * n
StatusOr<Operand> repeated(const Sequence& s, int64_t times) {
  if (times < 0) return refused(DiagnosticId::TupleSize, "a tuple repeated {} times", times);
  Sequence q;
  if (s.empty()) return Operand(std::move(q));
  for (int64_t i = 0; i < times; ++i) TG_RETURN_IF_ERROR(append(q, s));
  return tupleOf(std::move(q));
}

StatusOr<Operand> negated(Emitter& e, StatusOr<Value> v) {
  if (!v.ok()) return v.status();
  TG_ASSIGN_OR_RETURN(Value r, e.apply(kNot, {*v}));
  return Operand(r);
}

StatusOr<Operand> wrap(StatusOr<Value> v) {
  if (!v.ok()) return v.status();
  return Operand(*v);
}

/// x**2 and x**3 are products: exact signs, no logarithm.
StatusOr<Operand> power(Emitter& e, const Operand& a, const Operand& b) {
  int64_t exponent = b.integer() ? *b.integer() : 0;
  if (!a.tensor() || exponent < 2 || exponent > 3) return wrap(e.binary(kPow, a, b));
  TG_ASSIGN_OR_RETURN(Value v, e.apply(kMul, {*a.tensor(), *a.tensor()}));
  if (exponent == 3) {
    TG_ASSIGN_OR_RETURN(v, e.apply(kMul, {v, *a.tensor()}));
  }
  return Operand(v);
}

/// `div` of integers rounds down itself.
StatusOr<Operand> floorDivision(Emitter& e, const Operand& a, const Operand& b) {
  TG_ASSIGN_OR_RETURN(auto both, e.unify(a, b));
  TG_ASSIGN_OR_RETURN(Value q, e.apply(kDiv, {both.first, both.second}));
  return isFloat(e.type(both.first).dtype) ? wrap(e.apply(kFloor, {q})) : Operand(q);
}

StatusOr<Operand> logical(Emitter& e, Op op, const Operand& a, const Operand& b) {
  TG_ASSIGN_OR_RETURN(auto both, e.unify(a, b));
  if (e.type(both.first).dtype != DType::Bool && op == Op::BitXor)
    return refused(DiagnosticId::OperandType, "'^' of {}; expected bool tensors; a power is written '**'",
                   toString(e.type(both.first)));
  if (e.type(both.first).dtype != DType::Bool)
    return refused(DiagnosticId::OperandType,
                   "'{}' of {}; expected bool tensors ('{}' binds tighter than comparisons: write (a < b) {} (c < d))",
                   spelling(op), toString(e.type(both.first)), spelling(op), spelling(op));
  if (op == Op::BitXor) return negated(e, e.apply(kEqual, {both.first, both.second}));
  return wrap(e.apply(op == Op::BitAnd ? kAnd : kOr, {both.first, both.second}));
}

} // namespace

StatusOr<Operand> applyConstants(Op op, const Operand& a, const Operand& b) {
  if (op == Op::Equal || op == Op::NotEqual) return Operand(sameConstant(a, b) == (op == Op::Equal));
  if (isComparison(op)) {
    if (a.integer() && b.integer()) return Operand(compare(op, *a.integer(), *b.integer()));
    if (a.isNumber() && b.isNumber()) return Operand(compare(op, a.number(), b.number()));
    return noMeaning(a, op, b, "numbers");
  }
  if (op == Op::Add && a.sequence() && b.sequence()) {
    Sequence q;
    TG_RETURN_IF_ERROR(append(q, *a.sequence()));
    TG_RETURN_IF_ERROR(append(q, *b.sequence()));
    return tupleOf(std::move(q));
  }
  if (op == Op::Mul && a.sequence() && b.integer()) return repeated(*a.sequence(), *b.integer());
  if (a.integer() && b.integer() && op != Op::Div) return integers(op, *a.integer(), *b.integer());
  if (a.isNumber() && b.isNumber()) return floats(op, a.number(), b.number());
  return noMeaning(a, op, b, "numbers");
}

Status append(Sequence& q, const Sequence& more) {
  if (static_cast<int64_t>(q.size() + more.size()) > kMostElements)
    return refused(DiagnosticId::TupleSize, "a tuple of more than {} elements", kMostElements);
  q.insert(q.end(), more.begin(), more.end());
  return OkStatus();
}

StatusOr<Operand> tupleOf(Sequence q) {
  Operand o(std::move(q));
  if (o.tuple()->count > kMostElements)
    return refused(DiagnosticId::TupleSize, "a tuple of more than {} elements, those of nested tuples counted",
                   kMostElements);
  if (o.tuple()->depth > kDeepestTuple)
    return refused(DiagnosticId::TupleSize, "tuples nest more than {} deep", kDeepestTuple);
  return o;
}

StatusOr<Operand> applyBinary(Emitter& e, Op op, const Operand& a, const Operand& b) {
  if (op == Op::Is || op == Op::IsNot) return Operand((a.isNone() == b.isNone()) == (op == Op::Is));
  if (!a.tensor() && !b.tensor()) return applyConstants(op, a, b);
  for (const Operand* o : {&a, &b})
    if (!o->tensor() && !o->isNumber() && !o->boolean()) return noMeaning(a, op, b, "tensors or numbers");
  switch (op) {
  case Op::MatMul:
    if (!a.tensor() || !b.tensor()) return noMeaning(a, op, b, "two tensors");
    return wrap(e.matmul(*a.tensor(), *b.tensor()));
  case Op::Add:
    return wrap(e.binary(kAdd, a, b));
  case Op::Sub:
    return wrap(e.binary(kSub, a, b));
  case Op::Mul:
    return wrap(e.binary(kMul, a, b));
  case Op::Div: {
    TG_ASSIGN_OR_RETURN(auto both, e.unify(a, b));
    if (!isFloat(e.type(both.first).dtype))
      return refused(DiagnosticId::OperandType, "'/' of {}; expected floats; cast them, or use '//'",
                     toString(e.type(both.first)));
    return wrap(e.apply(kDiv, {both.first, both.second}));
  }
  case Op::FloorDiv:
    return floorDivision(e, a, b);
  case Op::Mod:
    return wrap(e.binary(kRemainder, a, b));
  case Op::Pow:
    return power(e, a, b);
  case Op::BitAnd:
  case Op::BitOr:
  case Op::BitXor:
    return logical(e, op, a, b);
  case Op::Less:
    return wrap(e.binary(kLess, a, b));
  case Op::LessEqual:
    return wrap(e.binary(kLessEqual, a, b));
  case Op::Greater:
    return wrap(e.binary(kLess, b, a));
  case Op::GreaterEqual:
    return wrap(e.binary(kLessEqual, b, a));
  case Op::Equal:
    return wrap(e.binary(kEqual, a, b));
  case Op::NotEqual:
    return negated(e, e.binary(kEqual, a, b));
  default:
    return refused(DiagnosticId::OperandType, "'{}' of tensors has no meaning", spelling(op));
  }
}

StatusOr<Operand> applyUnary(Emitter& e, Op op, const Operand& a) {
  if (a.tensor()) {
    if (op == Op::Neg) return wrap(e.apply(kNeg, {*a.tensor()}));
    if (op == Op::Pos) return a;
    if (op == Op::Invert) return wrap(e.apply(kNot, {*a.tensor()}));
    return refused(DiagnosticId::OperandType, "'{}' of a tensor has no meaning; '~' negates each element",
                   spelling(op));
  }
  if (op == Op::Neg && a.integer()) return integers(Op::Sub, 0, *a.integer());
  if (op == Op::Neg && a.isNumber()) return Operand(-a.number());
  if (op == Op::Pos && a.isNumber()) return a;
  if (op == Op::Invert && a.integer()) return Operand(~*a.integer());
  return refused(DiagnosticId::OperandType, "'{}' of {} has no meaning", spelling(op), describe(a));
}

} // namespace tegula::lang
