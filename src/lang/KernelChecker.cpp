// The checker of tile kernels' bodies: tiles whose extents are known by name.
// An axis of a tile is "1", a block (the tile of a range with that block size), or a whole dimension; elementwise
// operations need equal axes or 1, a dot needs equal inner axes. So a kernel that is accepted cannot mix tiles of
// different extents, whatever sizes a schedule chooses.
#include "lang/Declarations.h"
#include "lang/Library.h"
#include "lang/Scope.h"
#include <algorithm>
#include <map>

namespace tegula::lang {

namespace {

/// What an expression is in a kernel.
struct TileValue {
  Kinds kinds = kind::Any; // Tile, Range, Int, Float, Bool, DType, None, or Any after an error
  std::string row, column; // Tile: its axes; Range: row is the block, column the dimension
  bool boolean = false;    // Tile of truth values
  bool is(Kinds k) const { return kinds != kind::Any && kinds == k; }
  bool isNumber() const { return kinds != kind::Any && (kinds & kind::Number) && !(kinds & ~kind::Number); }
};

TileValue tile(std::string row, std::string column, bool boolean = false) {
  return {kind::Tile, std::move(row), std::move(column), boolean};
}
TileValue scalar(Kinds k) { return {k, "", "", false}; }

class KernelChecker {
public:
  KernelChecker(const KernelDecl& k, const OperatorDecl& op, Diagnostics& diagnostics)
      : k_(k), op_(op), diagnostics_(diagnostics), scope_(diagnostics) {}

  void run() {
    size_t before = diagnostics_.size();
    checkKernelParameters(k_, op_, scope_, diagnostics_);
    if (diagnostics_.size() > before) return; // a body over wrong parameters has no meaning
    body();
    if (diagnostics_.size() == before)
      for (const KernelParam& p : k_.params)
        if (p.role == KernelParam::Role::Output && !stored_.contains(p.name))
          report(DiagnosticId::OutputNotStored, p.span,
                 "the output '{}' is never stored; expected {}[i, j] = … in the body", p.name.text(), p.name.text());
    scope_.reportUnused();
  }

private:
  template <typename... A> void report(DiagnosticId id, Span at, fmt::format_string<A...> text, A&&... args) {
    diagnostics_.report(id, at, text, std::forward<A>(args)...);
  }

  // ---- the body
  void body() {
    const Block& b = k_.body();
    if (b.size() != 1 || b[0]->kind != StmtKind::For || b[0]->value->callee() != Symbol("grid")) {
      Span at = b.empty() ? k_.span : b[0]->span;
      for (const StmtPtr& s : b)
        if (s->kind != StmtKind::For || s->value->callee() != Symbol("grid")) {
          at = s->span;
          break;
        }
      report(DiagnosticId::KernelGrid, at,
             "expected one loop as the body of a kernel: for i, j in grid(M, BM, N, BN): …");
      return;
    }
    grid(*b[0]);
  }

  void grid(const Stmt& s) {
    const Expr& call = *s.value;
    std::vector<const Expr*> targets;
    if (s.target->is(ExprKind::Tuple))
      for (const ExprPtr& t : s.target->args) targets.push_back(t.get());
    else
      targets.push_back(s.target.get());
    if (call.args.size() != 2 * targets.size() + 1) {
      report(DiagnosticId::KernelGrid, call.span,
             "grid has {} arguments for {} {}; expected a dimension and a block size for each", call.args.size() - 1,
             targets.size(), targets.size() == 1 ? "index" : "indices");
      return;
    }
    for (size_t i = 0; i < targets.size(); ++i) range(*targets[i], call.arg(2 * i + 1), call.arg(2 * i + 2));
    block(s.body);
  }

  /// Binds `target` as the index of tiles of `extent`, `size` long.
  void range(const Expr& target, const Expr& extent, const Expr& size) {
    if (!extent.is(ExprKind::Name) || !isDimension(extent.name)) {
      report(DiagnosticId::TileIndex, extent.span, "expected a dimension of an input here");
    } else {
      scope_.use(extent);
    }
    bool fits = size.is(ExprKind::Int) && size.intValue > 0;
    if (size.is(ExprKind::Name)) {
      scope_.use(size);
      const KernelParam* p = k_.param(size.name);
      fits = p && p->role == KernelParam::Role::Tunable;
    }
    if (!fits) report(DiagnosticId::TileIndex, size.span, "expected a block size here: a Tunable or a number");
    values_[target.name] = {kind::Range, formatAxis(size), formatAxis(extent), false};
    scope_.set(target.name, target.span, {kind::Range});
  }

