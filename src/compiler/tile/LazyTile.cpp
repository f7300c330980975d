// LazyTile: evaluation of tile expressions by vectors.
#include "compiler/codegen/Mlir.h"

#include "compiler/tile/LazyTile.h"

#include "compiler/tile/MapFunctions.h"

namespace tegula::tile {

using namespace mlir;

LazyTileRef transposed(const LazyTileRef& tile) {
  auto t = std::make_shared<LazyTile>(*tile);
  std::swap(t->rows, t->cols);
  std::swap(t->rowExtent, t->colExtent);
  std::swap(t->rowStride, t->colStride);
  if (t->unitAxis >= 0) t->unitAxis = 1 - t->unitAxis;
  t->axis = 1 - t->axis;
  for (LazyTileRef& input : t->inputs) input = transposed(input);
  return t;
}

/// The contiguous axis of the largest memory behind a tile, and its elements.
static std::pair<int, int64_t> largestMemory(const LazyTile& tile) {
  if (tile.kind == LazyTile::Kind::Memory) {
    bool contiguous = tile.unitAxis >= 0 && tile.bound(tile.unitAxis) > 1;
    return {contiguous ? tile.unitAxis : -1, tile.rows * tile.cols};
  }
  std::pair<int, int64_t> found{-1, 0};
  for (const LazyTileRef& input : tile.inputs) {
    auto behind = largestMemory(*input);
    if (behind.first >= 0 && behind.second > found.second) found = behind;
  }
  return found;
}

int contiguousAxis(const LazyTile& tile) { return largestMemory(tile).first; }

static Value elementAddress(KernelEmitter& e, const LazyTile& t, Value r, Value c) {
  Value offset = e.index(0);
  if (t.panelWidth > 0) {
    Value along = t.unitAxis == 1 ? c : r, across = t.unitAxis == 1 ? r : c, width = e.index(t.panelWidth);
    Value inPanel = e.add(e.mul(across, t.panelWidth), e.rem(along, width));
    return e.element(t.base, memoryType(t.element), e.add(e.mul(e.div(along, width), t.panelStride), inPanel));
  }
  if (t.rows > 1) offset = e.add(offset, e.mul(r, t.rowStride));
  if (t.cols > 1) offset = e.add(offset, e.mul(c, t.colStride));
  return e.element(t.base, memoryType(t.element), offset);
}

static Value evaluateMemory(KernelEmitter& e, VectorEmitter& v, const LazyTile& t, Value r, Value c, int axis,
                            Value mask) {
  Value address = elementAddress(e, t, r, c);
  Type memory = memoryType(t.element);
  if (t.bound(axis) == 1) return v.splat(v.decode(e.load(address, memory), t.element));
  VectorType type = v.vectorOf(memory);
  if (t.unitAxis != axis)
    return v.decode(e.gather(address, axis == 0 ? t.rowStride : t.colStride, type, mask), t.element);
  return v.decode(mask ? e.loadMasked(address, type, mask) : e.load(address, type), t.element);
}

static Value evaluateIota(KernelEmitter& e, VectorEmitter& v, const LazyTile& t, Value r, Value c, int axis) {
  Type integer = registerType(t.element);
  Value first = e.add(t.scalar, t.axis == 0 ? r : c);
  Value start = v.splat(arith::IndexCastOp::create(e.builder(), e.loc(), integer, first));
  if (t.axis != axis) return start;
  return arith::AddIOp::create(e.builder(), e.loc(), start, v.laneNumbers(integer));
}

Value evaluate(KernelEmitter& e, VectorEmitter& v, const LazyTile& t, Value r, Value c, int axis, Value mask) {
  switch (t.kind) {
  case LazyTile::Kind::Memory:
    return evaluateMemory(e, v, t, r, c, axis, mask);
  case LazyTile::Kind::Splat:
    return v.splat(t.scalar);
  case LazyTile::Kind::Iota:
    return evaluateIota(e, v, t, r, c, axis);
  case LazyTile::Kind::Map:
    break;
  }
  SmallVector<Value> operands;
  SmallVector<Type> elements;
  for (const LazyTileRef& input : t.inputs) {
    operands.push_back(evaluate(e, v, *input, r, c, axis, mask));
    elements.push_back(input->element);
  }
  return emitMap(v, t.function, operands, elements, t.element);
}

void prefetch(KernelEmitter& e, const LazyTile& t, Value r, Value c) {
  bool spread = t.rows > 1 && t.cols > 1; // a row or a column that repeats is in the cache already
  if (t.kind == LazyTile::Kind::Memory && spread && !t.inScratch()) e.prefetch(elementAddress(e, t, r, c));
  for (const LazyTileRef& input : t.inputs) prefetch(e, *input, r, c);
}

void storeLanes(KernelEmitter& e, VectorEmitter& v, Value lanes, const LazyTile& w, Value r, Value c, int axis,
                Value mask) {
  Value encoded = v.encode(lanes, w.element);
  Value address = elementAddress(e, w, r, c);
  if (w.unitAxis != axis) return e.scatter(encoded, address, axis == 0 ? w.rowStride : w.colStride, mask);
  if (mask) return e.storeMasked(encoded, address, mask);
  e.store(encoded, address);
}

void forEachVector(KernelEmitter& e, VectorEmitter& v, Value rows, Value cols, int axis,
                   llvm::function_ref<void(Value, Value, Value)> body) {
  Value across = axis == 0 ? cols : rows, along = axis == 0 ? rows : cols;
  Value whole = e.mul(e.div(along, e.index(v.lanes)), v.lanes);
  Value rest = e.sub(along, whole);
  Value mask = e.firstLanes(rest, v.lanes);
  e.loop(e.index(0), across, 1, [&](Value i) {
    e.loop(e.index(0), whole, v.lanes, [&](Value j) { axis == 0 ? body(j, i, Value()) : body(i, j, Value()); });
    e.branch(e.less(e.index(0), rest), [&] { axis == 0 ? body(whole, i, mask) : body(i, whole, mask); });
  });
}

} // namespace tegula::tile
