// Running bodies.
#include "lang/Interpreter.h"
#include "lang/Builtins.h"
#include "lang/Declarations.h"
#include "lang/Diagnostics.h"
#include "lang/Format.h"
#include "primitives/Primitive.h"
#include <algorithm>
#include <limits>
#include <numbers>

namespace tegula::lang {

namespace {
/// Names that every body knows: constants and element types.
std::optional<Operand> predefined(Symbol name) {
  static const Symbol kInf = "inf", kNan = "nan", kPi = "pi";
  if (name == kInf) return Operand(std::numeric_limits<double>::infinity());
  if (name == kNan) return Operand(std::numeric_limits<double>::quiet_NaN());
  if (name == kPi) return Operand(std::numbers::pi);
  if (std::optional<DType> d = dtypeNamed(name)) return Operand(*d);
  return {};
}

StatusOr<AttrValue> toAttribute(const Operand& o) {
  if (o.isNone()) return AttrValue();
  if (o.boolean()) return AttrValue(*o.boolean());
  if (o.integer()) return AttrValue(*o.integer());
  if (o.isNumber()) return AttrValue(o.number());
  if (o.dtype()) return AttrValue(*o.dtype());
  if (o.string()) return AttrValue(*o.string());
  if (o.sequence()) {
    TG_ASSIGN_OR_RETURN(Shape s, toShape(o));
    return AttrValue(s);
  }
  return invalid("a tensor cannot be an attribute; expected a constant");
}
} // namespace

void Interpreter::bind(Symbol name, Operand value) {
  for (auto& [n, v] : names_)
    if (n == name) {
      v = std::move(value);
      return;
    }
  names_.emplace_back(name, std::move(value));
}

const Operand* Interpreter::lookup(Symbol name) const {
  for (const auto& [n, v] : names_)
    if (n == name) return &v;
  return nullptr;
}

StatusOr<Operand> Interpreter::run(const Block& body) {
  returned_ = Operand();
  TG_ASSIGN_OR_RETURN(Flow flow, block(body));
  if (flow != Flow::Returned) return invalid("the body ends without a return");
  return std::move(returned_);
}

StatusOr<Interpreter::Flow> Interpreter::block(const Block& body) {
  for (const StmtPtr& s : body) {
    TG_ASSIGN_OR_RETURN(Flow flow, statement(*s));
    if (flow == Flow::Returned) return flow;
  }
  return Flow::Next;
}

StatusOr<Interpreter::Flow> Interpreter::statement(const Stmt& s) {
  switch (s.kind) {
  case StmtKind::Assign: {
    TG_ASSIGN_OR_RETURN(Operand v, evaluate(*s.value));
    if (Status r = assign(*s.target, std::move(v)); !r.ok()) {
      failure_ = s.target->span;
      return r;
    }
    return Flow::Next;
  }
  case StmtKind::AugAssign: {
    auto v = binary(s.op, *s.target, *s.value);
    if (!v.ok()) {
      if (failure_.line == 0) failure_ = s.span;
      return v.status();
    }
    bind(s.target->name, *std::move(v));
    return Flow::Next;
  }
  case StmtKind::Return: {
    TG_ASSIGN_OR_RETURN(returned_, evaluate(*s.value));
    returnedAt_ = s.value->span;
    return Flow::Returned;
  }
  case StmtKind::If: {
    for (const Stmt::Branch& b : s.branches) {
      TG_ASSIGN_OR_RETURN(bool yes, condition(*b.condition));
      if (yes) return block(b.body);
    }
    return block(s.orElse);
  }
  case StmtKind::For: {
    TG_ASSIGN_OR_RETURN(Operand range, evaluate(*s.value));
    if (!range.sequence()) {
      failure_ = s.value->span;
      return invalid("a loop over {}; expected range(…) or a tuple", describe(range));
    }
    constexpr int64_t kMostSteps = 1 << 16; // every step becomes nodes of a graph
    for (const Operand& item : *range.sequence()) {
      if (++steps_ > kMostSteps) {
        failure_ = s.span;
        return invalid("the loops of this body run more than {} steps", kMostSteps);
      }
      TG_RETURN_IF_ERROR(assign(*s.target, item));
      TG_ASSIGN_OR_RETURN(Flow flow, block(s.body));
      if (flow == Flow::Returned) return flow;
    }
    return Flow::Next;
  }
  case StmtKind::Assert: {
    TG_ASSIGN_OR_RETURN(bool yes, condition(*s.value));
    if (yes) return Flow::Next;
    failure_ = s.span;
    return failed("{}", s.message ? s.message->text : fmt::format("an assertion of line {} failed", s.span.line));
  }
  case StmtKind::Expr:
  case StmtKind::Pass:
    return Flow::Next;
  }
  return Flow::Next;
}

Status Interpreter::assign(const Expr& target, Operand value) {
  if (target.is(ExprKind::Name)) {
    bind(target.name, std::move(value));
    return OkStatus();
  }
  if (!target.is(ExprKind::Tuple)) return invalid("only names can be assigned to here");
  const Sequence* q = value.sequence();
  if (!q || q->size() != target.args.size())
    return invalid("{} names but {}", target.args.size(), q ? fmt::format("{} values", q->size()) : describe(value));
  for (size_t i = 0; i < q->size(); ++i) bind(target.args[i]->name, (*q)[i]);
  return OkStatus();
}

StatusOr<bool> Interpreter::condition(const Expr& e) {
  TG_ASSIGN_OR_RETURN(Operand v, evaluate(e));
  if (const bool* b = v.boolean()) return *b;
  if (v.integer()) return *v.integer() != 0;
  failure_ = e.span;
  return invalid("a condition is {}; expected a constant bool (where(c, a, b) chooses by element)", describe(v));
}

StatusOr<Operand> Interpreter::evaluate(const Expr& e) {
  StatusOr<Operand> v = compute(e);
  if (!v.ok() && failure_.line == 0) failure_ = e.span;
  return v;
}

StatusOr<Operand> Interpreter::compute(const Expr& e) {
  switch (e.kind) {
  case ExprKind::Name: {
    if (const Operand* v = lookup(e.name)) return *v;
    if (std::optional<Operand> v = predefined(e.name)) return *v;
    return invalid("unknown name '{}'", e.name.text());
  }
  case ExprKind::Int:
    return Operand(e.intValue);
  case ExprKind::Float:
    return Operand(e.floatValue);
  case ExprKind::String:
    return Operand(Symbol(e.text));
  case ExprKind::Bool:
    return Operand(e.intValue != 0);
  case ExprKind::None:
    return Operand();
  case ExprKind::Unary:
    return unary(e);
  case ExprKind::Binary:
    return binary(e);
  case ExprKind::Conditional: {
    TG_ASSIGN_OR_RETURN(bool yes, condition(e.arg(1)));
    return evaluate(e.arg(yes ? 0 : 2));
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
  return invalid("this cannot stand here");
}

StatusOr<Operand> Interpreter::unary(const Expr& e) {
  if (e.op == Op::Not) {
    TG_ASSIGN_OR_RETURN(bool v, condition(e.arg(0)));
    return Operand(!v);
  }
  TG_ASSIGN_OR_RETURN(Operand a, evaluate(e.arg(0)));
  StatusOr<Operand> v = applyUnary(emitter_, e.op, a);
  return v.ok() ? v : ofOperator(e.op, v.status(), {{&e.arg(0), &a}});
}

StatusOr<Operand> Interpreter::binary(const Expr& e) {
  if (e.op == Op::And || e.op == Op::Or) {
    TG_ASSIGN_OR_RETURN(bool a, condition(e.arg(0)));
    if (a == (e.op == Op::Or)) return Operand(a);
    TG_ASSIGN_OR_RETURN(bool b, condition(e.arg(1)));
    return Operand(b);
  }
  return binary(e.op, e.arg(0), e.arg(1));
}

StatusOr<Operand> Interpreter::binary(Op op, const Expr& left, const Expr& right) {
  TG_ASSIGN_OR_RETURN(Operand a, evaluate(left));
  TG_ASSIGN_OR_RETURN(Operand b, evaluate(right));
  StatusOr<Operand> v = applyBinary(emitter_, op, a, b);
  return v.ok() ? v : ofOperator(op, v.status(), {{&left, &a}, {&right, &b}});
}

namespace {
/// What a primitive says, without its own name: bodies know it by another.
std::optional<std::string_view> afterPrimitive(std::string_view message) {
  size_t end = message.find(": ");
  if (end == std::string_view::npos || !findPrimitive(Symbol(message.substr(0, end)))) return {};
  return message.substr(end + 2);
}

/// The way out that a message names after ';', or all of it.
std::string_view wayOut(std::string_view message) {
  size_t at = message.find("; ");
  return at == std::string_view::npos ? message : message.substr(at + 2);
}
} // namespace

/// Element types that a primitive refuses, in the words of the body: `'*' of s (bool[4]); expected …`.
Status Interpreter::ofOperator(Op op, const Status& s,
                               std::initializer_list<std::pair<const Expr*, const Operand*>> operands) const {
  std::optional<std::string_view> said = afterPrimitive(message(s));
  if (!said || idOf(s, DiagnosticId::ShapeMismatch) != DiagnosticId::ElementType) return s;
  std::vector<std::string> parts;
  for (auto [e, o] : operands) {
    if (!o->tensor()) continue;
    std::string part =
        fmt::format("{} ({})", formatExpression(*e).substr(0, 60), toString(emitter_.type(*o->tensor())));
    if (parts.empty() || parts.back() != part) parts.push_back(std::move(part));
  }
  return refused(DiagnosticId::ElementType, "'{}' of {}; {}", spelling(op), fmt::join(parts, " and "), wayOut(*said));
}

StatusOr<Operand> Interpreter::sequence(const Expr& e) {
  Sequence q;
  for (const ExprPtr& a : e.args) {
    TG_ASSIGN_OR_RETURN(Operand v, evaluate(a->is(ExprKind::Star) ? a->arg(0) : *a));
    if (!a->is(ExprKind::Star)) {
      q.push_back(std::move(v));
      continue;
    }
    if (!v.sequence()) return invalid("'*' before {}; expected a tuple", describe(v));
    TG_RETURN_IF_ERROR(append(q, *v.sequence()));
  }
  return tupleOf(std::move(q));
}

StatusOr<Operand> Interpreter::member(const Expr& e) {
  static const Symbol kShape = "shape", kDType = "dtype";
  TG_ASSIGN_OR_RETURN(Operand base, evaluate(e.arg(0)));
  if (base.tensor() && e.name == kShape) return Operand::of(emitter_.shape(*base.tensor()));
  if (base.tensor() && e.name == kDType) return Operand(emitter_.type(*base.tensor()).dtype);
  return invalid("{} has no '{}'; a tensor has shape and dtype", describe(base), e.name.text());
}

// ---- calls

namespace {
bool fits(const Operand& o, Kinds k) {
  if (o.isNone()) return k & kind::None;
  if (o.tensor()) return k & kind::Tensor;
  if (o.integer()) return k & kind::Int;
  if (o.isNumber()) return k & kind::Float;
  if (o.boolean()) return k & kind::Bool;
  if (o.dtype()) return k & kind::DType;
  if (o.string()) return k & kind::String;
  return k & kind::Tuple;
}
} // namespace

StatusOr<Operand> Interpreter::call(const Expr& e) {
  Symbol name = e.callee();
  const Builtin* builtin = findBuiltin(name);
  if (!builtin) {
    if (const OperatorDecl* op = operators_.find(name)) return callOperator(*op, e);
    return invalid("unknown function '{}'", name.text());
  }
  Matched m = matchArguments(builtin->signature, e);
  if (!m.problems.empty()) return invalid("{}", m.problems[0].message);
  absl::InlinedVector<Operand, 6> args(builtin->signature.params.size());
  for (size_t p = 0; p < args.size(); ++p) {
    if (m.arguments[p].empty()) continue;
    const Expr& a = e.arg(m.arguments[p][0]);
    TG_ASSIGN_OR_RETURN(args[p], evaluate(a));
    const SignatureParam& param = builtin->signature.params[p];
    if (fits(args[p], param.kinds) || (!param.required && args[p].isNone())) continue;
    failure_ = a.span;
    return invalid("{}: '{}' is {}; expected {}", name.text(), param.name.text(), describe(args[p]),
                   describeKinds(param.kinds));
  }
  StatusOr<Operand> v = builtin->call(emitter_, args);
  if (v.ok()) return v;
  if (std::optional<std::string_view> said = afterPrimitive(message(v.status())))
    return refused(idOf(v.status(), DiagnosticId::ShapeMismatch), "{}: {}", name.text(), *said);
  if (message(v.status()).find(": ") != std::string_view::npos) return v; // it names the function already
  return withContext(v.status(), name.text());
}

StatusOr<Operand> Interpreter::callOperator(const OperatorDecl& op, const Expr& e) {
  Signature signature = signatureOf(op);
  Matched m = matchArguments(signature, e);
  if (!m.problems.empty()) return invalid("{}", m.problems[0].message);
  Values inputs;
  Attributes attributes;
  for (size_t p = 0; p < signature.params.size(); ++p) {
    int input = op.inputIndex(signature.params[p].name);
    bool isInput = input >= 0, variadic = isInput && op.inputs[input].variadic;
    if (isInput && m.arguments[p].empty() && !variadic) inputs.push_back(Value());
    for (size_t i : m.arguments[p]) {
      const Expr& a = e.arg(i);
      TG_ASSIGN_OR_RETURN(Operand v, evaluate(a.is(ExprKind::Star) ? a.arg(0) : a));
      if (v.sequence() && variadic) {
        for (const Operand& o : *v.sequence()) {
          if (!o.tensor())
            return invalid("{}: {} among '{}'; expected tensors", op.name.text(), describe(o),
                           op.inputs[input].name.text());
          inputs.push_back(*o.tensor());
        }
      } else if (isInput) {
        if (!v.tensor() && !(v.isNone() && op.inputs[input].optional)) {
          failure_ = a.span;
          return invalid("{}: '{}' is {}; expected a tensor", op.name.text(), op.inputs[input].name.text(),
                         describe(v));
        }
        inputs.push_back(v.tensor() ? *v.tensor() : Value());
      } else {
        TG_ASSIGN_OR_RETURN(AttrValue value, toAttribute(v));
        attributes.set(signature.params[p].name, value);
      }
    }
  }
  TG_ASSIGN_OR_RETURN(Attributes complete, operators_.complete(op, attributes));
  TG_ASSIGN_OR_RETURN(Values out,
                      emitter_.builder().call(op.name, std::span<const Value>(inputs.data(), inputs.size()), complete));
  if (signature.results == 1) return Operand(out[0]);
  Sequence q;
  for (int i = 0; i < signature.results; ++i) q.emplace_back(out[i]);
  return Operand(std::move(q));
}

// ---- indexing

StatusOr<Operand> Interpreter::index(const Expr& e) {
  TG_ASSIGN_OR_RETURN(Operand base, evaluate(e.arg(0)));
  if (base.tensor()) return indexTensor(*base.tensor(), e);
  if (base.sequence()) return indexSequence(*base.sequence(), e);
  return invalid("{} has no elements to index", describe(base));
}

StatusOr<Operand> Interpreter::indexSequence(const Sequence& q, const Expr& e) {
  if (e.args.size() != 2) return invalid("a tuple takes one index");
  const Expr& i = e.arg(1);
  int64_t size = static_cast<int64_t>(q.size());
  if (i.is(ExprKind::Slice)) {
    Operand parts[3];
    for (int k = 0; k < 3; ++k)
      if (i.args[k]) {
        TG_ASSIGN_OR_RETURN(parts[k], evaluate(*i.args[k]));
      }
    int64_t step = parts[2].integer() ? *parts[2].integer() : 1;
    TG_ASSIGN_OR_RETURN(auto bounds, sliceBounds(parts[0], parts[1], step, size));
    Sequence out;
    for (int64_t k = 0; k < bounds.second; ++k) out.push_back(q[bounds.first + k * step]);
    return Operand(std::move(out));
  }
  TG_ASSIGN_OR_RETURN(Operand v, evaluate(i));
  if (!v.integer()) return invalid("the index of a tuple is {}; expected an integer", describe(v));
  int64_t k = *v.integer() < 0 ? *v.integer() + size : *v.integer();
  if (k < 0 || k >= size) return invalid("index {} is outside a tuple of {}", *v.integer(), size);
  return q[k];
}

/// x[i, a:b:s, None, …]: at most one slice and one reshape.
StatusOr<Operand> Interpreter::indexTensor(Value x, const Expr& e) {
  Shape from = emitter_.shape(x);
  int given = 0;
  for (size_t i = 1; i < e.args.size(); ++i) given += !e.arg(i).is(ExprKind::Ellipsis) && !e.arg(i).is(ExprKind::None);
  if (given > from.rank()) return invalid("{} indices for a tensor of rank {}", given, from.rank());
  Shape starts, sizes, steps, result;
  auto whole = [&](int axis) {
    starts.push_back(0), steps.push_back(1);
    sizes.push_back(from[axis]);
    result.push_back(from[axis]);
  };
  auto full = [&] { return result.rank() >= kMaxRank; };
  for (size_t i = 1; i < e.args.size(); ++i) {
    const Expr& a = e.arg(i);
    int axis = starts.rank();
    if (full() && !a.is(ExprKind::Int)) return invalid("the result would have more than {} axes", kMaxRank);
    if (a.is(ExprKind::None)) {
      result.push_back(1);
    } else if (a.is(ExprKind::Ellipsis)) {
      for (int n = from.rank() - given; n > 0; --n) {
        if (full()) return invalid("the result would have more than {} axes", kMaxRank);
        whole(starts.rank());
      }
    } else if (a.is(ExprKind::Slice)) {
      Operand parts[3];
      for (int k = 0; k < 3; ++k)
        if (a.args[k]) {
          TG_ASSIGN_OR_RETURN(parts[k], evaluate(*a.args[k]));
        }
      if (!parts[2].isNone() && !parts[2].integer())
        return invalid("a slice's step is {}; expected an integer", describe(parts[2]));
      int64_t step = parts[2].integer() ? *parts[2].integer() : 1;
      TG_ASSIGN_OR_RETURN(auto bounds, sliceBounds(parts[0], parts[1], step, from[axis]));
      starts.push_back(bounds.first), sizes.push_back(bounds.second), steps.push_back(step);
      result.push_back(bounds.second);
    } else {
      TG_ASSIGN_OR_RETURN(Operand v, evaluate(a));
      if (!v.integer())
        return invalid(
            "an index is {}; expected an integer, a slice, None or ... (take(x, indices) indexes by a tensor)",
            describe(v));
      int64_t k = *v.integer() < 0 ? *v.integer() + from[axis] : *v.integer();
      if (k < 0 || k >= from[axis])
        return invalid("index {} is outside axis {} of {}", *v.integer(), axis, toString(from));
      starts.push_back(k), sizes.push_back(1), steps.push_back(1);
    }
  }
  while (starts.rank() < from.rank()) {
    if (full()) return invalid("the result would have more than {} axes", kMaxRank);
    whole(starts.rank());
  }
  TG_ASSIGN_OR_RETURN(Value v, emitter_.slice(x, starts, sizes, steps));
  TG_ASSIGN_OR_RETURN(v, emitter_.reshape(v, result));
  return Operand(v);
}

} // namespace tegula::lang