  bool isDimension(Symbol s) const {
    for (const KernelParam& p : k_.params)
      for (const Dim& d : p.tensor.dims)
        if (d.kind == Dim::Kind::Symbol && d.name == s) return true;
    return false;
  }

  static std::string formatAxis(const Expr& e) {
    if (e.is(ExprKind::Name)) return std::string(e.name.text());
    if (e.is(ExprKind::Int)) return std::to_string(e.intValue);
    return "?";
  }

  void block(const Block& b) {
    for (const StmtPtr& s : b) statement(*s);
  }

  void statement(const Stmt& s) {
    switch (s.kind) {
    case StmtKind::Assign:
      if (s.target->is(ExprKind::Name))
        assign(*s.target, expression(*s.value));
      else if (s.target->is(ExprKind::Index))
        store(s);
      else
        report(DiagnosticId::KernelStatement, s.target->span,
               "several names cannot be set at once in a kernel; write one statement for each");
      return;
    case StmtKind::AugAssign: {
      TileValue a = expression(*s.target), b = expression(*s.value);
      assign(*s.target, elementwise(s.op, a, b, s.span));
      return;
    }
    case StmtKind::If:
      ifStatement(s);
      return;
    case StmtKind::For:
      tiles(s);
      return;
    case StmtKind::Pass:
      return;
    case StmtKind::Expr:
      expression(*s.value);
      report(DiagnosticId::NoEffect, s.span, "this value is not used; expected an assignment or a store");
      return;
    case StmtKind::Return:
    case StmtKind::Assert:
      break;
    }
    report(DiagnosticId::KernelStatement, s.span,
           "'{}' cannot stand in a kernel; it holds assignments, stores, 'if' on constants and loops over tiles",
           s.kind == StmtKind::Return ? "return" : "assert");
  }

  void assign(const Expr& target, TileValue v) {
    if (const KernelParam* p = k_.param(target.name)) {
      report(DiagnosticId::StoreTarget, target.span, "the parameter '{}' cannot be set{}", target.name.text(),
             p->role == KernelParam::Role::Output ? fmt::format("; store a tile: {}[i, j] = …", target.name.text())
                                                  : "");
      return;
    }
    if (v.kinds != kind::Any && v.kinds & (kind::String | kind::None | kind::Tensor)) {
      report(DiagnosticId::OperandType, target.span, "'{}' becomes {}; a name of a kernel holds a tile or a number",
             target.name.text(), describeKinds(v.kinds));
      v = {};
    }
    auto it = values_.find(target.name);
    bool both = it != values_.end() && it->second.is(kind::Tile) && v.is(kind::Tile);
    if (both && (it->second.row != v.row || it->second.column != v.column))
      report(DiagnosticId::TileShape, target.span, "'{}' was a tile {} and becomes {}; a name keeps its shape",
             target.name.text(), shape(it->second), shape(v));
    if (it != values_.end() && it->second.kinds != v.kinds && it->second.kinds != kind::Any && v.kinds != kind::Any &&
        !(it->second.isNumber() && v.isNumber()))
      report(DiagnosticId::OperandType, target.span, "'{}' was {} and becomes {}; a name keeps its kind",
             target.name.text(), describeKinds(it->second.kinds), describeKinds(v.kinds));
    values_[target.name] = v;
    scope_.set(target.name, target.span, {v.kinds});
  }

  static std::string shape(const TileValue& v) { return fmt::format("[{}, {}]", v.row, v.column); }

