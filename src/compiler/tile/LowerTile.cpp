// Walks a kernel and replaces tile operations by vectors; values carried by loops and branches become their vectors.
#include "compiler/codegen/Mlir.h"

#include "compiler/tile/LowerTile.h"

#include "compiler/tile/MapFunctions.h"

namespace tegula::tile {

using namespace mlir;

namespace {

std::string_view viewOf(StringRef s) { return {s.data(), s.size()}; }

bool hasTiles(TypeRange types) {
  return llvm::any_of(types, [](Type t) { return isa<TileType>(t); });
}

int64_t lanesOf(func::FuncOp function) { return function->getAttrOfType<IntegerAttr>(kLanesAttribute).getInt(); }

} // namespace

TileLowering::TileLowering(func::FuncOp function)
    : function_(function), builder_(function.getContext()), emitter_(builder_, function.getLoc(), lanesOf(function)) {}

LogicalResult TileLowering::run(ArrayRef<Rule> rules) {
  rules_ = rules;
  if (failed(lowerBlock(function_.getBody().front()))) return failure();
  for (Operation* op : llvm::reverse(dead_)) op->erase();
  function_->removeAttr(kLanesAttribute);
  return success();
}

LogicalResult TileLowering::lowerBlock(Block& block) {
  for (Operation& op : llvm::make_early_inc_range(block))
    if (failed(lowerOperation(&op))) return failure();
  return success();
}

LogicalResult TileLowering::lowerOperation(Operation* op) {
  builder_.setInsertionPoint(op);
  for (const Rule& rule : rules_) {
    FailureOr<bool> done = rule(*this, op);
    if (failed(done)) return failure();
    if (*done) {
      dead_.push_back(op);
      return success();
    }
  }
  if (auto loop = dyn_cast<scf::ForOp>(op)) return lowerFor(loop);
  if (auto branch = dyn_cast<scf::IfOp>(op)) return lowerIf(branch);
  if (auto yield = dyn_cast<scf::YieldOp>(op)) {
    SmallVector<Value> flat;
    for (Value v : yield.getOperands()) flatten(v, flat);
    yield->setOperands(flat);
    return success();
  }
  if (!isa<TileDialect>(op->getDialect())) {
    if (op->getNumRegions() == 0 || isa<func::FuncOp>(op)) return success();
    for (Region& region : op->getRegions())
      for (Block& block : region)
        if (failed(lowerBlock(block))) return failure();
    return success();
  }
  FailureOr<bool> done = lowerTileOperation(op);
  if (failed(done) || !*done) return op->emitOpError("has no lowering");
  dead_.push_back(op);
  return success();
}

FailureOr<bool> TileLowering::lowerTileOperation(Operation* op) {
  if (auto map = dyn_cast<MapOp>(op)) {
    if (!isMapFunction(map.getFn())) return map.emitOpError("names no elementwise function: ") << map.getFn();
    lowerMap(map);
  } else if (auto load = dyn_cast<LoadOp>(op))
    lowerLoad(*this, load);
  else if (auto gather = dyn_cast<GatherOp>(op))
    lowerGather(*this, gather);
  else if (auto store = dyn_cast<StoreOp>(op))
    lowerStore(*this, store);
  else if (auto splat = dyn_cast<SplatOp>(op))
    lowerSplat(splat);
  else if (auto iota = dyn_cast<IotaOp>(op))
    lowerIota(iota);
  else if (auto neutral = dyn_cast<NeutralOp>(op))
    lowerNeutral(neutral);
  else if (auto accumulate = dyn_cast<AccumulateOp>(op))
    lowerAccumulate(accumulate);
  else if (auto reduce = dyn_cast<ReduceOp>(op))
    lowerReduce(reduce);
  else if (auto extract = dyn_cast<ExtractOp>(op))
    lowerExtract(extract);
  else if (auto scalar = dyn_cast<ScalarOp>(op))
    lowerScalar(scalar);
  else if (!isa<ViewOp>(op))
    return false; // a view is folded into the accesses
  return true;
}

// ----------------------------------------------------------------------------------------------------- control flow

void TileLowering::flatten(Value v, SmallVectorImpl<Value>& out) const {
  if (isa<TileType>(v.getType()))
    llvm::append_range(out, valueOf(v).vectors);
  else
    out.push_back(v);
}

void TileLowering::unflatten(Value tile, const TileValue& like, ValueRange& flat) {
  TileValue value = like;
  value.vectors.assign(flat.begin(), flat.begin() + static_cast<ptrdiff_t>(like.vectors.size()));
  flat = flat.drop_front(like.vectors.size());
  setValue(tile, std::move(value));
}

LogicalResult TileLowering::lowerFor(scf::ForOp loop) {
  if (!hasTiles(loop.getInitArgs().getTypes())) return lowerBlock(*loop.getBody());
  SmallVector<Value> inits;
  for (Value v : loop.getInitArgs()) flatten(v, inits);
  auto lowered =
      scf::ForOp::create(builder_, loop.getLoc(), loop.getLowerBound(), loop.getUpperBound(), loop.getStep(), inits);
  Block* body = lowered.getBody();
  body->getOperations().splice(body->end(), loop.getBody()->getOperations());
  loop.getInductionVar().replaceAllUsesWith(lowered.getInductionVar());
  dead_.push_back(loop);
  ValueRange carried = lowered.getRegionIterArgs(), results = lowered.getResults();
  for (auto [init, argument, result] : llvm::zip(loop.getInitArgs(), loop.getRegionIterArgs(), loop.getResults())) {
    if (isa<TileType>(init.getType())) {
      TileValue like = valueOf(init); // a copy: setValue may move the map
      unflatten(argument, like, carried);
      unflatten(result, like, results);
      continue;
    }
    argument.replaceAllUsesWith(carried.front());
    result.replaceAllUsesWith(results.front());
    carried = carried.drop_front();
    results = results.drop_front();
  }
  return lowerBlock(*body);
}

LogicalResult TileLowering::lowerIf(scf::IfOp branch) {
  if (!hasTiles(branch.getResultTypes())) {
    if (failed(lowerBlock(branch.getThenRegion().front()))) return failure();
    return branch.getElseRegion().empty() ? success() : lowerBlock(branch.getElseRegion().front());
  }
  // The branches say which extents the results have, so they are lowered in the old operation and then moved.
  SmallVector<TileValue> like;
  for (Region* region : {&branch.getThenRegion(), &branch.getElseRegion()}) {
    Block& block = region->front();
    for (Operation& op : llvm::make_early_inc_range(block.without_terminator()))
      if (failed(lowerOperation(&op))) return failure();
    auto yield = cast<scf::YieldOp>(block.getTerminator());
    if (like.empty())
      for (Value v : yield.getOperands()) like.push_back(isa<TileType>(v.getType()) ? valueOf(v) : TileValue{});
    if (failed(lowerOperation(yield))) return failure();
  }
  builder_.setInsertionPoint(branch);
  TypeRange types = branch.thenYield().getOperandTypes();
  auto lowered = scf::IfOp::create(builder_, branch.getLoc(), types, branch.getCondition(), /*withElseRegion=*/true);
  lowered.getThenRegion().takeBody(branch.getThenRegion());
  lowered.getElseRegion().takeBody(branch.getElseRegion());
  ValueRange results = lowered.getResults();
  for (auto [result, tile] : llvm::zip(branch.getResults(), like)) {
    if (isa<TileType>(result.getType())) {
      unflatten(result, tile, results);
      continue;
    }
    result.replaceAllUsesWith(results.front());
    results = results.drop_front();
  }
  dead_.push_back(branch);
  return success();
}

// ----------------------------------------------------------------------------------------------------------- values

Value TileLowering::bindingsArgument() { return function_.getArgument(0); }
Value TileLowering::scalarsArgument() { return function_.getArgument(1); }
Value TileLowering::scratchArgument() { return function_.getArgument(4); }

TileValue TileLowering::emptyTile(Value result, Value rowExtent, Value colExtent) const {
  auto type = cast<TileType>(result.getType());
  return {type, type.getRows() == 1 ? Value{} : rowExtent, type.getCols() == 1 ? Value{} : colExtent, {}};
}

Value TileLowering::vectorAt(const TileValue& tile, int64_t row, int64_t group) const {
  int64_t perRow = tile.vectorsPerRow(lanes());
  int64_t r = tile.type.getRows() == 1 ? 0 : row, g = tile.type.getCols() == 1 ? 0 : group;
  return tile.vectors[static_cast<size_t>(r * perRow + g)];
}

Value TileLowering::maskAt(const TileValue& tile, int64_t row, int64_t group) {
  Value mask;
  int64_t first = group * lanes();
  if (tile.colExtent)
    mask = emitter_.mask(tile.colExtent, first);
  else if (tile.type.getCols() > 1 && first + lanes() > tile.type.getCols())
    mask = emitter_.mask(emitter_.index(tile.type.getCols()), first);
  if (!tile.rowExtent) return mask;
  Value exists =
      arith::CmpIOp::create(builder_, emitter_.loc, arith::CmpIPredicate::slt, emitter_.index(row), tile.rowExtent);
  Value rows = emitter_.splat(exists);
  return mask ? arith::AndIOp::create(builder_, emitter_.loc, mask, rows).getResult() : rows;
}

void TileLowering::lowerScalar(ScalarOp op) {
  Type i64 = builder_.getI64Type(), pointer = LLVM::LLVMPointerType::get(op.getContext());
  Value address = LLVM::GEPOp::create(builder_, op.getLoc(), pointer, i64, scalarsArgument(),
                                      ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(op.getSlot())});
  Value loaded = LLVM::LoadOp::create(builder_, op.getLoc(), i64, address, /*alignment=*/8, /*isVolatile=*/false,
                                      /*isNonTemporal=*/false, /*isInvariant=*/true);
  op.getResult().replaceAllUsesWith(arith::IndexCastOp::create(builder_, op.getLoc(), builder_.getIndexType(), loaded));
}

