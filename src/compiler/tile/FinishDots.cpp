// Work on the result of a reduction loop of dots (maps and stores: an epilogue), done in the loop's last step as soon
// as a register kernel has written its part, instead of in a pass of its own over the whole block:
//
//   for k:                             for k:
//     acc += a · b                       for each part p of the block: acc[p] += a · b
//   store(f(acc, bias))        ==>                                     in the last step: store(f(acc[p], bias[p]))
//
// The part is in L1 then, and waiting for the lines of the output overlaps with the next register kernel. A loop of one
// step needs no memory for the block: every panel uses the same piece.
#include "compiler/codegen/Mlir.h"

#include "compiler/tile/ScratchLowering.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace tegula::tile {

using namespace mlir;

/// The maps and stores that need the loop's only result, in order; empty if anything else does.
static SmallVector<Operation*> elementwiseUsers(scf::ForOp loop) {
  SmallVector<Operation*> found;
  llvm::SmallPtrSet<Operation*, 16> inside;
  SmallVector<Value> pending{loop.getResult(0)};
  while (!pending.empty()) {
    for (Operation* user : pending.pop_back_val().getUsers()) {
      if (user->getBlock() != loop->getBlock() || !isa<MapOp, StoreOp>(user)) return {};
      if (inside.insert(user).second && isa<MapOp>(user)) pending.push_back(user->getResult(0));
    }
  }
  for (Operation* op = loop->getNextNode(); op; op = op->getNextNode())
    if (inside.contains(op)) found.push_back(op);
  return found;
}

/// Everything between the loop and `last` that does not depend on the loop moves in front of it. False: something
/// cannot.
static bool hoistInputs(scf::ForOp loop, const SmallVector<Operation*>& finish) {
  llvm::SmallPtrSet<Operation*, 16> kept(finish.begin(), finish.end());
  SmallVector<Operation*> moving;
  for (Operation* op = loop->getNextNode(); op && op != finish.back(); op = op->getNextNode()) {
    if (kept.contains(op)) continue;
    bool plain = op->getNumRegions() == 0 && (isa<TileDialect>(op->getDialect()) ? !isa<StoreOp>(op) : isPure(op));
    if (!plain) return false;
    moving.push_back(op);
  }
  for (Operation* op : moving) op->moveBefore(loop);
  return true;
}

void ScratchLowering::planFinish(scf::ForOp loop) {
  if (loop.getNumResults() != 1 || !isa<TileType>(loop.getResult(0).getType())) return;
  DotOp dot = startsFresh(loop, 0);
  if (!dot || dot->getBlock() != loop.getBody()) return;
  SmallVector<Operation*> users = elementwiseUsers(loop);
  if (users.empty() || !hoistInputs(loop, users)) return;
  for (Operation* op : users) finishing_.insert(op);
  finish_[loop] = std::move(users);
}

namespace {

/// A part of a block: where it starts, what exists of it, and its bounds.
struct Part {
  Value row, col, rowExtent, colExtent;
  int64_t rows, cols;
};

} // namespace

/// Element (row, col) of a tile in memory. A block in panels is left there: a part lies within one of its panels.
static Value addressOf(KernelEmitter& e, const LazyTile& t, const Part& p, bool alongRows, bool alongCols) {
  Value at = e.index(0);
  if (alongRows) at = e.add(at, e.mul(p.row, t.rowStride));
  if (alongCols && t.panelWidth == 0) at = e.add(at, e.mul(p.col, t.colStride));
  if (alongCols && t.panelWidth > 0) {
    Value width = e.index(t.panelWidth);
    at = e.add(at, e.add(e.mul(e.div(p.col, width), t.panelStride), e.rem(p.col, width)));
  }
  return e.element(t.base, memoryType(t.element), at);
}

static LazyTileRef partOf(KernelEmitter& e, const LazyTileRef& tile, const Part& p) {
  auto t = std::make_shared<LazyTile>(*tile);
  bool alongRows = t->rows > 1, alongCols = t->cols > 1;
  if (t->kind == LazyTile::Kind::Memory) t->base = addressOf(e, *t, p, alongRows, alongCols);
  if (t->kind == LazyTile::Kind::Iota && (t->axis == 0 ? alongRows : alongCols))
    t->scalar = e.add(t->scalar, t->axis == 0 ? p.row : p.col);
  if (alongRows) t->rows = p.rows, t->rowExtent = p.rowExtent;
  if (alongCols) t->cols = p.cols, t->colExtent = p.colExtent;
  if (p.cols <= t->panelWidth) t->panelWidth = t->panelStride = 0;
  for (LazyTileRef& input : t->inputs) input = partOf(e, input, p);
  return t;
}

/// Lowers the finishing operations with `result`, which starts at (row, col), in the place of the loop's result.
void ScratchLowering::emitFinish(scf::ForOp loop, const LazyTileRef& result, Value row, Value col) {
  auto outer = tiles_;
  Part part{row, col, result->rowExtent, result->colExtent, result->rows, result->cols};
  const SmallVector<Operation*>& operations = finish_[loop];
  for (Operation* op : operations)
    for (Value operand : op->getOperands()) {
      auto known = outer.find(operand);
      Operation* from = operand.getDefiningOp();
      if (known == outer.end() || from == loop || finishing_.contains(from)) continue;
      tiles_[operand] = partOf(e_, known->second, part);
    }
  tiles_[loop.getResult(0)] = result;
  firstRow_ = row, firstColumn_ = col;
  mostRows_ = result->rows, mostColumns_ = result->cols;
  for (Operation* op : operations)
    if (failed(lowerTileOperation(op))) failed_ = true; // run() says so
  firstRow_ = firstColumn_ = Value();
  mostRows_ = mostColumns_ = INT64_MAX;
  tiles_ = std::move(outer);
}

/// The accumulator of a loop that finishes as it goes. A loop of no step finishes here, with zeros.
LazyTileRef ScratchLowering::finishingAccumulator(scf::ForOp loop, DotOp dot, const LazyTile& like) {
  auto block = panelBuffer(dot, like);
  Value span = e_.sub(loop.getUpperBound(), loop.getLowerBound());
  finishOf_[dot].panelStride = arith::SelectOp::create(builder_, loop.getLoc(), e_.less(loop.getStep(), span),
                                                       e_.index(block->panelStride), e_.index(0));
  e_.branch(e_.less(span, e_.index(1)),
            [&] { emitFinish(loop, tile(loop.getInitArgs()[0]), e_.index(0), e_.index(0)); });
  return block;
}

/// Called inside the lowered loop: says when it is in its last step, and what to do there.
void ScratchLowering::finishInLastStep(scf::ForOp loop, scf::ForOp lowered, DotOp dot, const LazyTileRef& block) {
  DotFinish& finish = finishOf_[dot];
  finish.last = arith::CmpIOp::create(builder_, loop.getLoc(), arith::CmpIPredicate::sge,
                                      e_.add(lowered.getInductionVar(), lowered.getStep()), lowered.getUpperBound());
  auto mostRows = static_cast<int64_t>(dot.getRows());
  finish.block = [this, loop, block, mostRows](Value row, Value col, Value at, Value rows, Value cols) {
    auto t = std::make_shared<LazyTile>(*block);
    t->base = at;
    t->rows = mostRows, t->rowExtent = e_.min(rows, e_.index(mostRows));
    t->cols = block->panelWidth, t->colExtent = e_.min(cols, e_.index(t->cols));
    t->panelWidth = t->panelStride = 0;
    emitFinish(loop, t, row, col);
  };
}

} // namespace tegula::tile