  void store(const Stmt& s) {
    const Expr& base = s.target->arg(0);
    const KernelParam* p = k_.param(base.name);
    TileValue v = expression(*s.value);
    if (!p || p->role != KernelParam::Role::Output) {
      report(DiagnosticId::StoreTarget, base.span, "'{}' is not an output; only a parameter of type Out can be stored",
             base.name.text());
      return;
    }
    scope_.markUsed(p->name);
    stored_[p->name] = true;
    TileValue place = access(*p, *s.target);
    if (place.kinds == kind::Any || v.kinds == kind::Any) return;
    if (!v.is(kind::Tile))
      report(DiagnosticId::TileShape, s.value->span, "{} is stored; expected a tile {}", describeKinds(v.kinds),
             shape(place));
    else if (v.row != place.row || v.column != place.column)
      report(DiagnosticId::TileShape, s.value->span, "a tile {} is stored to {}; expected {}", shape(v), p->name.text(),
             shape(place));
  }

  /// The tile that p[index, index] names.
  TileValue access(const KernelParam& p, const Expr& e) {
    if (e.args.size() != 3) {
      report(DiagnosticId::TileIndex, e.span, "{} {}; expected two, one for each axis of '{}'", e.args.size() - 1,
             e.args.size() == 2 ? "index" : "indices", p.name.text());
      return {};
    }
    std::string axes[2];
    for (int a = 0; a < 2; ++a) {
      const Expr& i = e.arg(a + 1);
      std::string dim = p.tensor.dims[a].kind == Dim::Kind::Constant ? std::to_string(p.tensor.dims[a].value)
                                                                     : std::string(p.tensor.dims[a].name.text());
      if (i.is(ExprKind::Slice) && !i.args[0] && !i.args[1] && !i.args[2]) {
        axes[a] = dim;
        continue;
      }
      TileValue v = expression(i);
      if (v.kinds == kind::Any) return {};
      if (!v.is(kind::Range)) {
        report(DiagnosticId::TileIndex, i.span, "{} indexes a tile; expected the index of a tile loop, or ':'",
               describeKinds(v.kinds));
        return {};
      }
      if (v.column != dim) {
        report(DiagnosticId::TileIndex, i.span, "this index runs over {} but axis {} of '{}' is {}", v.column, a,
               p.name.text(), dim);
        return {};
      }
      axes[a] = v.row;
    }
    return tile(axes[0], axes[1], p.tensor.dtype.kind == DTypeRule::Kind::Fixed && p.tensor.dtype.dtype == DType::Bool);
  }

  void ifStatement(const Stmt& s) {
    std::vector<Scope::Names> ends;
    for (const Stmt::Branch& b : s.branches) {
      condition(*b.condition);
      Scope::Names before = scope_.snapshot();
      block(b.body);
      ends.push_back(scope_.snapshot());
      scope_.restore(before);
    }
    block(s.orElse);
    ends.push_back(scope_.snapshot());
    scope_.restore(Scope::merge(ends));
  }

  void condition(const Expr& e) {
    TileValue v = expression(e);
    if (!(v.kinds & (kind::Bool | kind::Int)) || v.is(kind::Tile))
      report(DiagnosticId::ConditionType, e.span,
             "a condition is {}; expected a constant: attributes and presence of inputs{}", describeKinds(v.kinds),
             v.is(kind::Tile) ? " (where(c, a, b) chooses by element)" : "");
  }

  void tiles(const Stmt& s) {
    const Expr& call = *s.value;
    if (call.callee() != Symbol("tiles")) {
      report(DiagnosticId::KernelStatement, call.span, "a loop in a kernel runs over tiles(K, BK)");
      return;
    }
    if (!s.target->is(ExprKind::Name)) {
      report(DiagnosticId::KernelStatement, s.target->span, "a loop over tiles sets one name");
      return;
    }
    size_t positional = 0;
    for (size_t i = 1; i < call.args.size(); ++i) {
      if (call.keywords[i].empty()) {
        ++positional;
        continue;
      }
      if (call.keywords[i] != Symbol("start") && call.keywords[i] != Symbol("stop")) {
        report(DiagnosticId::UnknownArgument, call.arg(i).span,
               "'tiles' has no parameter '{}'; it takes a dimension, a block size, start and stop",
               call.keywords[i].text());
        continue;
      }
      TileValue v = expression(call.arg(i));
      if (!(v.kinds & kind::Int) || v.is(kind::Tile))
        report(DiagnosticId::ArgumentType, call.arg(i).span, "'{}' of 'tiles' is {}; expected an integer",
               call.keywords[i].text(), describeKinds(v.kinds));
    }
    if (positional != 2) {
      report(DiagnosticId::ArgumentCount, call.span, "'tiles' takes a dimension and a block size, found {} arguments",
             positional);
      return;
    }
    Scope::Names before = scope_.snapshot();
    range(*s.target, call.arg(1), call.arg(2));
    block(s.body);
    scope_.restore(Scope::merge({before, scope_.snapshot()}));
  }

