// The dots of kernels whose tiles live in scratch: accumulators, packed operands, what is packed ahead of loops.
#include "compiler/codegen/Mlir.h"

#include "compiler/tile/ScratchLowering.h"

#include <bit>

namespace tegula::tile {

using namespace mlir;

bool isZeros(Value tile) {
  auto splat = tile.getDefiningOp<SplatOp>();
  return splat && matchPattern(splat.getScalar(), m_PosZeroFloat());
}

/// The dot that is all a loop does with a carried tile of zeros: its first step need not read them. Null: another use.
DotOp ScratchLowering::startsFresh(scf::ForOp loop, unsigned argument) const {
  Value carried = loop.getRegionIterArgs()[argument];
  if (!isZeros(loop.getInitArgs()[argument]) || !carried.hasOneUse()) return {};
  OpOperand& use = *carried.use_begin();
  auto dot = dyn_cast<DotOp>(use.getOwner());
  bool yielded = dot && dot.getAcc() == carried && dot.getResult().hasOneUse() &&
                 isa<scf::YieldOp>(*dot.getResult().user_begin()) &&
                 dot.getResult().use_begin()->getOperandNumber() == argument;
  return yielded ? dot : DotOp();
}

LazyTileRef ScratchLowering::panelBuffer(DotOp op, const LazyTile& like) {
  auto t = std::make_shared<LazyTile>(like);
  t->kind = Kind::Memory;
  auto width = static_cast<int64_t>(op.getWidth());
  t->panelWidth = t->scratchPitch = width;
  t->panelStride = (wholeRows(like.rows) + 1) * width;
  t->base = allocate(t->panelStride * (roundUp(like.cols, width) / width) * memoryBytes(like.element));
  t->unitAxis = 1;
  t->rowStride = e_.index(width);
  t->colStride = e_.index(1);
  return t;
}

DotShape ScratchLowering::shapeOf(DotOp op) const {
  DotFamily family = op.getFamily() == "bf16dot" ? DotFamily::Bf16Dot : DotFamily::Fma;
  return {static_cast<int64_t>(op.getRows()), static_cast<int64_t>(op.getWidth()), static_cast<int64_t>(op.getUnroll()),
          family, dots_ > 1};
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
  int64_t rows = wholeRows(a->rows);
  Packed packed{allocate(pitch * rows * memoryBytes(element)), pitch};
  if (dots_ == 1) packed.ahead = aheadOfRows(e_, a);
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

/// Panels packed a group at a time.
Panels ScratchLowering::panelsOf(DotOp op, const LazyTileRef& b) {
  auto packed = packedPanels_.find({op.getB(), packedElement(op)});
  if (packed != packedPanels_.end()) return packed->second;
  DotShape shape = shapeOf(op);
  Type element = packedElement(op);
  Panels panels;
  panels.pitch = panelPitch(b->rows, shape.width, v_.lanes);
  int64_t wanted = std::min(static_cast<int64_t>(op.getGroup()), (b->cols + shape.width - 1) / shape.width);
  auto count = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(wanted)));
  panels.groupWidth = count * shape.width;
  panels.base = allocate(panels.pitch * count * memoryBytes(element));
  // The next step of a kernel with several dots is not along k.
  if (dots_ == 1) panels.ahead = aheadOfPanels(e_, b, panels.groupWidth);
  panels.pack = [=, this](Value col) {
    packPanels(e_, v_, *b, col, count, panels.base, panels.pitch, shape.width, element, shape.family);
  };
  return panels;
}

/// Packs the operands of dots in `loop` that are made outside of it.
void ScratchLowering::packInvariants(scf::ForOp loop) {
  loop.walk([&](DotOp op) {
    auto outside = [&](Value v) { return tiles_.count(v) && !loop->isAncestor(v.getParentRegion()->getParentOp()); };
    PackedKey a{op.getA(), packedElement(op)}, b{op.getB(), packedElement(op)};
    if (outside(op.getA()) && !packedRows_.count(a)) packedRows_[a] = packA(op, tile(op.getA()));
    if (outside(op.getB()) && !packedPanels_.count(b)) packedPanels_[b] = packAllPanels(op, tile(op.getB()));
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
    // A transpose is another view of the same memory; a map that lies in scratch has been computed.
    bool evaluated = isa<MapOp>(other) && known != tiles_.end() && known->second->inScratch();
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
      if (tile(argument)->unitAxis == 1 && isLastUse(argument, op)) return tile(argument);
    }
  }
  return buffer(acc->rows, acc->cols, tile(op.getA())->rowExtent, tile(op.getB())->colExtent, acc->element,
                /*forDot=*/true);
}

void ScratchLowering::lowerDot(DotOp op) {
  DotShape shape = shapeOf(op);
  LazyTileRef a = tile(op.getA()), b = tile(op.getB()), acc = tile(op.getAcc());
  LazyTileRef out = accumulatorFor(op);
  auto first = firstStep_.find(op);
  Value fresh = first == firstStep_.end() ? Value() : first->second;
  if (isZeros(op.getAcc()))
    fresh = arith::ConstantOp::create(builder_, op.getLoc(), builder_.getBoolAttr(true));
  else if (acc != out)
    copy(*acc, *out);
  auto rows = packedRows_.find({op.getA(), packedElement(op)});
  Packed packedA = rows != packedRows_.end() ? rows->second : packA(op, a);
  DotFinish finish = finishOf_.lookup(op);
  Value panelStride = finish.panelStride;
  if (!panelStride && out->panelStride > 0) panelStride = e_.index(out->panelStride);
  emitDot(e_, v_, shape, packedA, panelsOf(op, b), a->rowExtent, b->colExtent, b->rowExtent,
          {out->base, out->scratchPitch, out->element, panelStride}, fresh, finish);
  tiles_[op.getResult()] = out;
}

} // namespace tegula::tile
