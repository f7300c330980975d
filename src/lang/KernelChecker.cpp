// The checker of tile kernels' bodies: statements, and what every path through them does.
// An axis of a tile is "1", a block (the tile of a range with that block size), or a whole dimension; elementwise
// operations need equal axes or 1, a dot needs equal inner axes. So a kernel that is accepted cannot mix tiles of
// different extents, whatever sizes a schedule chooses. The steps of the grid run at once, so each stores tiles of its
// own: every index of the grid stands in every store. KernelExpressions.h knows what expressions are.
#include "lang/Declarations.h"
#include "lang/Format.h"
#include "lang/KernelExpressions.h"
#include "lang/Library.h"
#include <algorithm>

namespace tegula::lang {

namespace {

class KernelChecker {
public:
  KernelChecker(const KernelDecl& k, const OperatorDecl& op, Diagnostics& diagnostics)
      : k_(k), diagnostics_(diagnostics), op_(op), scope_(diagnostics), expressions_(k, op, scope_, diagnostics) {}

  void run() {
    size_t before = diagnostics_.size();
    checkKernelParameters(k_, op_, scope_, diagnostics_);
    if (diagnostics_.size() > before) return; // a body over wrong parameters has no meaning
    body();
    if (diagnostics_.size() == before) everyOutputIsStored();
    if (diagnostics_.size() == before) everyTunableIsABlock();
    scope_.reportUnused();
  }

private:
  /// What holds on one path, at one place.
  struct Flow {
    Scope::Names names;
    KernelExpressions::Facts facts;
    std::set<Symbol> stored; // outputs that are stored whole
  };
  /// A loop around a statement. Those of the grid have the first numbers.
  struct Loop {
    int id;
    Symbol index;
    std::string dimension, block;
    bool cut = false; // with start or stop
  };
  /// A store that does not store its output whole on every path.
  struct Partial {
    Span at;
    std::string why;
  };

  template <typename... A> void report(DiagnosticId id, Span at, fmt::format_string<A...> text, A&&... args) {
    diagnostics_.report(id, at, text, std::forward<A>(args)...);
  }

  // ---- paths
  Flow flow() const { return {scope_.snapshot(), expressions_.facts(), stored_}; }
  void restore(Flow f) {
    scope_.restore(std::move(f.names));
    expressions_.restore(std::move(f.facts));
    stored_ = std::move(f.stored);
  }

  void join(const std::vector<Flow>& ends) {
    std::vector<Scope::Names> names;
    std::vector<KernelExpressions::Facts> facts;
    for (const Flow& f : ends) {
      names.push_back(f.names);
      facts.push_back(f.facts);
    }
    std::set<Symbol> stored;
    for (const Flow& f : ends)
      for (Symbol s : f.stored)
        if (std::all_of(ends.begin(), ends.end(), [&](const Flow& g) { return g.stored.contains(s); }))
          stored.insert(s);
        else
          partial_[s] = {lastStore_[s], "only on some paths; store it in every branch, or after the 'if'"};
    restore({Scope::merge(names), KernelExpressions::merge(facts), std::move(stored)});
  }

  void everyOutputIsStored() {
    for (const KernelParam& p : k_.params) {
      if (p.role != KernelParam::Role::Output || stored_.contains(p.name)) continue;
      if (auto it = partial_.find(p.name); it != partial_.end())
        report(DiagnosticId::OutputNotStored, it->second.at, "the output '{}' is stored {}", p.name.text(),
               it->second.why);
      else
        report(DiagnosticId::OutputNotStored, p.span,
               "the output '{}' is never stored; expected {}[i, j] = … in the body", p.name.text(), p.name.text());
    }
  }

  void everyTunableIsABlock() {
    for (const KernelParam& p : k_.params)
      if (p.role == KernelParam::Role::Tunable && !blocks_.contains(std::string(p.name.text())) && scope_.used(p.name))
        report(DiagnosticId::TileIndex, p.span,
               "'{}' is the block size of no loop, so no schedule can choose it; expected grid(M, {}, …) or "
               "tiles(M, {})",
               p.name.text(), p.name.text(), p.name.text());
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
    for (size_t i = 1; i < call.args.size(); ++i)
      if (!call.keywords[i].empty()) {
        report(DiagnosticId::UnknownArgument, call.arg(i).span,
               "'grid' has no parameter '{}'; expected a dimension and a block size for each index",
               call.keywords[i].text());
        return;
      }
    if (call.args.size() != 2 * targets.size() + 1) {
      report(DiagnosticId::KernelGrid, call.span,
             "grid has {} arguments for {} {}; expected a dimension and a block size for each", call.args.size() - 1,
             targets.size(), targets.size() == 1 ? "index" : "indices");
      return;
    }
    for (size_t i = 0; i < targets.size(); ++i) {
      const Expr &extent = call.arg(2 * i + 1), &size = call.arg(2 * i + 2);
      Loop loop = range(*targets[i], extent, size);
      for (const Loop& other : grid_)
        if (other.dimension == loop.dimension)
          report(DiagnosticId::KernelGrid, extent.span,
                 "the grid runs over {} twice; expected one index for each dimension", loop.dimension);
      grid_.push_back(std::move(loop));
    }
    block(s.body);
  }

