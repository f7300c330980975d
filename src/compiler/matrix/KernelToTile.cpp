// KernelToTile: walks the statements of a tile kernel and builds tile operations.
#include "compiler/codegen/Mlir.h"

#include "compiler/matrix/KernelToTile.h"

#include "compiler/matrix/KernelValues.h"
#include "compiler/tile/LowerScratch.h"

namespace tegula::matrix {

using namespace mlir;
using lang::Expr;
using lang::ExprKind;
using lang::KernelParam;
using lang::Op;
using lang::Stmt;
using lang::StmtKind;

namespace {

class KernelBuilder {
public:
  KernelBuilder(const TileKernelSource& source, OpBuilder& builder) : s_(source), ops_(source, builder), b_(builder) {}

  Status build(Value item) {
    item_ = item;
    for (size_t d = 0; d < s_.runtimeDims.size(); ++d)
      dims_[s_.runtimeDims[d]] = KernelValue::ofNumber(ops_.scalar(static_cast<int64_t>(d)));
    for (const auto& [dim, extent] : s_.pinnedDims) dims_[dim] = KernelValue::ofInt(extent);
    return block(s_.kernel->body());
  }

private:
  template <typename... A> Status fail(lang::Span at, fmt::format_string<A...> text, A&&... args) const {
    return unsupported("{}, line {}: {}", s_.kernel->name.text(), at.line, fmt::format(text, std::forward<A>(args)...));
  }

  // Statements.
  Status block(const lang::Block&);
  Status statement(const Stmt&);
  Status conditional(const Stmt&);
  Status gridLoop(const Stmt&);
  Status tilesLoop(const Stmt&);
  StatusOr<std::pair<Value, Value>> tileRange(const Expr& call, Value extent, Value size);
  Status store(const Stmt&);

  // Expressions.
  StatusOr<KernelValue> eval(const Expr&);
  StatusOr<KernelValue> name(const Expr&);
  StatusOr<KernelValue> member(const Expr&);
  StatusOr<KernelValue> binary(const Expr&);
  StatusOr<KernelValue> call(const Expr&);
  StatusOr<KernelValue> load(const Expr&);
  StatusOr<KernelValue> dot(const Expr& call, const Expr* accumulator);
  StatusOr<KernelValue> filled(const Expr& call, bool zeros);
  StatusOr<KernelValue> reduction(const Expr& call, StringRef kind);
  StatusOr<KernelValue> positions(const Expr& call, int axis);
  StatusOr<KernelValue> elementwise(const Expr& call);
  StatusOr<TileCoord> coordinate(const Expr& index, const lang::Dim&);
  StatusOr<Value> number(const Expr&);
  StatusOr<int64_t> bound(const Expr&);
  StatusOr<DType> dtype(const Expr&);

  static bool isDot(const Expr& e) { return e.callee() == Symbol("dot"); }
  const KernelParam* param(const Expr& e, KernelParam::Role role, int& index) const;
  std::vector<Symbol> assignedIn(const lang::Block&) const;