void TileLowering::lowerSplat(SplatOp op) {
  TileValue value = emptyTile(op.getResult(), op.getRowExtent(), op.getColExtent());
  Type element = value.type.getElementType(), scalar = registerType(element);
  Value x = op.getScalar();
  if (x.getType().isIndex())
    x = arith::IndexCastOp::create(builder_, op.getLoc(), scalar, x);
  else if (x.getType().isBF16() || x.getType().isF16())
    x = arith::ExtFOp::create(builder_, op.getLoc(), scalar, x);
  Value vector = emitter_.splat(x);
  value.vectors.assign(static_cast<size_t>(value.type.getRows() * value.vectorsPerRow(lanes())), vector);
  setValue(op.getResult(), std::move(value));
}

void TileLowering::lowerNeutral(NeutralOp op) {
  TileValue value = emptyTile(op.getResult(), {}, op.getColExtent());
  Value vector = emitter_.neutral(op.getKind(), value.type.getElementType());
  value.vectors.assign(static_cast<size_t>(value.type.getRows() * value.vectorsPerRow(lanes())), vector);
  setValue(op.getResult(), std::move(value));
}

void TileLowering::lowerIota(IotaOp op) {
  TileValue value = emptyTile(op.getResult(), op.getRowExtent(), op.getColExtent());
  Type element = value.type.getElementType(), i64 = builder_.getI64Type();
  Value start = arith::IndexCastOp::create(builder_, op.getLoc(), i64, op.getStart());
  bool alongColumns = op.getAxis() == 1 && value.type.getCols() > 1;
  for (int64_t r = 0; r < value.type.getRows(); ++r)
    for (int64_t g = 0; g < value.vectorsPerRow(lanes()); ++g) {
      int64_t first = alongColumns ? g * lanes() : op.getAxis() == 0 ? r : 0;
      Value base =
          emitter_.splat(arith::AddIOp::create(builder_, op.getLoc(), start, emitter_.constantInt(i64, first)));
      Value numbers = alongColumns
                          ? arith::AddIOp::create(builder_, op.getLoc(), base, emitter_.laneNumbers(i64)).getResult()
                          : base;
      value.vectors.push_back(emitCast(emitter_, numbers, i64, element));
    }
  setValue(op.getResult(), std::move(value));
}

