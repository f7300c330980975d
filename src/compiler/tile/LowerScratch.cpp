// Walks a kernel and replaces tile operations by loops over memory.
#include "compiler/codegen/Mlir.h"

#include "compiler/tile/LowerScratch.h"

#include "compiler/tile/MapFunctions.h"
#include "compiler/tile/ScratchLowering.h"

#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"

namespace tegula::tile {

using namespace mlir;

namespace {

constexpr int64_t kRowMajorPanels = 4; // an accumulator of so few panels stays row-major: it may be an operand

/// What a loop does not change is loaded, computed and packed before it. Loads may move: a kernel writes no operand that
/// it reads.
void hoistInvariants(scf::ForOp loop) {
  moveLoopInvariantCode(
      &loop.getRegion(), [&](Value v, Region*) { return loop.isDefinedOutsideOfLoop(v); },
      [](Operation* op, Region*) { return isa<LoadOp>(op) || (isMemoryEffectFree(op) && isSpeculatable(op)); },
      [&](Operation* op, Region*) { loop.moveOutOfLoop(op); });
}

} // namespace

LogicalResult ScratchLowering::run() {
  colUnit_ = v_.lanes;
  function_.walk([&](DotOp op) {
    ++dots_;
    dotRows_ = std::max(dotRows_, static_cast<int64_t>(op.getRows()));
    colUnit_ = std::max(colUnit_, static_cast<int64_t>(op.getWidth()));
  });
  function_.walk([](scf::ForOp loop) { hoistInvariants(loop); }); // inner loops come first
  function_.walk([&](scf::ForOp loop) { planFinish(loop); });
  if (failed(lowerBlock(function_.getBody().front())) || failed_) return failure();
  for (Operation* op : llvm::reverse(dead_)) op->erase();
  function_->removeAttr(kLanesAttribute);
  function_->removeAttr(kScratchAttribute);
  return success();
}

LogicalResult ScratchLowering::lowerBlock(Block& block) {
  for (Operation& op : llvm::make_early_inc_range(block))
    if (failed(lowerOperation(&op))) return failure();
  return success();
}

LogicalResult ScratchLowering::lowerOperation(Operation* op) {
  builder_.setInsertionPoint(op);
  if (auto loop = dyn_cast<scf::ForOp>(op)) return lowerFor(loop);
  if (auto branch = dyn_cast<scf::IfOp>(op)) return lowerIf(branch);
  if (!isa<TileDialect>(op->getDialect())) return success();
  if (finishing_.contains(op)) { // done in the loop before it
    dead_.push_back(op);
    return success();
  }
  if (failed(lowerTileOperation(op))) return failure();
  dead_.push_back(op);
  return success();
}

LogicalResult ScratchLowering::lowerTileOperation(Operation* op) {
  if (auto map = dyn_cast<MapOp>(op)) {
    if (!isMapFunction(map.getFn())) return map.emitOpError("names no elementwise function: ") << map.getFn();
    lowerMap(map);
  } else if (auto load = dyn_cast<LoadOp>(op)) {
    if (load.getGuard()) return op->emitOpError("with a guard has no lowering in scratch");
    lowerLoad(load);
  } else if (auto store = dyn_cast<StoreOp>(op))
    lowerStore(store);
  else if (auto splat = dyn_cast<SplatOp>(op))
    lowerSplat(splat);
  else if (auto iota = dyn_cast<IotaOp>(op))
    lowerIota(iota);
  else if (auto reduce = dyn_cast<ReduceOp>(op))
    lowerReduce(reduce);
  else if (auto dot = dyn_cast<DotOp>(op))
    lowerDot(dot);
  else if (auto transpose = dyn_cast<TransposeOp>(op))
    lowerTranspose(transpose);
  else if (auto scalar = dyn_cast<ScalarOp>(op))
    lowerScalar(scalar);
  else if (!isa<ViewOp>(op))
    return op->emitOpError("has no lowering in scratch");
  return success();
}

// ------------------------------------------------------------------------------------------------------------ buffers

Value ScratchLowering::allocate(int64_t bytes) {
  int64_t offset = scratchBytes_;
  scratchBytes_ += roundUp(bytes, kCacheLine);
  return e_.element(function_.getArgument(4), builder_.getI8Type(), offset);
}

int64_t ScratchLowering::wholeRows(int64_t rows) const {
  return std::max(roundUp(rows, v_.lanes), roundUp(rows, dotRows_));
}

LazyTileRef ScratchLowering::buffer(int64_t rows, int64_t cols, Value rowExtent, Value colExtent, Type element,
                                    bool forDot) {
  auto t = std::make_shared<LazyTile>();
  t->rows = rows, t->cols = cols, t->rowExtent = rowExtent, t->colExtent = colExtent;
  t->element = element;
  int64_t bytes = memoryBytes(element);
  bool column = cols == 1 && !forDot;
  int64_t along = column ? rows : cols, across = column ? 1 : rows;
  int64_t pitch = roundUp(along, column ? v_.lanes : colUnit_);
  // A line more, so that the rows of a block do not fall into the same cache sets.
  if (across > 1) pitch += kCacheLine / bytes;
  t->base = allocate(pitch * (across > 1 || (dots_ > 0 && !column) ? wholeRows(across) : 1) * bytes);
  t->scratchPitch = pitch;
  t->unitAxis = column ? 0 : 1;
  t->rowStride = e_.index(column ? 1 : pitch);
  t->colStride = e_.index(column ? pitch : 1);
  return t;
}

void ScratchLowering::copy(const LazyTile& from, const LazyTile& to) {
  int axis = to.unitAxis >= 0 ? to.unitAxis : 1;
  forEachVector(e_, v_, from.rowExtent, from.colExtent, axis, [&](Value r, Value c, Value mask) {
    storeLanes(e_, v_, evaluate(e_, v_, from, r, c, axis, mask), to, r, c, axis, to.inScratch() ? Value() : mask);
  });
}

LazyTileRef ScratchLowering::materialise(const LazyTileRef& t) {
  LazyTileRef kept = buffer(t->rows, t->cols, t->rowExtent, t->colExtent, t->element);
  copy(*t, *kept);
  return kept;
}

bool ScratchLowering::shouldKeep(Value value, const LazyTile& t) const {
  if (t.kind != Kind::Map || t.element.isInteger(1)) return false;
  if (t.rows == 1 || t.cols == 1) return true; // small, and repeated along the other axis
  return !value.hasOneUse();
}

void ScratchLowering::define(Value value, LazyTileRef t) {
  if (shouldKeep(value, *t)) t = materialise(t);
  tiles_[value] = std::move(t);
}

// ------------------------------------------------------------------------------------------------------------ values

void ScratchLowering::lowerScalar(ScalarOp op) {
  Value address = e_.element(function_.getArgument(1), builder_.getI64Type(), static_cast<int64_t>(op.getSlot()));
  Value loaded = LLVM::LoadOp::create(builder_, op.getLoc(), builder_.getI64Type(), address, /*alignment=*/8,
                                      /*isVolatile=*/false, /*isNonTemporal=*/false, /*isInvariant=*/true);
  op.getResult().replaceAllUsesWith(arith::IndexCastOp::create(builder_, op.getLoc(), builder_.getIndexType(), loaded));
}

/// A window as memory, displaced to [row, col].
static std::shared_ptr<LazyTile> windowAt(KernelEmitter& e, func::FuncOp function, Value view, Value row, Value col) {
  auto op = view.getDefiningOp<ViewOp>();
  auto type = cast<ViewType>(view.getType());
  auto t = std::make_shared<LazyTile>();
  t->element = type.getElementType();
  Type pointer = function.getArgument(0).getType();
  Value binding =
      LLVM::LoadOp::create(e.builder(), op.getLoc(), pointer,
                           e.element(function.getArgument(0), pointer, static_cast<int64_t>(op.getBinding())),
                           /*alignment=*/8, false, false, /*isInvariant=*/true);
  t->rowStride = type.getUnit() == Unit::Row ? e.index(1) : op.getRowStride();
  t->colStride = type.getUnit() == Unit::Col ? e.index(1) : op.getColStride();
  t->unitAxis = type.getUnit() == Unit::Row ? 0 : type.getUnit() == Unit::Col ? 1 : -1;
  Value offset = e.add(op.getOffset(), e.add(e.mul(row, t->rowStride), e.mul(col, t->colStride)));
  t->base = e.element(binding, memoryType(t->element), offset);
  return t;
}

static Value extentOr(KernelEmitter& e, Value extent, int64_t bound) { return extent ? extent : e.index(bound); }

void ScratchLowering::lowerLoad(LoadOp op) {
  auto type = cast<TileType>(op.getResult().getType());
  auto t = windowAt(e_, function_, op.getView(), op.getRow(), op.getCol());
  t->rows = type.getRows(), t->cols = type.getCols();
  t->rowExtent = extentOr(e_, op.getRowExtent(), t->rows);
  t->colExtent = extentOr(e_, op.getColExtent(), t->cols);
  define(op.getResult(), t);
}

void ScratchLowering::lowerStore(StoreOp op) {
  Value row = firstRow_ ? e_.add(op.getRow(), firstRow_) : op.getRow();
  Value col = firstColumn_ ? e_.add(op.getCol(), firstColumn_) : op.getCol();
  auto window = windowAt(e_, function_, op.getView(), row, col);
  const LazyTileRef& from = tile(op.getTile());
  window->rows = from->rows, window->cols = from->cols;
  copy(*from, *window);
}

void ScratchLowering::lowerSplat(SplatOp op) {
  auto type = cast<TileType>(op.getResult().getType());
  auto t = std::make_shared<LazyTile>();
  t->kind = Kind::Splat;
  t->element = type.getElementType();
  t->rows = type.getRows(), t->cols = type.getCols();
  t->rowExtent = extentOr(e_, op.getRowExtent(), t->rows);
  t->colExtent = extentOr(e_, op.getColExtent(), t->cols);
  Value x = op.getScalar();
  Type scalar = registerType(t->element);
  if (x.getType().isIndex())
    x = arith::IndexCastOp::create(builder_, op.getLoc(), scalar, x);
  else if (x.getType().isBF16() || x.getType().isF16())
    x = arith::ExtFOp::create(builder_, op.getLoc(), scalar, x);
  t->scalar = x;
  define(op.getResult(), t);
}

void ScratchLowering::lowerIota(IotaOp op) {
  auto type = cast<TileType>(op.getResult().getType());
  auto t = std::make_shared<LazyTile>();
  t->kind = Kind::Iota;
  t->element = type.getElementType();
  t->rows = type.getRows(), t->cols = type.getCols();
  t->rowExtent = extentOr(e_, op.getRowExtent(), t->rows);
  t->colExtent = extentOr(e_, op.getColExtent(), t->cols);
  t->scalar = op.getStart();
  t->axis = static_cast<int>(op.getAxis());
  define(op.getResult(), t);
}

void ScratchLowering::lowerMap(MapOp op) {
  auto type = cast<TileType>(op.getResult().getType());
  auto t = std::make_shared<LazyTile>();
  t->kind = Kind::Map;
  t->function = op.getFn().str();
  t->element = type.getElementType();
  t->rows = std::min(type.getRows(), mostRows_), t->cols = std::min(type.getCols(), mostColumns_);
  for (Value input : op.getInputs()) {
    const LazyTileRef& in = tile(input);
    if (!t->rowExtent || (in->rows > 1 && t->rows > 1)) t->rowExtent = in->rowExtent;
    if (!t->colExtent || (in->cols > 1 && t->cols > 1)) t->colExtent = in->colExtent;
    t->inputs.push_back(in);
  }
  define(op.getResult(), t);
}

void ScratchLowering::lowerTranspose(TransposeOp op) {
  LazyTileRef t = tile(op.getTile());
  // Squares are transposed in registers with their code unrolled: loads are, expressions are evaluated before.
  if (t->kind == Kind::Map && !t->element.isInteger(1)) t = materialise(t);
  tiles_[op.getResult()] = transposed(t);
}

void ScratchLowering::lowerReduce(ReduceOp op) {
  LazyTileRef in = tile(op.getTile());
  Type element = in->element;
  StringRef kind = op.getKind();
  Value neutral = v_.neutral(kind, element);
  bool alongRow = op.getAxis() == 1;
  // Of a tile that is one column (row) already, folding it is the tile itself.
  LazyTileRef out = alongRow ? buffer(in->rows, 1, in->rowExtent, e_.index(1), element)
                             : buffer(1, in->cols, e_.index(1), in->colExtent, element);
  auto step = [&](Value acc, Value r, Value c, Value mask) {
    Value x = evaluate(e_, v_, *in, r, c, 1, mask);
    if (mask) x = arith::SelectOp::create(builder_, op.getLoc(), mask, x, neutral);
    return v_.combine(kind, acc, x, element);
  };
  Value whole = e_.mul(e_.div(in->colExtent, e_.index(v_.lanes)), v_.lanes);
  Value rest = e_.sub(in->colExtent, whole), mask = e_.firstLanes(rest, v_.lanes), hasRest = e_.less(e_.index(0), rest);
  Type memory = memoryType(element);
  if (alongRow) {
    e_.loop(e_.index(0), in->rowExtent, 1, [&](Value r) {
      Value acc = e_.loop(e_.index(0), whole, e_.index(v_.lanes), neutral, [&](Value c, ValueRange carried) {
        return KernelEmitter::Values{step(carried[0], r, c, Value())};
      })[0];
      acc = e_.choose(
          hasRest, [&] { return KernelEmitter::Values{step(acc, r, whole, mask)}; },
          [&] { return KernelEmitter::Values{acc}; })[0];
      Value folded = e_.foldLanes(acc, [&](Value a, Value b) { return v_.combine(kind, a, b, element); });
      e_.store(v_.encode(v_.round(folded, element), element), e_.element(out->base, memory, r));
    });
  } else {
    auto column = [&](Value c, Value lanes) {
      Value acc = e_.loop(e_.index(0), in->rowExtent, e_.index(1), neutral, [&](Value r, ValueRange carried) {
        return KernelEmitter::Values{step(carried[0], r, c, lanes)};
      })[0];
      e_.store(v_.encode(v_.round(acc, element), element), e_.element(out->base, memory, c));
    };
    e_.loop(e_.index(0), whole, v_.lanes, [&](Value c) { column(c, Value()); });
    e_.branch(hasRest, [&] { column(whole, mask); });
  }
  tiles_[op.getResult()] = out;
}

// ------------------------------------------------------------------------------------------------------------ control

LogicalResult ScratchLowering::lowerIf(scf::IfOp branch) {
  if (llvm::any_of(branch.getResultTypes(), [](Type t) { return isa<TileType>(t); }))
    return branch.emitOpError("with tile results has no lowering in scratch");
  for (Region* region : {&branch.getThenRegion(), &branch.getElseRegion()}) {
    auto rows = packedRows_; // what is packed on one path is not packed on the other
    auto panels = packedPanels_;
    if (!region->empty() && failed(lowerBlock(region->front()))) return failure();
    packedRows_ = rows;
    packedPanels_ = panels;
  }
  return success();
}

LogicalResult ScratchLowering::lowerFor(scf::ForOp loop) {
  packInvariants(loop);
  SmallVector<unsigned> tileArgs;
  SmallVector<Value> inits;
  for (auto [i, init] : llvm::enumerate(loop.getInitArgs())) {
    if (!isa<TileType>(init.getType())) {
      inits.push_back(init);
      continue;
    }
    tileArgs.push_back(static_cast<unsigned>(i));
    const LazyTileRef& from = tile(init);
    DotOp fresh = startsFresh(loop, static_cast<unsigned>(i));
    if (fresh && finish_.count(loop)) {
      tiles_[loop.getRegionIterArgs()[i]] = tiles_[loop.getResults()[i]] = finishingAccumulator(loop, fresh, *from);
      continue;
    }
    bool manyPanels = fresh && from->cols > kRowMajorPanels * static_cast<int64_t>(fresh.getWidth());
    LazyTileRef carried = manyPanels ? panelBuffer(fresh, *from)
                                     : buffer(from->rows, from->cols, from->rowExtent, from->colExtent, from->element);
    if (fresh) {
      Value idle = arith::CmpIOp::create(builder_, loop.getLoc(), arith::CmpIPredicate::sge, loop.getLowerBound(),
                                         loop.getUpperBound());
      e_.branch(idle, [&] { copy(*from, *carried); });
    } else
      copy(*from, *carried);
    tiles_[loop.getRegionIterArgs()[i]] = carried;
    tiles_[loop.getResults()[i]] = carried;
  }
  if (tileArgs.empty()) return lowerBlock(*loop.getBody());

  // The same loop without the tiles: their buffers are the carried state.
  auto lowered =
      scf::ForOp::create(builder_, loop.getLoc(), loop.getLowerBound(), loop.getUpperBound(), loop.getStep(), inits);
  Block* body = lowered.getBody();
  if (!body->empty()) body->back().erase();
  // Old block arguments of tiles stay as keys of tiles_ until the dead operations go.
  body->getOperations().splice(body->end(), loop.getBody()->getOperations());
  loop.getInductionVar().replaceAllUsesWith(lowered.getInductionVar());
  unsigned next = 0;
  for (auto [i, init] : llvm::enumerate(loop.getInitArgs())) {
    if (isa<TileType>(init.getType())) continue;
    loop.getRegionIterArgs()[i].replaceAllUsesWith(lowered.getRegionIterArgs()[next]);
    loop.getResults()[i].replaceAllUsesWith(lowered.getResults()[next++]);
  }
  dead_.push_back(loop);
  auto yield = cast<scf::YieldOp>(body->getTerminator());
  loopOfYield_[yield] = loop;
  builder_.setInsertionPointToStart(body);
  for (unsigned i : tileArgs)
    if (DotOp dot = startsFresh(loop, i)) {
      firstStep_[dot] = e_.equal(lowered.getInductionVar(), lowered.getLowerBound());
      if (finish_.count(loop)) finishInLastStep(loop, lowered, dot, tile(loop.getRegionIterArgs()[i]));
    }
  for (Operation& op : llvm::make_early_inc_range(body->without_terminator()))
    if (failed(lowerOperation(&op))) return failure();

  // Every next value is computed from the old ones before any buffer changes.
  builder_.setInsertionPoint(yield);
  SmallVector<std::pair<LazyTileRef, LazyTileRef>> copies;
  for (unsigned i : tileArgs) {
    const LazyTileRef& to = tile(loop.getRegionIterArgs()[i]);
    LazyTileRef from = tile(yield.getOperand(i));
    if (from == to) continue;
    bool changes = llvm::any_of(
        tileArgs, [&](unsigned other) { return tile(loop.getRegionIterArgs()[other])->base == from->base; });
    bool lies = from->inScratch() && from->kind == Kind::Memory;
    copies.emplace_back(lies && !changes ? from : materialise(from), to);
  }
  for (auto& [from, to] : copies) copy(*from, *to);
  SmallVector<Value> plain;
  for (auto [i, v] : llvm::enumerate(yield.getOperands()))
    if (!isa<TileType>(v.getType())) plain.push_back(v);
  yield->setOperands(plain);
  return success();
}

StatusOr<int64_t> lowerScratchTiles(ModuleOp module) {
  std::string errors;
  ScopedDiagnosticHandler handler(module.getContext(), [&](Diagnostic& d) {
    errors += (errors.empty() ? "" : "; ") + d.str();
    return success();
  });
  int64_t scratch = 0;
  for (auto function : llvm::make_early_inc_range(module.getOps<func::FuncOp>())) {
    if (!function->hasAttr(kScratchAttribute)) continue;
    std::string name = function.getName().str();
    ScratchLowering lowering(function);
    if (failed(lowering.run())) return internal("lowering tiles of {} failed: {}", name, errors);
    scratch = std::max(scratch, lowering.scratchBytes());
  }
  if (failed(verify(module))) return internal("lowering tiles made invalid code: {}", errors);
  return scratch;
}

} // namespace tegula::tile