  const TileKernelSource& s_;
  TileOps ops_;
  OpBuilder& b_;
  Value item_;
  std::map<Symbol, KernelValue> dims_, names_;
  std::map<Symbol, Value> extents_; // of the blocks of tunables: what exists of `zeros(BM, BN, f32)` in a ragged block
};

const KernelParam* KernelBuilder::param(const Expr& e, KernelParam::Role role, int& index) const {
  index = 0;
  for (const KernelParam& p : s_.kernel->params) {
    if (p.role != role) continue;
    if (e.isName(p.name)) return &p;
    ++index;
  }
  return nullptr;
}

// --------------------------------------------------------------------------------------------------------- statements

Status KernelBuilder::block(const lang::Block& statements) {
  for (const auto& stmt : statements) TG_RETURN_IF_ERROR(statement(*stmt));
  return OkStatus();
}

Status KernelBuilder::statement(const Stmt& s) {
  switch (s.kind) {
  case StmtKind::Assign: {
    if (s.target->is(ExprKind::Index)) return store(s);
    if (!s.target->is(ExprKind::Name)) return fail(s.span, "only a name or an output tile can be assigned");
    TG_ASSIGN_OR_RETURN(KernelValue v, eval(*s.value));
    names_[s.target->name] = v;
    return OkStatus();
  }
  case StmtKind::AugAssign: {
    if (!s.target->is(ExprKind::Name)) return fail(s.span, "only a name can be assigned with an operator");
    if (s.op == Op::Add && isDot(*s.value)) {
      TG_ASSIGN_OR_RETURN(KernelValue v, dot(*s.value, s.target.get()));
      names_[s.target->name] = v;
      return OkStatus();
    }
    TG_ASSIGN_OR_RETURN(KernelValue left, eval(*s.target));
    TG_ASSIGN_OR_RETURN(KernelValue right, eval(*s.value));
    auto v = ops_.binary(s.op, left, right);
    if (!v.ok()) return fail(s.span, "{}", message(v.status()));
    names_[s.target->name] = *v;
    return OkStatus();
  }
  case StmtKind::If:
    return conditional(s);
  case StmtKind::For:
    return s.value->callee() == Symbol("grid") ? gridLoop(s) : tilesLoop(s);
  case StmtKind::Pass:
    return OkStatus();
  default:
    return fail(s.span, "this statement is not one of a tile kernel");
  }
}

Status KernelBuilder::conditional(const Stmt& s) {
  for (const Stmt::Branch& branch : s.branches) {
    TG_ASSIGN_OR_RETURN(KernelValue condition, eval(*branch.condition));
    if (condition.kind != KernelValue::Kind::Bool && condition.kind != KernelValue::Kind::Int)
      return fail(s.span,
                  "a condition must be known when the kernel is made: an attribute, or whether an operand is there");
    if (condition.integer != 0) return block(branch.body);
  }
  return block(s.orElse);
}

Status KernelBuilder::gridLoop(const Stmt& s) {
  // Coordinates of the work item, the last grid dimension fastest; what is left over is the batch.
  std::vector<const Expr*> args;
  for (size_t i = 1; i < s.value->args.size(); ++i) args.push_back(s.value->args[i].get());
  std::vector<Symbol> targets;
  if (s.target->is(ExprKind::Name))
    targets.push_back(s.target->name);
  else
    for (const auto& t : s.target->args) targets.push_back(t->name);
  if (args.size() != 2 * targets.size()) return fail(s.span, "grid takes a dimension and a block size for each name");
  Value rest = item_;
  for (size_t a = targets.size(); a-- > 0;) {
    TG_ASSIGN_OR_RETURN(Value extent, number(*args[2 * a]));
    TG_ASSIGN_OR_RETURN(int64_t most, bound(*args[2 * a + 1]));
    Value size = ops_.scalar(s_.blockSlot() + static_cast<int64_t>(a));
    Value count = ops_.ceilDiv(extent, size);
    Value start = ops_.mul(ops_.rem(rest, count), size);
    rest = ops_.div(rest, count);
    Value exists = ops_.min(size, ops_.sub(extent, start));
    names_[targets[a]] = KernelValue::ofCoord({start, exists, most});
    extents_[args[2 * a + 1]->name] = exists;
  }
  Value batch[kBatchAxes];
  for (int d = kBatchAxes; d-- > 0;) {
    Value extent = ops_.scalar(s_.batchSlot() + d);
    batch[d] = d == 0 ? rest : ops_.rem(rest, extent);
    if (d > 0) rest = ops_.div(rest, extent);
  }
  ops_.openWindows(batch);
  return block(s.body);
}

std::vector<Symbol> KernelBuilder::assignedIn(const lang::Block& statements) const {
  std::vector<Symbol> out;
  auto add = [&](Symbol n) {
    if (names_.count(n) && std::find(out.begin(), out.end(), n) == out.end()) out.push_back(n);
  };
  for (const auto& s : statements) {
    bool assigns = s->kind == StmtKind::Assign || s->kind == StmtKind::AugAssign;
    if (assigns && s->target->is(ExprKind::Name)) add(s->target->name);
    for (const auto& branch : s->branches)
      for (Symbol n : assignedIn(branch.body)) add(n);
    for (const lang::Block* inner : {&s->body, &s->orElse})
      for (Symbol n : assignedIn(*inner)) add(n);
  }
  return out;
}

/// From where and up to where a loop's tiles begin: those that hold any position of [start, stop) and [0, extent).
/// Their borders are multiples of the block size whatever start is, so that results do not depend on it.
StatusOr<std::pair<Value, Value>> KernelBuilder::tileRange(const Expr& call, Value extent, Value size) {
  Value first = ops_.index(0), last = extent;
  if (const Expr* start = call.keyword("start")) {
    TG_ASSIGN_OR_RETURN(Value from, number(*start));
    first = ops_.max(from, first);
  }
  if (const Expr* stop = call.keyword("stop")) {
    TG_ASSIGN_OR_RETURN(Value to, number(*stop));
    last = ops_.min(to, extent);
  }
  Value border = ops_.sub(first, ops_.rem(first, size));
  // Nothing lies in [start, stop): no tile, although one may begin before both.
  Value empty = arith::CmpIOp::create(b_, ops_.loc(), arith::CmpIPredicate::sge, first, last);
  Value end = arith::SelectOp::create(b_, ops_.loc(), empty, border, last);
  return std::pair(border, end);
}

Status KernelBuilder::tilesLoop(const Stmt& s) {
  const Expr& call = *s.value;
  if (call.callee() != Symbol("tiles") || !s.target->is(ExprKind::Name))
    return fail(s.span, "a loop runs over grid(…) or tiles(…)");
  TG_ASSIGN_OR_RETURN(Value extent, number(call.arg(1)));
  TG_ASSIGN_OR_RETURN(int64_t most, bound(call.arg(2)));
  TG_ASSIGN_OR_RETURN(auto range, tileRange(call, extent, ops_.index(most)));
  std::vector<Symbol> carried;
  SmallVector<Value> inits;
  for (Symbol n : assignedIn(s.body)) {
    auto value = ops_.carried(names_[n]);
    if (!value.ok()) return fail(s.span, "{}: {}", n.text(), message(value.status()));
    carried.push_back(n);
    inits.push_back(*value);
  }
  std::map<Symbol, KernelValue> outer = names_;
  std::map<Symbol, Value> outerExtents = extents_;
  auto loop = scf::ForOp::create(b_, ops_.loc(), range.first, range.second, ops_.index(most), inits);
  {
    OpBuilder::InsertionGuard guard(b_);
    if (!loop.getBody()->empty()) loop.getBody()->back().erase();
    b_.setInsertionPointToEnd(loop.getBody());
    for (size_t i = 0; i < carried.size(); ++i) names_[carried[i]] = KernelValue::ofValue(loop.getRegionIterArgs()[i]);
    Value start = loop.getInductionVar();
    Value exists = ops_.min(ops_.index(most), ops_.sub(extent, start)); // whole tiles, past `stop` too
    names_[s.target->name] = KernelValue::ofCoord({start, exists, most});
    extents_[call.arg(2).name] = exists;
    TG_RETURN_IF_ERROR(block(s.body));
    SmallVector<Value> next;
    for (size_t i = 0; i < carried.size(); ++i) {
      auto value = ops_.carriedAs(names_[carried[i]], inits[i].getType());
      if (!value.ok()) return fail(s.span, "{}: {}", carried[i].text(), message(value.status()));
      next.push_back(*value);
    }
    scf::YieldOp::create(b_, ops_.loc(), next);
  }
  names_ = std::move(outer);
  extents_ = std::move(outerExtents);
  for (size_t i = 0; i < carried.size(); ++i)
    names_[carried[i]] = KernelValue::ofValue(loop.getResult(static_cast<unsigned>(i)));
  return OkStatus();
}

Status KernelBuilder::store(const Stmt& s) {
  const Expr& target = *s.target;
  int index = 0;
  const KernelParam* p = param(target.arg(0), KernelParam::Role::Output, index);
  if (!p || target.args.size() != 3) return fail(s.span, "only `output[rows, columns]` can be stored to");
  TG_ASSIGN_OR_RETURN(TileCoord row, coordinate(target.arg(1), p->tensor.dims[0]));
  TG_ASSIGN_OR_RETURN(TileCoord col, coordinate(target.arg(2), p->tensor.dims[1]));
  TG_ASSIGN_OR_RETURN(KernelValue v, eval(*s.value));
  auto tile = ops_.tileOf(v, ops_.type(s_.outputs[static_cast<size_t>(index)]));
  if (!tile.ok()) return fail(s.span, "{}", message(tile.status()));
  Value result = ops_.cast(*tile, ops_.type(s_.outputs[static_cast<size_t>(index)]));
  for (const Store& st : s_.stores) {
    if (st.result != index) continue;
    Value value = ops_.program(st.value, row, col, result);
    ops_.store(st.window, ops_.expand(value, row, col), row, col);
  }
  return OkStatus();
}

// -------------------------------------------------------------------------------------------------------- expressions

StatusOr<KernelValue> KernelBuilder::eval(const Expr& e) {
  switch (e.kind) {
  case ExprKind::Name:
    return name(e);
  case ExprKind::Int:
  case ExprKind::Bool:
    return KernelValue::ofInt(e.intValue);
  case ExprKind::Float:
    return KernelValue::ofFloat(e.floatValue);
  case ExprKind::None:
    return KernelValue::none();
  case ExprKind::Member:
    return member(e);
  case ExprKind::Call:
    return call(e);
  case ExprKind::Index:
    return load(e);
  case ExprKind::Binary:
    return binary(e);
  case ExprKind::Unary: {
    TG_ASSIGN_OR_RETURN(KernelValue v, eval(e.arg(0)));
    auto r = ops_.unary(e.op, v);
    return r.ok() ? r : StatusOr<KernelValue>(fail(e.span, "{}", message(r.status())));
  }
  default:
    return fail(e.span, "this expression is not one of a tile kernel");
  }
}

StatusOr<KernelValue> KernelBuilder::name(const Expr& e) {
  if (auto it = names_.find(e.name); it != names_.end()) return it->second;
  if (auto it = dims_.find(e.name); it != dims_.end()) return it->second;
  if (const AttrValue* a = s_.attributes.find(e.name)) {
    if (const bool* v = std::get_if<bool>(a)) return KernelValue::ofInt(*v);
    if (const int64_t* v = std::get_if<int64_t>(a)) return KernelValue::ofInt(*v);
    if (const double* v = std::get_if<double>(a)) return KernelValue::ofFloat(*v);
    return fail(e.span, "attribute `{}` has a type that kernels cannot use", e.name.text());
  }
  if (e.isName("inf")) return KernelValue::ofFloat(std::numeric_limits<double>::infinity());
  int index = 0;
  if (param(e, KernelParam::Role::Input, index))
    return s_.inputs[static_cast<size_t>(index)].kind == Program::Kind::Absent ? KernelValue::none()
                                                                               : KernelValue::operand();
  return fail(e.span, "`{}` is not known here", e.name.text());
}

StatusOr<KernelValue> KernelBuilder::member(const Expr& e) {
  TG_ASSIGN_OR_RETURN(KernelValue v, eval(e.arg(0)));
  if (v.kind != KernelValue::Kind::Coord) return fail(e.span, "`.{}` is not known here", e.name.text());
  if (e.name == Symbol("start")) return KernelValue::ofNumber(v.coord.start);
  if (e.name == Symbol("stop")) return KernelValue::ofNumber(ops_.add(v.coord.start, v.coord.extent));
  return fail(e.span, "a tile index has .start and .stop, not `.{}`", e.name.text());
}

StatusOr<KernelValue> KernelBuilder::binary(const Expr& e) {
  if (e.op == Op::Add && isDot(e.arg(1))) return dot(e.arg(1), &e.arg(0));
  if (e.op == Op::Add && isDot(e.arg(0))) return dot(e.arg(0), &e.arg(1));
  TG_ASSIGN_OR_RETURN(KernelValue a, eval(e.arg(0)));
  TG_ASSIGN_OR_RETURN(KernelValue c, eval(e.arg(1)));
  auto r = ops_.binary(e.op, a, c);
  return r.ok() ? r : StatusOr<KernelValue>(fail(e.span, "{}", message(r.status())));
}

StatusOr<KernelValue> KernelBuilder::call(const Expr& e) {
  std::string_view fn = e.callee().text();
  if (fn == "dot") return dot(e, nullptr);
  if (fn == "zeros" || fn == "full") return filled(e, fn == "zeros");
  if (fn == "max" || fn == "sum" || fn == "min" || fn == "prod") return reduction(e, {fn.data(), fn.size()});
  if (fn == "rows") return positions(e, 0);
  if (fn == "cols") return positions(e, 1);
  if (fn == "cast") {
    TG_ASSIGN_OR_RETURN(KernelValue v, eval(e.arg(1)));
    TG_ASSIGN_OR_RETURN(DType to, dtype(e.arg(2)));
    auto tile = ops_.tileOf(v, ops_.accumulating(to));
    if (!tile.ok()) return fail(e.span, "{}", message(tile.status()));
    return KernelValue::ofValue(ops_.cast(*tile, ops_.accumulating(to)));
  }
  if (fn == "transpose") {
    TG_ASSIGN_OR_RETURN(KernelValue v, eval(e.arg(1)));
    if (!v.isTile()) return fail(e.span, "transpose takes a tile");
    return KernelValue::ofValue(ops_.transpose(v.value));
  }
  return elementwise(e);
}

StatusOr<KernelValue> KernelBuilder::elementwise(const Expr& e) {
  std::vector<KernelValue> args;
  for (size_t i = 1; i < e.args.size(); ++i) {
    if (!e.keywords[i].empty())
      return fail(e.span, "`{}` takes no argument `{}` in a kernel", e.callee().text(), e.keywords[i].text());
    TG_ASSIGN_OR_RETURN(KernelValue v, eval(e.arg(i)));
    args.push_back(v);
  }
  auto r = ops_.apply(e.callee(), args);
  return r.ok() ? r : StatusOr<KernelValue>(fail(e.span, "{}", message(r.status())));
}

StatusOr<TileCoord> KernelBuilder::coordinate(const Expr& index, const lang::Dim& dim) {
  if (index.is(ExprKind::Slice)) {
    int64_t extent = dim.value;
    if (dim.kind == lang::Dim::Kind::Symbol) {
      auto it = dims_.find(dim.name);
      if (it == dims_.end() || it->second.kind != KernelValue::Kind::Int)
        return fail(index.span, "`{}` is read whole, so its extent must be pinned", dim.name.text());
      extent = it->second.integer;
    }
    return TileCoord{ops_.index(0), Value(), extent};
  }
  TG_ASSIGN_OR_RETURN(KernelValue v, eval(index));
  if (v.kind == KernelValue::Kind::Coord) return v.coord;
  if (v.kind == KernelValue::Kind::Int) return TileCoord{ops_.index(v.integer), Value(), 1};
  return fail(index.span, "a tile is indexed by the names of grid and tiles loops, by `:` or by a constant");
}

StatusOr<KernelValue> KernelBuilder::load(const Expr& e) {
  int index = 0;
  const KernelParam* p = param(e.arg(0), KernelParam::Role::Input, index);
  if (!p || e.args.size() != 3) return fail(e.span, "only `input[rows, columns]` can be read");
  const Program& program = s_.inputs[static_cast<size_t>(index)];
  if (program.kind == Program::Kind::Absent)
    return fail(e.span, "`{}` is absent here: ask `is not None` first", p->name.text());
  TG_ASSIGN_OR_RETURN(TileCoord row, coordinate(e.arg(1), p->tensor.dims[0]));
  TG_ASSIGN_OR_RETURN(TileCoord col, coordinate(e.arg(2), p->tensor.dims[1]));
  return KernelValue::ofValue(ops_.expand(ops_.program(program, row, col, Value()), row, col));
}

StatusOr<KernelValue> KernelBuilder::dot(const Expr& e, const Expr* accumulator) {
  if (e.args.size() != 3) return fail(e.span, "dot takes two tiles");
  KernelValue acc;
  if (accumulator) {
    TG_ASSIGN_OR_RETURN(acc, eval(*accumulator));
  }
  TG_ASSIGN_OR_RETURN(KernelValue a, eval(e.arg(1)));
  TG_ASSIGN_OR_RETURN(KernelValue c, eval(e.arg(2)));
  if (!a.isTile() || !c.isTile()) return fail(e.span, "dot takes two tiles");
  auto r = ops_.dot(a.value, c.value, acc);
  return r.ok() ? r : StatusOr<KernelValue>(fail(e.span, "{}", message(r.status())));
}

StatusOr<KernelValue> KernelBuilder::filled(const Expr& e, bool zeros) {
  size_t typeAt = zeros ? 3 : 4;
  if (e.args.size() != typeAt + 1)
    return fail(e.span, "`{}` takes rows, columns{} and a type", zeros ? "zeros" : "full", zeros ? "" : ", a value");
  TG_ASSIGN_OR_RETURN(int64_t rows, bound(e.arg(1)));
  TG_ASSIGN_OR_RETURN(int64_t cols, bound(e.arg(2)));
  TG_ASSIGN_OR_RETURN(DType type, dtype(e.arg(typeAt)));
  KernelValue value = KernelValue::ofFloat(0);
  if (!zeros) {
    TG_ASSIGN_OR_RETURN(value, eval(e.arg(3)));
  }
  if (!value.isConstant()) return fail(e.span, "full takes a constant value");
  auto exists = [&](const Expr& size) {
    auto it = extents_.find(size.name);
    return size.is(ExprKind::Name) && it != extents_.end() ? it->second : Value();
  };
  return KernelValue::ofValue(ops_.splat(value, ops_.accumulating(type), {ops_.index(0), exists(e.arg(1)), rows},
                                         {ops_.index(0), exists(e.arg(2)), cols}));
}

StatusOr<KernelValue> KernelBuilder::reduction(const Expr& e, StringRef kind) {
  TG_ASSIGN_OR_RETURN(KernelValue v, eval(e.arg(1)));
  const Expr *axis = e.keyword("axis"), *keep = e.keyword("keepdim");
  if (!v.isTile() || !axis || !keep || keep->intValue == 0)
    return fail(e.span, "a reduction in a kernel takes a tile, axis=0 or 1, and keepdim=True");
  TG_ASSIGN_OR_RETURN(KernelValue which, eval(*axis));
  int64_t a = which.integer < 0 ? which.integer + 2 : which.integer;
  if (which.kind != KernelValue::Kind::Int || a < 0 || a > 1) return fail(e.span, "the axis of a tile is 0 or 1");
  return KernelValue::ofValue(ops_.reduce(kind, a, v.value));
}

StatusOr<KernelValue> KernelBuilder::positions(const Expr& e, int axis) {
  TG_ASSIGN_OR_RETURN(KernelValue v, eval(e.arg(1)));
  if (v.kind != KernelValue::Kind::Coord)
    return fail(e.span, "`{}` takes the name of a grid or tiles loop", e.callee().text());
  return KernelValue::ofValue(ops_.iota(axis, v.coord));
}

StatusOr<Value> KernelBuilder::number(const Expr& e) {
  TG_ASSIGN_OR_RETURN(KernelValue v, eval(e));
  if (v.kind == KernelValue::Kind::Int) return ops_.index(v.integer);
  if (v.kind == KernelValue::Kind::Number) return v.value;
  return fail(e.span, "expected a whole number");
}

StatusOr<int64_t> KernelBuilder::bound(const Expr& e) {
  if (e.is(ExprKind::Name))
    for (const KernelParam& p : s_.kernel->params)
      if (p.role == KernelParam::Role::Tunable && e.isName(p.name)) return s_.schedule.tile(p.name);
  TG_ASSIGN_OR_RETURN(KernelValue v, eval(e));
  if (v.kind == KernelValue::Kind::Int && v.integer >= 0) return std::max<int64_t>(v.integer, 1);
  return fail(e.span, "the bound of a tile is a tunable, a constant or a dimension that is read whole");
}

StatusOr<DType> KernelBuilder::dtype(const Expr& e) {
  if (e.is(ExprKind::Name))
    if (auto d = parseDType(e.name.text())) return *d;
  if (e.is(ExprKind::Member) && e.name == Symbol("dtype")) {
    int index = 0;
    if (param(e.arg(0), KernelParam::Role::Input, index)) return programType(s_, s_.inputs[static_cast<size_t>(index)]);
    if (param(e.arg(0), KernelParam::Role::Output, index)) return s_.outputs[static_cast<size_t>(index)];
  }
  return fail(e.span, "expected an element type");
}

} // namespace

StatusOr<OwningOpRef<ModuleOp>> buildTileModule(const TileKernelSource& source, MLIRContext& context) {
  context.getOrLoadDialect<tile::TileDialect>();
  OpBuilder b(&context);
  OwningOpRef<ModuleOp> module = ModuleOp::create(b.getUnknownLoc());
  tile::KernelFunction function = tile::beginKernel(b, *module, kKernelName, source.lanes);
  function.function->setAttr(tile::kScratchAttribute, b.getUnitAttr());
  TG_RETURN_IF_ERROR(KernelBuilder(source, b).build(function.item));
  if (failed(verify(*module))) return internal("{}: the tile code is not valid", source.kernel->name.text());
  return module;
}

} // namespace tegula::matrix