  /// Binds `target` as the index of tiles of `extent`, `size` long.
  Loop range(const Expr& target, const Expr& extent, const Expr& size) {
    bool known = extent.is(ExprKind::Name) && expressions_.isDimension(extent.name);
    if (known)
      scope_.use(extent);
    else
      report(DiagnosticId::TileIndex, extent.span, "'{}' is not a dimension of an input; expected one of {}",
             formatExpression(extent).substr(0, 60), fmt::join(dimensions(), ", "));
    bool fits = size.is(ExprKind::Int) && size.intValue > 0;
    if (size.is(ExprKind::Name)) {
      scope_.use(size);
      const KernelParam* p = k_.param(size.name);
      fits = p && p->role == KernelParam::Role::Tunable;
    }
    if (!fits) report(DiagnosticId::TileIndex, size.span, "expected a block size here: a Tunable or a number");
    if (k_.param(target.name) || expressions_.isDimension(target.name))
      report(DiagnosticId::DuplicateParameter, target.span, "the index '{}' is also a {}; expected another name",
             target.name.text(), k_.param(target.name) ? "parameter" : "dimension");
    Loop loop{nextLoop_++, target.name, KernelExpressions::axisName(extent), KernelExpressions::axisName(size)};
    blocks_.insert(loop.block);
    TileValue v;
    v.kinds = kind::Range;
    v.row = loop.block;
    v.column = loop.dimension;
    v.loop = loop.id;
    expressions_.set(target.name, known ? std::move(v) : TileValue());
    scope_.set(target.name, target.span, {kind::Range});
    return loop;
  }

  /// Names of the dimensions that the kernel's inputs have.
  std::vector<std::string_view> dimensions() const {
    std::vector<std::string_view> names;
    for (const KernelParam& p : k_.params)
      for (const Dim& d : p.tensor.dims)
        if (d.kind == Dim::Kind::Symbol && std::ranges::find(names, d.name.text()) == names.end())
          names.push_back(d.name.text());
    return names;
  }

  void block(const Block& b) {
    for (const StmtPtr& s : b) statement(*s);
  }