void TileLowering::lowerMap(MapOp op) {
  TileValue value = emptyTile(op.getResult());
  SmallVector<Type> elements;
  for (Value input : op.getInputs()) {
    const TileValue& in = valueOf(input);
    elements.push_back(in.type.getElementType());
    if (!value.rowExtent && value.type.getRows() > 1) value.rowExtent = in.rowExtent;
    if (!value.colExtent && value.type.getCols() > 1) value.colExtent = in.colExtent;
  }
  for (int64_t r = 0; r < value.type.getRows(); ++r)
    for (int64_t g = 0; g < value.vectorsPerRow(lanes()); ++g) {
      SmallVector<Value> operands;
      for (Value input : op.getInputs()) operands.push_back(vectorAt(valueOf(input), r, g));
      value.vectors.push_back(emitMap(emitter_, op.getFn(), operands, elements, value.type.getElementType()));
    }
  setValue(op.getResult(), std::move(value));
}

void TileLowering::lowerAccumulate(AccumulateOp op) {
  TileValue value = valueOf(op.getAcc());
  const TileValue& x = valueOf(op.getX());
  Type element = value.type.getElementType();
  int64_t perRow = value.vectorsPerRow(lanes());
  for (int64_t r = 0; r < value.type.getRows(); ++r)
    for (int64_t g = 0; g < perRow; ++g) {
      Value& acc = value.vectors[static_cast<size_t>(r * perRow + g)];
      Value next = emitter_.combine(op.getKind(), acc, vectorAt(x, r, g), element);
      Value mask = maskAt(x, r, g);
      acc = mask ? arith::SelectOp::create(builder_, op.getLoc(), mask, next, acc).getResult() : next;
    }
  setValue(op.getResult(), std::move(value));
}

