// Names, loads, members and conditions of tile kernels.
#include "lang/KernelExpressions.h"

#include "lang/Declarations.h"
#include "lang/Format.h"
#include <algorithm>
#include <limits>

namespace tegula::lang {

namespace {

/// Dimensions read or stored with ':'.
struct WholeDimensions {
  const KernelDecl& kernel;
  std::set<Symbol> found;

  void visit(const Expr& e) {
    const KernelParam* p = e.is(ExprKind::Index) && e.arg(0).is(ExprKind::Name) ? kernel.param(e.arg(0).name) : nullptr;
    for (size_t i = 1; p && i < e.args.size() && i <= p->tensor.dims.size(); ++i)
      if (e.arg(i).is(ExprKind::Slice) && p->tensor.dims[i - 1].kind == Dim::Kind::Symbol)
        found.insert(p->tensor.dims[i - 1].name);
    for (const ExprPtr& a : e.args)
      if (a) visit(*a);
  }
  void visit(const Block& b) {
    for (const StmtPtr& s : b) {
      for (const Expr* e : {s->target.get(), s->value.get()})
        if (e) visit(*e);
      for (const Stmt::Branch& branch : s->branches) visit(branch.body);
      visit(s->body);
      visit(s->orElse);
    }
  }
};

/// The elements of every type that a rule allows. Open types are floats: every body is tried on floats at load.
TileValue elementsOfRule(const DTypeRule& r, Elements open) {
  switch (r.kind) {
  case DTypeRule::Kind::Fixed:
    return dtypeOf(elementsOf(r.dtype), r.dtype);
  case DTypeRule::Kind::Float:
    return dtypeOf(Elements::Float);
  case DTypeRule::Kind::Int:
    return dtypeOf(Elements::Integer);
  case DTypeRule::Kind::Any:
  case DTypeRule::Kind::Variable:
    break;
  }
  return dtypeOf(open);
}

} // namespace

KernelExpressions::KernelExpressions(const KernelDecl& k, const OperatorDecl& op, Scope& scope,
                                     Diagnostics& diagnostics)
    : k_(k), op_(op), scope_(scope), diagnostics_(diagnostics) {
  WholeDimensions whole{k, {}};
  whole.visit(k.body());
  whole_ = std::move(whole.found);
}

bool KernelExpressions::isDimension(Symbol s) const {
  for (const KernelParam& p : k_.params)
    for (const Dim& d : p.tensor.dims)
      if (d.kind == Dim::Kind::Symbol && d.name == s) return true;
  return false;
}

std::string KernelExpressions::axisName(const Expr& e) {
  if (e.is(ExprKind::Name)) return std::string(e.name.text());
  if (e.is(ExprKind::Int)) return std::to_string(e.intValue);
  return "?";
}

TileValue KernelExpressions::value(const Expr& e) {
  switch (e.kind) {
  case ExprKind::Name:
    return name(e);
  case ExprKind::Int:
    return numberOf(kind::Int, Operand(e.intValue));
  case ExprKind::Float:
    return numberOf(kind::Float, Operand(e.floatValue));
  case ExprKind::Bool:
    return numberOf(kind::Bool, Operand(e.intValue != 0));
  case ExprKind::String:
    return numberOf(kind::String);
  case ExprKind::None:
    return numberOf(kind::None);
  case ExprKind::Unary:
    return unary(e);
  case ExprKind::Binary:
    if (e.op == Op::Is || e.op == Op::IsNot) return isNone(e);
    if (e.op == Op::And || e.op == Op::Or) return logic(e);
    {
      TileValue a = value(e.arg(0)), b = value(e.arg(1));
      return operate(e.op, a, b, e.span);
    }
  case ExprKind::Conditional:
    report(DiagnosticId::KernelStatement, e.span,
           "a conditional expression cannot stand in a kernel; write 'if' and 'else' on constants, or where(c, a, b), "
           "which chooses by element");
    return {};
  case ExprKind::Call:
    return call(e);
  case ExprKind::Index:
    return load(e);
  case ExprKind::Member:
    return member(e);
  default:
    break;
  }
  report(DiagnosticId::KernelStatement, e.span,
         "this cannot stand in a kernel; expected tiles, numbers and functions of them");
  return {};
}

// ---- names

const TileValue* KernelExpressions::find(Symbol s) const {
  auto it = values_.find(s);
  return it == values_.end() ? nullptr : &it->second;
}

void KernelExpressions::set(Symbol s, TileValue v) {
  facts_.numbers[s] = {v.runtime, v.constant};
  values_[s] = std::move(v);
}

TileValue KernelExpressions::name(const Expr& e) {
  const NameState* s = scope_.use(e);
  if (!s) return {};
  if (const KernelParam* p = k_.param(e.name)) return parameter(*p, *s, e.span);
  if (const TileValue* found = find(e.name)) {
    TileValue v = *found;
    const Facts::Number& n = facts_.numbers[e.name];
    v.runtime = n.runtime;
    v.constant = n.constant;
    return v;
  }
  if (isDimension(e.name))
    return numberOf(kind::Int, {}, whole_.contains(e.name) ? "" : fmt::format("'{}'", e.name.text()));
  if (scope_.has(e.name)) return {}; // after an error
  if (std::optional<DType> d = dtypeNamed(e.name)) return dtypeOf(elementsOf(*d), d);
  if (e.name == Symbol("inf")) return numberOf(kind::Float, Operand(std::numeric_limits<double>::infinity()));
  report(DiagnosticId::UnknownName, e.span, "'{}' is not known in a kernel; write its value, or use inf",
         e.name.text());
  return {};
}

TileValue KernelExpressions::parameter(const KernelParam& p, const NameState& s, Span at) {
  if (p.role != KernelParam::Role::Tunable) return numberOf(s.kinds);
  report(inCondition_ ? DiagnosticId::ConditionType : DiagnosticId::OperandType, at,
         "'{}' is a block size, which the schedule chooses; it can only stand as one, in grid, tiles, zeros and full{}",
         p.name.text(), inCondition_ ? "; a condition is made of attributes and whether an input is there" : "");
  return {};
}

TileValue KernelExpressions::elementsOfParameter(const KernelParam& p) const {
  bool input = p.role == KernelParam::Role::Input;
  Elements open = input ? Elements::Float : Elements::Unknown;
  const DTypeRule& stated = p.tensor.dtype;
  if (stated.kind != DTypeRule::Kind::Any && stated.kind != DTypeRule::Kind::Variable)
    return elementsOfRule(stated, open);
  const TypeRule* rule = nullptr;
  if (int at = op_.inputIndex(p.name); input && at >= 0) rule = &op_.inputs[at].type;
  size_t output = 0;
  for (const KernelParam& q : k_.params) {
    if (!input && q.name == p.name && output < op_.results.size()) rule = &op_.results[output].type;
    output += q.role == KernelParam::Role::Output;
  }
  if (!rule || rule->alternatives.empty()) return dtypeOf(open);
  TileValue all = elementsOfRule(rule->alternatives[0].tensor.dtype, open);
  for (const TypeRule::Alternative& a : rule->alternatives) {
    TileValue v = elementsOfRule(a.tensor.dtype, open);
    if (v.elements != all.elements) all.elements = Elements::Unknown;
    if (v.dtype != all.dtype) all.dtype.reset();
  }
  return all;
}

// ---- loads

TileValue KernelExpressions::load(const Expr& e) {
  const Expr& base = e.arg(0);
  const KernelParam* p = base.is(ExprKind::Name) ? k_.param(base.name) : nullptr;
  if (!p || p->role != KernelParam::Role::Input) {
    bool out = p && p->role == KernelParam::Role::Output;
    if (base.is(ExprKind::Name) && !p) scope_.use(base);
    report(out ? DiagnosticId::StoreTarget : DiagnosticId::TileIndex, base.span, "{}",
           out ? "outputs cannot be read; keep the tile in a name" : "only inputs can be indexed");
    return {};
  }
  scope_.use(base);
  if (p->optional && !facts_.present.contains(p->name))
    report(DiagnosticId::OperandType, base.span, "'{}' may be absent here; read it below 'if {} is not None:'",
           p->name.text(), p->name.text());
  return access(*p, e);
}

namespace {
bool isOne(const Dim& d) { return d.kind == Dim::Kind::Constant && d.value == 1; }

std::string indexText(const Expr& e) { return e.is(ExprKind::Slice) ? ":" : formatExpression(e).substr(0, 60); }

/// How the axis of extent 1 of a vector is indexed.
std::string wholeAxisHint(const KernelParam& p, const Expr& e, int axis) {
  if (!isOne(p.tensor.dims[axis])) return {};
  std::string other = indexText(e.arg(2 - axis));
  return fmt::format("; an axis of 1 is whole: {}[{}]", p.name.text(), axis == 0 ? ":, " + other : other + ", :");
}
} // namespace

TileValue KernelExpressions::access(const KernelParam& p, const Expr& e, std::vector<int>* loops) {
  if (e.args.size() != 3) {
    std::string way;
    if (isOne(p.tensor.dims[0]) && e.args.size() == 2)
      way = fmt::format("; its first axis is 1: {}[:, {}]", p.name.text(), indexText(e.arg(1)));
    report(DiagnosticId::TileIndex, e.span, "{} {}; expected two, one for each axis of '{}'{}", e.args.size() - 1,
           e.args.size() == 2 ? "index" : "indices", p.name.text(), way);
    return {};
  }
  std::string axes[2];
  int used[2] = {-1, -1};
  for (int a = 0; a < 2; ++a) {
    const Expr& i = e.arg(a + 1);
    const Dim& d = p.tensor.dims[a];
    std::string dim = d.kind == Dim::Kind::Constant ? std::to_string(d.value) : std::string(d.name.text());
    if (i.is(ExprKind::Slice) && !i.args[0] && !i.args[1] && !i.args[2]) {
      axes[a] = dim;
      continue;
    }
    TileValue v = value(i);
    if (v.failed()) return {};
    if (!v.is(kind::Range)) {
      report(DiagnosticId::TileIndex, i.span, "{} indexes a tile; expected the index of a tile loop, or ':'{}",
             describe(v), wholeAxisHint(p, e, a));
      return {};
    }
    if (v.column != dim) {
      report(DiagnosticId::TileIndex, i.span, "this index runs over {} but axis {} of '{}' is {}{}", v.column, a,
             p.name.text(), dim, wholeAxisHint(p, e, a));
      return {};
    }
    axes[a] = v.row;
    used[a] = v.loop;
    if (loops) loops->push_back(v.loop);
  }
  if (loops && used[0] >= 0 && used[0] == used[1]) {
    report(DiagnosticId::TileIndex, e.span,
           "one index for both axes stores only the diagonal of '{}'; expected an index for each", p.name.text());
    return {};
  }
  return tileOf(axes[0], axes[1], elementsOfParameter(p));
}

TileValue KernelExpressions::member(const Expr& e) {
  const Expr& base = e.arg(0);
  if (base.is(ExprKind::Name)) {
    const KernelParam* p = k_.param(base.name);
    bool tensor = p && (p->role == KernelParam::Role::Input || p->role == KernelParam::Role::Output);
    if (tensor && e.name == Symbol("dtype")) {
      scope_.use(base);
      return elementsOfParameter(*p);
    }
  }
  TileValue v = value(base);
  if (v.is(kind::Range) && (e.name == Symbol("start") || e.name == Symbol("stop")))
    return numberOf(kind::Int, {},
                    base.is(ExprKind::Name) ? fmt::format("'{}.{}'", base.name.text(), e.name.text())
                                            : "the place of a tile");
  if (!v.failed())
    report(DiagnosticId::UnknownMember, e.span, "no '{}' here; an index has start and stop, an input has dtype",
           e.name.text());
  return {};
}

// ---- conditions

void KernelExpressions::condition(const Expr& e) {
  ++inCondition_;
  TileValue v = value(e);
  --inCondition_;
  if (v.failed()) return;
  if (!v.is(kind::Bool) && !v.is(kind::Int)) {
    report(DiagnosticId::ConditionType, e.span,
           "a condition is {}; expected a constant: attributes and presence of inputs{}", describe(v),
           v.isTile() ? " (where(c, a, b) chooses by element)" : "");
    return;
  }
  if (!v.runtime.empty())
    report(DiagnosticId::ConditionType, e.span,
           "{} is known only when the kernel runs; expected a constant: attributes and presence of inputs "
           "(where(c, a, b) chooses by element)",
           v.runtime);
}

TileValue KernelExpressions::isNone(const Expr& e) {
  const Expr& x = e.arg(0);
  const KernelParam* p = x.is(ExprKind::Name) ? k_.param(x.name) : nullptr;
  if (p && p->role == KernelParam::Role::Input && p->optional && e.arg(1).is(ExprKind::None)) {
    scope_.use(x);
    return numberOf(kind::Bool);
  }
  if (value(x).failed()) return {};
  report(DiagnosticId::OperandType, e.span, "'{}' asks whether an optional input is there; expected {}", spelling(e.op),
         e.op == Op::Is ? "x is None" : "x is not None");
  return {};
}

/// `and`, `or`: of constants.
TileValue KernelExpressions::logic(const Expr& e) {
  TileValue a = value(e.arg(0)), b = value(e.arg(1));
  if (a.failed() || b.failed()) return {};
  for (const TileValue* v : {&a, &b}) {
    if (v->is(kind::Bool) || v->is(kind::Int)) continue;
    report(DiagnosticId::OperandType, e.span, "'{}' of {}; expected constants{}", spelling(e.op), describe(*v),
           v->isTile() ? fmt::format("; '{}' combines each element", e.op == Op::And ? '&' : '|') : "");
    return {};
  }
  return numberOf(kind::Bool, {}, a.runtime.empty() ? b.runtime : a.runtime);
}

void KernelExpressions::assume(const Expr& e, bool truth) {
  if (e.is(ExprKind::Unary) && e.op == Op::Not) return assume(e.arg(0), !truth);
  if (!e.is(ExprKind::Binary)) return;
  if (e.op == (truth ? Op::And : Op::Or)) {
    assume(e.arg(0), truth);
    assume(e.arg(1), truth);
  }
  if (e.op == (truth ? Op::IsNot : Op::Is) && e.arg(0).is(ExprKind::Name)) facts_.present.insert(e.arg(0).name);
}

KernelExpressions::Facts KernelExpressions::merge(const std::vector<Facts>& ends) {
  Facts out = ends[0];
  for (size_t i = 1; i < ends.size(); ++i) {
    for (const auto& [name, number] : ends[i].numbers) {
      auto [it, added] = out.numbers.emplace(name, number);
      if (added) continue;
      if (it->second.runtime.empty()) it->second.runtime = number.runtime;
      bool same = it->second.constant && number.constant && it->second.constant->v == number.constant->v;
      if (!same) it->second.constant.reset();
    }
    std::erase_if(out.present, [&](Symbol s) { return !ends[i].present.contains(s); });
  }
  return out;
}

} // namespace tegula::lang