  void statement(const Stmt& s) {
    switch (s.kind) {
    case StmtKind::Assign:
      if (s.target->is(ExprKind::Name))
        assign(*s.target, expressions_.value(*s.value));
      else if (s.target->is(ExprKind::Index))
        store(s);
      else
        severalNames(s);
      return;
    case StmtKind::AugAssign: {
      if (k_.param(s.target->name)) return assign(*s.target, {});
      TileValue a = expressions_.value(*s.target), b = expressions_.value(*s.value);
      assign(*s.target, expressions_.operate(s.op, a, b, s.span));
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
      expressions_.value(*s.value);
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

  /// a, b = …: refused; the names are known from here on, so that one mistake is said once.
  void severalNames(const Stmt& s) {
    report(DiagnosticId::KernelStatement, s.target->span,
           "several names cannot be set at once in a kernel; write one statement for each");
    const Expr& v = *s.value;
    if (v.is(ExprKind::Tuple))
      for (const ExprPtr& a : v.args) expressions_.value(*a);
    else
      expressions_.value(v);
    for (const ExprPtr& t : s.target->args) {
      if (k_.param(t->name)) continue;
      expressions_.set(t->name, {});
      scope_.set(t->name, t->span, {});
    }
  }

  void assign(const Expr& target, TileValue v) {
    std::string_view name = target.name.text();
    if (const KernelParam* p = k_.param(target.name)) {
      report(DiagnosticId::StoreTarget, target.span, "the parameter '{}' cannot be set{}", name,
             p->role == KernelParam::Role::Output ? fmt::format("; store a tile: {}[i, j] = …", name) : "");
      return;
    }
    if (expressions_.isDimension(target.name)) {
      report(DiagnosticId::StoreTarget, target.span, "the dimension '{}' cannot be set; expected another name", name);
      return;
    }
    if (!v.failed() && v.kinds & (kind::String | kind::None | kind::Tensor | kind::DType)) {
      report(DiagnosticId::OperandType, target.span, "'{}' becomes {}; a name of a kernel holds a tile or a number",
             name, describeKinds(v.kinds));
      v = {};
    }
    if (const TileValue* old = expressions_.find(target.name)) keepsItsType(target, *old, v);
    scope_.set(target.name, target.span, {v.kinds});
    expressions_.set(target.name, std::move(v));
  }

  void keepsItsType(const Expr& target, const TileValue& old, const TileValue& v) {
    if (old.failed() || v.failed()) return;
    std::string_view name = target.name.text();
    if (old.isTile() && v.isTile()) {
      if (old.row != v.row || old.column != v.column)
        report(DiagnosticId::TileShape, target.span, "'{}' was a tile {} and becomes {}; a name keeps its shape", name,
               shapeOf(old), shapeOf(v));
      else if (elementsDiffer(old, v))
        report(DiagnosticId::TileType, target.span, "'{}' was {} and becomes {}; a name keeps its element type", name,
               describe(old), describe(v));
      return;
    }
    bool numbers = old.isNumber() && v.isNumber() && !carried_.contains(target.name);
    if (old.kinds != v.kinds && !numbers)
      report(DiagnosticId::OperandType, target.span, "'{}' was {} and becomes {}; a name keeps its kind", name,
             describeKinds(old.kinds), describeKinds(v.kinds));
  }

  // ---- stores
  void store(const Stmt& s) {
    const Expr& base = s.target->arg(0);
    const KernelParam* p = k_.param(base.name);
    TileValue v = expressions_.value(*s.value);
    if (!p || p->role != KernelParam::Role::Output) {
      report(DiagnosticId::StoreTarget, base.span, "'{}' is not an output; only a parameter of type Out can be stored",
             base.name.text());
      return;
    }
    scope_.markUsed(p->name);
    std::vector<int> indices;
    TileValue place = expressions_.access(*p, *s.target, &indices);
    if (place.failed()) return;
    ownTile(*p, s.target->span, indices);
    reached(*p, s.target->span, indices);
    if (v.failed()) return;
    if (!v.isTile())
      report(DiagnosticId::TileShape, s.value->span, "{} is stored; expected a tile {}", describeKinds(v.kinds),
             shapeOf(place));
    else if (v.row != place.row || v.column != place.column)
      report(DiagnosticId::TileShape, s.value->span, "a tile {} is stored to {}; expected {}", shapeOf(v),
             p->name.text(), shapeOf(place));
    else if (v.elements == Elements::Truth && elementsDiffer(v, place))
      report(DiagnosticId::TileType, s.value->span, "{} is stored to {}, {}; cast it: cast(t, {}.dtype)", describe(v),
             p->name.text(), describe(place), p->name.text());
  }

  /// The steps of the grid run at once: two that store one tile are a race.
  void ownTile(const KernelParam& p, Span at, const std::vector<int>& indices) {
    for (const Loop& g : grid_) {
      if (std::find(indices.begin(), indices.end(), g.id) != indices.end()) continue;
      bool axis = std::any_of(p.tensor.dims.begin(), p.tensor.dims.end(), [&](const Dim& d) {
        return d.kind == Dim::Kind::Symbol && d.name.text() == g.dimension;
      });
      report(DiagnosticId::StoreRace, at, "every step of {} stores the same tile of {}; {}store at {}", g.index.text(),
             p.name.text(), axis ? "" : fmt::format("loop over tiles({}, {}) inside, or ", g.dimension, g.block),
             g.index.text());
      return;
    }
  }

  /// Whether the store happens, to all of the output that belongs to a step of the grid.
  void reached(const KernelParam& p, Span at, const std::vector<int>& indices) {
    lastStore_[p.name] = at;
    for (const Loop& l : loops_) {
      bool indexed = std::find(indices.begin(), indices.end(), l.id) != indices.end();
      if (indexed && !l.cut) continue;
      partial_[p.name] = {
          at, indexed ? fmt::format("only where start and stop of the loop over {} reach; store the "
                                    "rest of it before that loop",
                                    l.dimension)
                      : fmt::format("in a loop over {} that may have no step; store it after the loop", l.dimension)};
      return;
    }
    stored_.insert(p.name);
  }

  // ---- branches and loops
  void ifStatement(const Stmt& s) {
    std::vector<Flow> ends;
    for (const Stmt::Branch& b : s.branches) {
      expressions_.condition(*b.condition);
      Flow before = flow();
      expressions_.assume(*b.condition, true);
      block(b.body);
      ends.push_back(flow());
      restore(std::move(before));
      expressions_.assume(*b.condition, false);
    }
    block(s.orElse);
    ends.push_back(flow());
    join(ends);
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
      TileValue v = expressions_.value(call.arg(i));
      if (!v.failed() && !v.is(kind::Int))
        report(DiagnosticId::ArgumentType, call.arg(i).span, "'{}' of 'tiles' is {}; expected an integer",
               call.keywords[i].text(), describe(v));
    }
    if (positional != 2) {
      report(DiagnosticId::ArgumentCount, call.span, "'tiles' takes a dimension and a block size, found {} arguments",
             positional);
      return;
    }
    tilesBody(s, positional + 1 < call.args.size());
  }

  void tilesBody(const Stmt& s, bool cut) {
    const Expr& call = *s.value;
    std::optional<TileValue> shadowed;
    if (const TileValue* v = expressions_.find(s.target->name)) shadowed = *v;
    if (shadowed && shadowed->is(kind::Range) && isOpen(shadowed->loop))
      report(DiagnosticId::DuplicateParameter, s.target->span,
             "'{}' is also the index of a loop around this one; expected another name", s.target->name.text());
    if (shadowed && !shadowed->failed() && !shadowed->is(kind::Range))
      report(DiagnosticId::OperandType, s.target->span, "'{}' was {} and becomes {}; a name keeps its kind",
             s.target->name.text(), describe(*shadowed), describeKinds(kind::Range));
    std::set<Symbol> outer = carried_;
    carry(s.body);
    Flow before = flow();
    Loop loop = range(*s.target, call.arg(1), call.arg(2));
    loop.cut = cut;
    auto [known, added] = blockOf_.emplace(loop.dimension, loop.block);
    if (!added && known->second != loop.block)
      report(DiagnosticId::TileIndex, call.arg(2).span,
             "{} is cut by {} here and by {} in another loop; expected one block size for a dimension", loop.dimension,
             loop.block, known->second);
    loops_.push_back(loop);
    block(s.body);
    loops_.pop_back();
    Flow after = flow();
    std::set<Symbol> stored = after.stored; // a store that the loop may not reach was not counted
    join({std::move(before), std::move(after)});
    stored_ = std::move(stored);
    carried_ = std::move(outer);
    if (shadowed)
      expressions_.set(s.target->name, *std::move(shadowed));
    else
      expressions_.unset(s.target->name);
  }

  bool isOpen(int loop) const {
    auto is = [&](const Loop& l) { return l.id == loop; };
    return std::any_of(grid_.begin(), grid_.end(), is) || std::any_of(loops_.begin(), loops_.end(), is);
  }

  /// Names that are set before a loop and again in it go from step to step: tiles, and integers, which are constants no
  /// more.
  void carry(const Block& b) {
    for (const StmtPtr& s : b) {
      bool assigns = s->kind == StmtKind::Assign || s->kind == StmtKind::AugAssign;
      if (assigns && s->target->is(ExprKind::Name)) carry(*s->target);
      for (const Stmt::Branch& branch : s->branches) carry(branch.body);
      carry(s->orElse);
      carry(s->body);
    }
  }

  void carry(const Expr& target) {
    const TileValue* v = expressions_.find(target.name);
    if (!v || v->failed() || !scope_.always(target.name)) return;
    bool first = carried_.insert(target.name).second;
    if (v->is(kind::Int)) {
      TileValue carried = *v;
      carried.runtime = fmt::format("'{}', which a loop changes,", target.name.text());
      carried.constant.reset();
      expressions_.set(target.name, std::move(carried));
    } else if (!v->isTile() && first) {
      report(DiagnosticId::OperandType, target.span,
             "'{}' is {} before this loop and set again in it; a loop carries tiles and integers: expected full(1, 1, "
             "{}, f32)",
             target.name.text(), describe(*v), target.name.text());
    }
  }

  const KernelDecl& k_;
  Diagnostics& diagnostics_;
  const OperatorDecl& op_;
  Scope scope_;
  KernelExpressions expressions_;
  std::vector<Loop> grid_, loops_;
  int nextLoop_ = 0;
  std::map<std::string, std::string> blockOf_; // of loops over tiles: the block size of each dimension
  std::set<std::string> blocks_;               // block sizes of loops
  std::set<Symbol> carried_;                   // names that a loop around this place carries
  std::set<Symbol> stored_;
  std::map<Symbol, Span> lastStore_;
  std::map<Symbol, Partial> partial_;
};

} // namespace

void checkKernel(const KernelDecl& k, const OperatorDecl& op, Diagnostics& diagnostics) {
  KernelChecker(k, op, diagnostics).run();
}

} // namespace tegula::lang
