// Walks a kernel and replaces tile operations by loops over memory.
#include "compiler/codegen/Mlir.h"

#include "compiler/tile/LowerScratch.h"

#include "compiler/tile/LowerDot.h"
#include "compiler/tile/MapFunctions.h"

namespace tegula::tile {

using namespace mlir;

namespace {

constexpr int64_t kCacheLine = 64;
constexpr int64_t kAssumedL2Bytes = 256 << 10; // of a processor whose caches are unknown
constexpr int64_t kRowMajorPanels = 4;                   // an accumulator of so few panels stays row-major: it may be an operand
constexpr int64_t kMostPanelsTogether = 8;     // 1 KiB of a row of f32 is enough for the prefetcher

int64_t roundUp(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

bool isZeros(Value tile) {
  auto splat = tile.getDefiningOp<SplatOp>();
  return splat && matchPattern(splat.getScalar(), m_PosZeroFloat());
}

class ScratchLowering {
public:
  ScratchLowering(func::FuncOp function, const Target& target)
      : function_(function), builder_(function.getContext()), e_(builder_, function.getLoc(), target),
        v_(builder_, function.getLoc(), function->getAttrOfType<IntegerAttr>(kLanesAttribute).getInt()) {}

  LogicalResult run();
  int64_t scratchBytes() const { return scratchBytes_; }

private:
  using Kind = LazyTile::Kind;

  LogicalResult lowerBlock(Block&);
  LogicalResult lowerOperation(Operation*);
  LogicalResult lowerTileOperation(Operation*);
  LogicalResult lowerFor(scf::ForOp);
  LogicalResult lowerIf(scf::IfOp);
  void lowerScalar(ScalarOp);
  void lowerLoad(LoadOp);
  void lowerStore(StoreOp);
  void lowerSplat(SplatOp);
  void lowerIota(IotaOp);
  void lowerMap(MapOp);
  void lowerReduce(ReduceOp);
  void lowerTranspose(TransposeOp);
  void lowerDot(DotOp);

  // Buffers.
  Value allocate(int64_t bytes);
  /// A buffer for a tile of these bounds, in whole register kernels so that it can be an accumulator.
  LazyTileRef buffer(int64_t rows, int64_t cols, Value rowExtent, Value colExtent, Type element);
  /// The same in panels as wide as the register kernel of `op`: for accumulators of many panels.
  LazyTileRef panelBuffer(DotOp op, const LazyTile& like);
  void copy(const LazyTile& from, const LazyTile& to);
  LazyTileRef materialise(const LazyTileRef&);
  /// Worth a buffer: evaluated more than once, and dear or small.
  bool shouldKeep(Value tile, const LazyTile&) const;
  void define(Value tile, LazyTileRef);

  // Dots.
  DotShape shapeOf(DotOp op) const;
  Type packedElement(DotOp op) const;
  Packed packA(DotOp, const LazyTileRef&);
  LazyTileRef accumulatorFor(DotOp);
  bool isLastUse(Value tile, Operation* user) const;
  void packInvariants(scf::ForOp);
  Panels packAllPanels(DotOp, const LazyTileRef&);
  Panels panelsOf(DotOp, const LazyTileRef&);
  DotOp startsFresh(scf::ForOp, unsigned argument) const;

  const LazyTileRef& tile(Value v) const { return tiles_.find(v)->second; }

  func::FuncOp function_;
  OpBuilder builder_;
  KernelEmitter e_;
  VectorEmitter v_;
  llvm::DenseMap<Value, LazyTileRef> tiles_;
  llvm::DenseMap<Value, Packed> packedRows_;         // operands packed ahead of a loop
  llvm::DenseMap<Value, Panels> packedPanels_;
  llvm::DenseMap<Operation*, Value> firstStep_; // dots whose accumulator holds nothing in the first step of their loop
  llvm::DenseMap<Operation*, scf::ForOp> loopOfYield_; // the loop as it was written, with its tiles
  SmallVector<Operation*> dead_;
  int64_t scratchBytes_ = 0;
  int64_t rowUnit_ = 1, colUnit_ = 1;                // of buffers: whole register kernels
  int dots_ = 0;                                     // several: code for ragged ends is kept small
};

LogicalResult ScratchLowering::run() {
  rowUnit_ = colUnit_ = v_.lanes;
  int64_t mostRows = 1;
  function_.walk([&](DotOp op) {
    ++dots_;
    mostRows = std::max(mostRows, static_cast<int64_t>(op.getRows()));
    colUnit_ = std::max(colUnit_, static_cast<int64_t>(op.getWidth()));
  });
  rowUnit_ = std::max(mostRows, v_.lanes);
  if (failed(lowerBlock(function_.getBody().front()))) return failure();
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
  } else if (auto store = dyn_cast<StoreOp>(op)) lowerStore(store);
  else if (auto splat = dyn_cast<SplatOp>(op)) lowerSplat(splat);
  else if (auto iota = dyn_cast<IotaOp>(op)) lowerIota(iota);
  else if (auto reduce = dyn_cast<ReduceOp>(op)) lowerReduce(reduce);
  else if (auto dot = dyn_cast<DotOp>(op)) lowerDot(dot);
  else if (auto transpose = dyn_cast<TransposeOp>(op)) lowerTranspose(transpose);
  else if (auto scalar = dyn_cast<ScalarOp>(op)) lowerScalar(scalar);
  else if (!isa<ViewOp>(op)) return op->emitOpError("has no lowering in scratch");
  return success();
}

// ------------------------------------------------------------------------------------------------------------ buffers

Value ScratchLowering::allocate(int64_t bytes) {
  int64_t offset = scratchBytes_;
  scratchBytes_ += roundUp(bytes, kCacheLine);
  return e_.element(function_.getArgument(4), builder_.getI8Type(), offset);
}

LazyTileRef ScratchLowering::buffer(int64_t rows, int64_t cols, Value rowExtent, Value colExtent, Type element) {
  auto t = std::make_shared<LazyTile>();
  t->rows = rows, t->cols = cols, t->rowExtent = rowExtent, t->colExtent = colExtent;
  t->element = element;
  int64_t bytes = memoryBytes(element);
  bool column = cols == 1;
  int64_t along = column ? rows : cols, across = column ? 1 : rows;
  int64_t pitch = roundUp(along, column ? v_.lanes : colUnit_);
  // A line more, so that the rows of a block do not fall into the same cache sets.
  if (across > 1) pitch += kCacheLine / bytes;
  t->base = allocate(pitch * (across > 1 ? roundUp(across, rowUnit_) : 1) * bytes);
  t->scratchPitch = pitch;
  t->unitAxis = column ? 0 : 1;
  t->rowStride = e_.index(column ? 1 : pitch);
  t->colStride = e_.index(column ? pitch : 1);
  return t;
}

LazyTileRef ScratchLowering::panelBuffer(DotOp op, const LazyTile& like) {
  auto t = std::make_shared<LazyTile>(like);
  t->kind = Kind::Memory;
  auto width = static_cast<int64_t>(op.getWidth());
  t->panelWidth = t->scratchPitch = width;
  t->panelStride = (roundUp(like.rows, rowUnit_) + 1) * width;
  t->base = allocate(t->panelStride * (roundUp(like.cols, width) / width) * memoryBytes(like.element));
  t->unitAxis = 1;
  t->rowStride = e_.index(width);
  t->colStride = e_.index(1);
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
  Value binding = LLVM::LoadOp::create(e.builder(), op.getLoc(), pointer,
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
  auto window = windowAt(e_, function_, op.getView(), op.getRow(), op.getCol());
  const LazyTileRef& from = tile(op.getTile());
  window->rows = from->rows, window->cols = from->cols;
  if (from->cols == 1 && window->unitAxis < 0) window->unitAxis = -1;
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
  if (x.getType().isIndex()) x = arith::IndexCastOp::create(builder_, op.getLoc(), scalar, x);
  else if (x.getType().isBF16() || x.getType().isF16()) x = arith::ExtFOp::create(builder_, op.getLoc(), scalar, x);
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
  t->rows = type.getRows(), t->cols = type.getCols();
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

/// The dot that is all a loop does with a carried tile of zeros: its first step need not read them. Null: another use.
DotOp ScratchLowering::startsFresh(scf::ForOp loop, unsigned argument) const {
  Value carried = loop.getRegionIterArgs()[argument];
  if (!isZeros(loop.getInitArgs()[argument]) || !carried.hasOneUse()) return {};
  OpOperand& use = *carried.use_begin();
  auto dot = dyn_cast<DotOp>(use.getOwner());
  bool yielded = dot && dot.getAcc() == carried && dot.getResult().hasOneUse() && isa<scf::YieldOp>(*dot.getResult().user_begin()) &&
                 dot.getResult().use_begin()->getOperandNumber() == argument;
  return yielded ? dot : DotOp();
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
    bool manyPanels = fresh && from->cols > kRowMajorPanels * static_cast<int64_t>(fresh.getWidth());
    LazyTileRef carried = manyPanels ? panelBuffer(fresh, *from) : buffer(from->rows, from->cols, from->rowExtent, from->colExtent, from->element);
    if (fresh) {
      Value idle = arith::CmpIOp::create(builder_, loop.getLoc(), arith::CmpIPredicate::sge, loop.getLowerBound(), loop.getUpperBound());
      e_.branch(idle, [&] { copy(*from, *carried); });
    } else
      copy(*from, *carried);
    tiles_[loop.getRegionIterArgs()[i]] = carried;
    tiles_[loop.getResults()[i]] = carried;
  }
  if (tileArgs.empty()) return lowerBlock(*loop.getBody());

  // The same loop without the tiles: their buffers are the carried state.
  auto lowered = scf::ForOp::create(builder_, loop.getLoc(), loop.getLowerBound(), loop.getUpperBound(), loop.getStep(), inits);
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
    if (DotOp dot = startsFresh(loop, i)) firstStep_[dot] = e_.equal(lowered.getInductionVar(), lowered.getLowerBound());
  for (Operation& op : llvm::make_early_inc_range(body->without_terminator()))
    if (failed(lowerOperation(&op))) return failure();

  // Every next value is computed from the old ones before any buffer changes.
  builder_.setInsertionPoint(yield);
  SmallVector<std::pair<LazyTileRef, LazyTileRef>> copies;
  for (unsigned i : tileArgs) {
    const LazyTileRef& to = tile(loop.getRegionIterArgs()[i]);
    LazyTileRef from = tile(yield.getOperand(i));
    if (from == to) continue;
    copies.emplace_back(from->inScratch() && from->kind == Kind::Memory ? from : materialise(from), to);
  }
  for (auto& [from, to] : copies) copy(*from, *to);
  SmallVector<Value> plain;
  for (auto [i, v] : llvm::enumerate(yield.getOperands()))
    if (!isa<TileType>(v.getType())) plain.push_back(v);
  yield->setOperands(plain);
  return success();
}

// --------------------------------------------------------------------------------------------------------------- dots

DotShape ScratchLowering::shapeOf(DotOp op) const {
  DotFamily family = op.getFamily() == "bf16dot" ? DotFamily::Bf16Dot : DotFamily::Fma;
  return {static_cast<int64_t>(op.getRows()), static_cast<int64_t>(op.getWidth()), family, dots_ > 1};
}

Type ScratchLowering::packedElement(DotOp op) const {
  if (op.getFamily() == "bf16dot") return BFloat16Type::get(op.getContext());
  return cast<TileType>(op.getAcc().getType()).getElementType();
}

Packed ScratchLowering::packA(DotOp op, const LazyTileRef& a) {
  Type element = packedElement(op);
  // A tile that lies in scratch as the register kernel reads it needs no packing.
  if (a->kind == Kind::Memory && a->inScratch() && a->unitAxis == 1 && a->panelWidth == 0 && a->element == element &&
      !element.isBF16())
    return {a->base, a->scratchPitch};
  int64_t pitch = rowsPitch(a->cols, element);
  int64_t rows = roundUp(roundUp(a->rows, v_.lanes), op.getRows());
  Packed packed{allocate(pitch * rows * memoryBytes(element)), pitch};
  packRows(e_, v_, *a, packed.base, pitch, element, shapeOf(op).family);
  return packed;
}

/// All panels, for use in a loop that does not change them.
Panels ScratchLowering::packAllPanels(DotOp op, const LazyTileRef& b) {
  DotShape shape = shapeOf(op);
  Type element = packedElement(op);
  Panels panels;
  panels.pitch = panelPitch(b->rows, shape.width, v_.lanes);
  int64_t count = (b->cols + shape.width - 1) / shape.width;
  panels.base = allocate(panels.pitch * count * memoryBytes(element));
  packPanels(e_, v_, *b, e_.index(0), count, panels.base, panels.pitch, shape.width, element, shape.family);
  return panels;
}

/// Panels packed a group at a time, into a buffer that takes an eighth of L2.
Panels ScratchLowering::panelsOf(DotOp op, const LazyTileRef& b) {
  auto packed = packedPanels_.find(op.getB());
  if (packed != packedPanels_.end()) return packed->second;
  DotShape shape = shapeOf(op);
  Type element = packedElement(op);
  Panels panels;
  panels.pitch = panelPitch(b->rows, shape.width, v_.lanes);
  const auto& caches = e_.target().caches;
  int64_t room = (caches.size() > 1 ? caches[1].sizeBytes : kAssumedL2Bytes) / 8;
  int64_t count = std::clamp<int64_t>(room / (panels.pitch * memoryBytes(element)), 1, kMostPanelsTogether);
  count = std::min(count, (b->cols + shape.width - 1) / shape.width);
  panels.groupWidth = count * shape.width;
  panels.base = allocate(panels.pitch * count * memoryBytes(element));
  panels.pack = [=, this](Value col) {
    packPanels(e_, v_, *b, col, count, panels.base, panels.pitch, shape.width, element, shape.family);
  };
  return panels;
}

/// Packs the operands of dots in `loop` that are made outside of it.
void ScratchLowering::packInvariants(scf::ForOp loop) {
  loop.walk([&](DotOp op) {
    auto outside = [&](Value v) { return tiles_.count(v) && !loop->isAncestor(v.getParentRegion()->getParentOp()); };
    if (outside(op.getA()) && !packedRows_.count(op.getA())) packedRows_[op.getA()] = packA(op, tile(op.getA()));
    if (outside(op.getB()) && !packedPanels_.count(op.getB())) packedPanels_[op.getB()] = packAllPanels(op, tile(op.getB()));
  });
}

/// No operation after `user` looks at `value`, directly or through tiles that are not evaluated yet.
bool ScratchLowering::isLastUse(Value value, Operation* user) const {
  for (Operation* other : value.getUsers()) {
    if (other == user) continue;
    Operation* inBlock = user->getBlock()->findAncestorOpInBlock(*other);
    if (!inBlock || isa<scf::YieldOp>(other)) return false;
    if (inBlock == user) continue;
    if (!inBlock->isBeforeInBlock(user)) return false;
    if (!isa<MapOp, TransposeOp>(other)) continue;
    Value result = other->getResult(0);
    auto known = tiles_.find(result);
    bool evaluated = known != tiles_.end() && known->second->inScratch();
    if (!evaluated && !isLastUse(result, user)) return false;
  }
  return true;
}

/// The buffer that a dot accumulates into: the loop's own if the result is carried on and nobody needs the old value.
LazyTileRef ScratchLowering::accumulatorFor(DotOp op) {
  LazyTileRef acc = tile(op.getAcc());
  Value result = op.getResult();
  if (result.hasOneUse()) {
    OpOperand& use = *result.use_begin();
    auto loop = loopOfYield_.find(use.getOwner());
    if (loop != loopOfYield_.end() && use.getOwner()->getBlock() == op->getBlock()) {
      Value argument = loop->second.getRegionIterArgs()[use.getOperandNumber()];
      if (isLastUse(argument, op)) return tile(argument);
    }
  }
  return buffer(acc->rows, acc->cols, tile(op.getA())->rowExtent, tile(op.getB())->colExtent, acc->element);
}

void ScratchLowering::lowerDot(DotOp op) {
  DotShape shape = shapeOf(op);
  LazyTileRef a = tile(op.getA()), b = tile(op.getB()), acc = tile(op.getAcc());
  LazyTileRef out = accumulatorFor(op);
  auto first = firstStep_.find(op);
  Value fresh = first == firstStep_.end() ? Value() : first->second;
  if (isZeros(op.getAcc())) fresh = arith::ConstantOp::create(builder_, op.getLoc(), builder_.getBoolAttr(true));
  else if (acc != out) copy(*acc, *out);
  auto rows = packedRows_.find(op.getA());
  Packed packedA = rows != packedRows_.end() ? rows->second : packA(op, a);
  emitDot(e_, v_, shape, packedA, panelsOf(op, b), a->rowExtent, b->colExtent, b->rowExtent, {out->base, out->scratchPitch, out->element, out->panelStride},
          fresh);
  tiles_[op.getResult()] = out;
}

} // namespace

StatusOr<int64_t> lowerScratchTiles(ModuleOp module, const Target& target) {
  std::string errors;
  ScopedDiagnosticHandler handler(module.getContext(), [&](Diagnostic& d) {
    errors += (errors.empty() ? "" : "; ") + d.str();
    return success();
  });
  int64_t scratch = 0;
  for (auto function : llvm::make_early_inc_range(module.getOps<func::FuncOp>())) {
    if (!function->hasAttr(kScratchAttribute)) continue;
    std::string name = function.getName().str();
    ScratchLowering lowering(function, target);
    if (failed(lowering.run())) return internal("lowering tiles of {} failed: {}", name, errors);
    scratch = std::max(scratch, lowering.scratchBytes());
  }
  if (failed(verify(module))) return internal("lowering tiles made invalid code: {}", errors);
  return scratch;
}

} // namespace tegula::tile