void TileLowering::lowerReduce(ReduceOp op) {
  TileValue x = valueOf(op.getTile());
  Type element = x.type.getElementType();
  Value neutral = emitter_.neutral(op.getKind(), element);
  int64_t perRow = x.vectorsPerRow(lanes());
  for (int64_t r = 0; r < x.type.getRows(); ++r)
    for (int64_t g = 0; g < perRow; ++g)
      if (Value mask = maskAt(x, r, g)) {
        Value& v = x.vectors[static_cast<size_t>(r * perRow + g)];
        v = arith::SelectOp::create(builder_, op.getLoc(), mask, v, neutral);
      }
  auto combineAll = [&](ArrayRef<Value> vectors) {
    SmallVector<Value> level(vectors);
    while (level.size() > 1) { // pairs, so that the chain is short; the order is fixed by the bound
      SmallVector<Value> next;
      for (size_t i = 0; i + 1 < level.size(); i += 2)
        next.push_back(emitter_.combine(op.getKind(), level[i], level[i + 1], element));
      if (level.size() % 2) next.push_back(level.back());
      level = next;
    }
    return level[0];
  };
  TileValue value = emptyTile(op.getResult(), x.rowExtent, x.colExtent);
  if (op.getAxis() == 0) {
    for (int64_t g = 0; g < perRow; ++g) {
      SmallVector<Value> column;
      for (int64_t r = 0; r < x.type.getRows(); ++r) column.push_back(x.vectors[static_cast<size_t>(r * perRow + g)]);
      value.vectors.push_back(combineAll(column));
    }
  } else {
    ArrayRef<Value> all = x.vectors;
    for (int64_t r = 0; r < x.type.getRows(); ++r) {
      Value row = combineAll(all.slice(static_cast<size_t>(r * perRow), static_cast<size_t>(perRow)));
      value.vectors.push_back(x.type.getCols() == 1 ? row : emitter_.fold(op.getKind(), row, element));
    }
  }
  setValue(op.getResult(), std::move(value));
}

void TileLowering::lowerExtract(ExtractOp op) {
  const TileValue& tile = valueOf(op.getTile());
  Value vector = vectorAt(tile, op.getRow(), op.getCol() / lanes());
  Value scalar = emitter_.lane(vector, tile.type.getCols() == 1 ? 0 : op.getCol() % lanes());
  if (op.getResult().getType().isIndex()) {
    bool isUnsigned = isUnsignedElement(tile.type.getElementType());
    scalar = isUnsigned
                 ? arith::IndexCastUIOp::create(builder_, op.getLoc(), builder_.getIndexType(), scalar).getResult()
                 : arith::IndexCastOp::create(builder_, op.getLoc(), builder_.getIndexType(), scalar).getResult();
  }
  op.getResult().replaceAllUsesWith(scalar);
}

Status lowerTiles(ModuleOp module, ArrayRef<TileLowering::Rule> rules) {
  std::string errors;
  ScopedDiagnosticHandler handler(module.getContext(), [&](Diagnostic& d) {
    errors += (errors.empty() ? "" : "; ") + d.str();
    return success();
  });
  for (auto function : llvm::make_early_inc_range(module.getOps<func::FuncOp>())) {
    if (!function->hasAttr(kLanesAttribute)) continue;
    if (failed(TileLowering(function).run(rules)))
      return internal("lowering tiles of {} failed: {}", viewOf(function.getName()), errors);
  }
  if (failed(verify(module))) return internal("lowering tiles made invalid code: {}", errors);
  return OkStatus();
}

} // namespace tegula::tile