  // ---- expressions
  TileValue expression(const Expr& e) {
    switch (e.kind) {
    case ExprKind::Name:
      return name(e);
    case ExprKind::Int:
      return scalar(kind::Int);
    case ExprKind::Float:
      return scalar(kind::Float);
    case ExprKind::Bool:
      return scalar(kind::Bool);
    case ExprKind::String:
      return scalar(kind::String);
    case ExprKind::None:
      return scalar(kind::None);
    case ExprKind::Unary: {
      TileValue v = expression(e.arg(0));
      if (e.op == Op::Not) {
        if (v.is(kind::Tile)) report(DiagnosticId::OperandType, e.span, "'not' of a tile; '~' negates each element");
        return scalar(kind::Bool);
      }
      if (v.kinds != kind::Any && !v.is(kind::Tile) && !v.isNumber()) {
        report(DiagnosticId::OperandType, e.span, "'{}' of {}", spelling(e.op), describeKinds(v.kinds));
        return {};
      }
      return v;
    }
    case ExprKind::Binary:
      return binary(e);
    case ExprKind::Conditional: {
      condition(e.arg(1));
      TileValue a = expression(e.arg(0)), b = expression(e.arg(2));
      if (a.is(kind::Tile) && b.is(kind::Tile) && (a.row != b.row || a.column != b.column))
        report(DiagnosticId::TileShape, e.span, "the two sides are tiles {} and {}; expected one shape", shape(a),
               shape(b));
      return a;
    }
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

  TileValue name(const Expr& e) {
    const NameState* s = scope_.use(e);
    if (!s) return {};
    auto it = values_.find(e.name);
    if (it != values_.end()) return it->second;
    return scalar(s->kinds);
  }

  TileValue load(const Expr& e) {
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
    return access(*p, e);
  }

  TileValue member(const Expr& e) {
    const Expr& base = e.arg(0);
    if (base.is(ExprKind::Name)) {
      const KernelParam* p = k_.param(base.name);
      bool tensor = p && (p->role == KernelParam::Role::Input || p->role == KernelParam::Role::Output);
      if (tensor && e.name == Symbol("dtype")) {
        scope_.use(base);
        return scalar(kind::DType);
      }
    }
    TileValue v = expression(base);
    if (v.is(kind::Range) && (e.name == Symbol("start") || e.name == Symbol("stop"))) return scalar(kind::Int);
    report(DiagnosticId::UnknownMember, e.span, "no '{}' here; an index has start and stop, an input has dtype",
           e.name.text());
    return {};
  }

  TileValue binary(const Expr& e) {
    TileValue a = expression(e.arg(0)), b = expression(e.arg(1));
    if (e.op == Op::Is || e.op == Op::IsNot || e.op == Op::And || e.op == Op::Or) return scalar(kind::Bool);
    return elementwise(e.op, a, b, e.span);
  }

  static bool isComparison(Op op) { return op >= Op::Less && op <= Op::NotEqual; }

  TileValue elementwise(Op op, const TileValue& a, const TileValue& b, Span at) {
    if (a.kinds == kind::Any || b.kinds == kind::Any) return {};
    if (op == Op::MatMul) {
      report(DiagnosticId::OperandType, at, "'@' in a kernel; dot(a, b) multiplies tiles");
      return {};
    }
    bool compared = isComparison(op);
    if (a.is(kind::Tile) || b.is(kind::Tile)) {
      bool fits = (a.is(kind::Tile) || a.isNumber()) && (b.is(kind::Tile) || b.isNumber());
      if (!fits) {
        report(DiagnosticId::OperandType, at, "{} {} {} has no meaning", describeKinds(a.kinds), spelling(op),
               describeKinds(b.kinds));
        return {};
      }
      TileValue v = broadcast(a, b, at);
      v.boolean = compared || (a.boolean && b.boolean);
      return v;
    }
    if (compared) return scalar(kind::Bool);
    if (!a.isNumber() || !b.isNumber()) {
      report(DiagnosticId::OperandType, at, "{} {} {} has no meaning", describeKinds(a.kinds), spelling(op),
             describeKinds(b.kinds));
      return {};
    }
    return scalar(op == Op::Div || ((a.kinds | b.kinds) & kind::Float) ? kind::Float : kind::Int);
  }

  TileValue broadcast(const TileValue& a, const TileValue& b, Span at) {
    if (!a.is(kind::Tile)) return tile(b.row, b.column);
    if (!b.is(kind::Tile)) return tile(a.row, a.column);
    auto axis = [](const std::string& x, const std::string& y) {
      return x == y || y == "1" ? x : x == "1" ? y : std::string();
    };
    TileValue v = tile(axis(a.row, b.row), axis(a.column, b.column));
    if (!v.row.empty() && !v.column.empty()) return v;
    report(DiagnosticId::TileShape, at, "tiles {} and {} do not fit; each axis must be equal or 1", shape(a), shape(b));
    return {};
  }

  // ---- functions
  TileValue call(const Expr& e) {
    static const std::string_view kUnary[] = {"exp", "log", "sqrt", "rsqrt", "tanh",
                                              "erf", "abs", "sin",  "cos",   "floor"};
    Symbol f = e.callee();
    std::string_view n = f.text();
    auto has = [&](size_t count) {
      if (e.args.size() == count + 1) return true;
      report(DiagnosticId::ArgumentCount, e.span, "'{}' takes {} {} in a kernel, found {}", n, count,
             count == 1 ? "argument" : "arguments", e.args.size() - 1);
      return false;
    };
    if (n == "zeros" || n == "full") return make(e, n == "full");
    if (n == "dot") return has(2) ? dot(e) : TileValue();
    if (n == "where") return has(3) ? where(e) : TileValue();
    if (n == "sum" || ((n == "max" || n == "min") && e.keyword("axis"))) return reduce(e);
    if (n == "max" || n == "min" || n == "maximum" || n == "minimum") {
      if (!has(2)) return {};
      return elementwise(Op::Add, expression(e.arg(1)), expression(e.arg(2)), e.span);
    }
    if (n == "cast") {
      if (!has(2)) return {};
      TileValue v = expression(e.arg(1)), d = expression(e.arg(2));
      if (d.kinds != kind::Any && !d.is(kind::DType))
        report(DiagnosticId::ArgumentType, e.arg(2).span, "'dtype' of 'cast' is {}; expected an element type",
               describeKinds(d.kinds));
      v.boolean = false;
      return requireTile(v, e.arg(1));
    }
    if (n == "transpose") {
      if (!has(1)) return {};
      TileValue v = requireTile(expression(e.arg(1)), e.arg(1));
      std::swap(v.row, v.column);
      return v;
    }
    if (n == "rows" || n == "cols") {
      if (!has(1)) return {};
      TileValue v = expression(e.arg(1));
      if (v.kinds != kind::Any && !v.is(kind::Range)) {
        report(DiagnosticId::ArgumentType, e.arg(1).span, "'{}' takes the index of a tile loop, found {}", n,
               describeKinds(v.kinds));
        return {};
      }
      return n == "rows" ? tile(v.row, "1") : tile("1", v.row);
    }
    if (std::find(std::begin(kUnary), std::end(kUnary), n) != std::end(kUnary)) {
      if (!has(1)) return {};
      TileValue v = expression(e.arg(1));
      return v.isNumber() ? scalar(kind::Float) : requireTile(v, e.arg(1));
    }
    std::vector<std::string_view> names(std::begin(kUnary), std::end(kUnary));
    for (std::string_view s : {"zeros", "full", "dot", "where", "sum", "max", "min", "maximum", "minimum", "cast",
                               "transpose", "rows", "cols"})
      names.push_back(s);
    std::string near = didYouMean(n, names);
    report(DiagnosticId::KernelFunction, e.arg(0).span, "'{}' is not a function of tiles{}", n,
           near.empty() ? "; spec/tile-language.md lists them" : near);
    for (size_t i = 1; i < e.args.size(); ++i) expression(e.arg(i));
    return {};
  }

  TileValue requireTile(TileValue v, const Expr& at) {
    if (v.kinds == kind::Any || v.is(kind::Tile)) return v;
    report(DiagnosticId::ArgumentType, at.span, "{} is given; expected a tile", describeKinds(v.kinds));
    return {};
  }

  /// zeros(rows, columns, dtype), full(rows, columns, value, dtype).
  TileValue make(const Expr& e, bool value) {
    if (e.args.size() != (value ? 5u : 4u)) {
      report(DiagnosticId::ArgumentCount, e.span, "expected {}, found {} arguments",
             value ? "full(rows, columns, value, dtype)" : "zeros(rows, columns, dtype)", e.args.size() - 1);
      return {};
    }
    std::string axes[2];
    for (int a = 0; a < 2; ++a) {
      const Expr& x = e.arg(a + 1);
      bool fits = x.is(ExprKind::Int) && x.intValue == 1;
      if (x.is(ExprKind::Name)) {
        scope_.use(x);
        const KernelParam* p = k_.param(x.name);
        fits = isDimension(x.name) || (p && p->role == KernelParam::Role::Tunable);
      }
      if (!fits)
        report(DiagnosticId::TileShape, x.span, "expected an extent of a tile: a block size, a dimension or 1");
      axes[a] = formatAxis(x);
    }
    if (value && !expression(e.arg(3)).isNumber())
      report(DiagnosticId::ArgumentType, e.arg(3).span, "the value of 'full' must be a number");
    const Expr& d = e.args.back() ? *e.args.back() : e;
    if (!expression(d).is(kind::DType))
      report(DiagnosticId::ArgumentType, d.span, "the element type is missing; expected f32 or x.dtype");
    return tile(axes[0], axes[1]);
  }

  TileValue dot(const Expr& e) {
    TileValue a = requireTile(expression(e.arg(1)), e.arg(1)), b = requireTile(expression(e.arg(2)), e.arg(2));
    if (a.kinds == kind::Any || b.kinds == kind::Any) return {};
    if (a.column != b.row) {
      report(DiagnosticId::TileShape, e.span, "dot of {} and {}: the inner axes differ, {} and {}", shape(a), shape(b),
             a.column, b.row);
      return {};
    }
    return tile(a.row, b.column);
  }

  TileValue where(const Expr& e) {
    TileValue c = requireTile(expression(e.arg(1)), e.arg(1)), a = expression(e.arg(2)), b = expression(e.arg(3));
    if (c.is(kind::Tile) && !c.boolean)
      report(DiagnosticId::ArgumentType, e.arg(1).span,
             "the condition of 'where' is not a comparison; expected a tile of truth values");
    if (c.kinds == kind::Any || a.kinds == kind::Any || b.kinds == kind::Any) return {};
    TileValue v = elementwise(Op::Add, a, b, e.span);
    if (v.kinds == kind::Any) return {};
    return broadcast(c, v, e.span);
  }

  /// sum(t, axis=1, keepdim=True): tiles keep two axes.
  TileValue reduce(const Expr& e) {
    const Expr *axis = e.keyword("axis"), *keep = e.keyword("keepdim");
    if (e.args.size() < 2 || !e.keywords[1].empty()) {
      report(DiagnosticId::ArgumentCount, e.span, "expected a tile as the first argument");
      return {};
    }
    TileValue v = requireTile(expression(e.arg(1)), e.arg(1));
    bool fits = e.args.size() == 4 && axis && axis->is(ExprKind::Int) && axis->intValue >= 0 && axis->intValue <= 1 &&
                keep && keep->is(ExprKind::Bool) && keep->intValue;
    if (!fits) {
      report(DiagnosticId::ArgumentType, e.span, "expected {}(t, axis=0 or 1, keepdim=True): tiles keep two axes",
             e.callee().text());
      return {};
    }
    if (v.is(kind::Tile)) (axis->intValue == 0 ? v.row : v.column) = "1";
    return v;
  }

  const KernelDecl& k_;
  const OperatorDecl& op_;
  Diagnostics& diagnostics_;
  Scope scope_;
  std::map<Symbol, TileValue> values_;
  std::map<Symbol, bool> stored_;
};

} // namespace

void checkKernel(const KernelDecl& k, const OperatorDecl& op, Diagnostics& diagnostics) {
  KernelChecker(k, op, diagnostics).run();
}

} // namespace tegula::lang
