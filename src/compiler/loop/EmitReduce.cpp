// Reductions: which are ready where, and the loops that fold them.
#include "compiler/codegen/Mlir.h"

#include "compiler/loop/LoopEmitter.h"

namespace tegula::loop {

using namespace mlir;
using V = LoopEmitter::V;
using Vs = LoopEmitter::Vs;

void LoopEmitter::collectReady(int value, SmallVectorImpl<int>& ready) {
  if (known(value)) return;
  const Instruction& i = k_.body[static_cast<size_t>(value)];
  if (i.kind == Instruction::Kind::Reduce && (i.axes & ~bound_) == 0 && !llvm::is_contained(ready, value))
    ready.push_back(value);
  for (int input : i.inputs) collectReady(input, ready);
  if (i.kind == Instruction::Kind::Load)
    for (int s : k_.operands[static_cast<size_t>(i.operand)].subscripts) collectReady(s, ready);
}

void LoopEmitter::hoist(int value) {
  if (known(value)) return;
  const Instruction& i = k_.body[static_cast<size_t>(value)];
  bool isFold = i.kind == Instruction::Kind::Reduce || i.kind == Instruction::Kind::Scan;
  if ((i.axes & ~bound_) == 0 && !isFold) {
    eval(value);
    return;
  }
  for (int input : i.inputs) hoist(input);
  if (i.kind == Instruction::Kind::Load)
    for (int s : k_.operands[static_cast<size_t>(i.operand)].subscripts) hoist(s);
}

void LoopEmitter::prepare(ArrayRef<int> targets) {
  while (true) {
    SmallVector<int> ready;
    for (int t : targets) collectReady(t, ready);
    if (ready.empty()) break;
    auto level = [&](int v) { return k_.body[static_cast<size_t>(v)].level; };
    auto wide = [&](int v) { return isWide(k_.body[static_cast<size_t>(v)].axes); };
    int first = *llvm::min_element(ready, [&](int a, int c) { return level(a) < level(c); });
    AxisSet folded = k_.body[static_cast<size_t>(first)].folded;
    SmallVector<int> together;
    for (int v : ready)
      if (level(v) == level(first) && k_.body[static_cast<size_t>(v)].folded == folded && wide(v) == wide(first))
        together.push_back(v);
    llvm::sort(together);
    emitReductions(together);
  }
  for (int t : targets) hoist(t);
}

SmallVector<int> LoopEmitter::inputsOf(ArrayRef<int> values) const {
  SmallVector<int> inputs;
  for (int v : values) inputs.push_back(k_.body[static_cast<size_t>(v)].inputs[0]);
  return inputs;
}

void LoopEmitter::emitReductions(ArrayRef<int> values) {
  SmallVector<int> axes = axesOf(k_.body[static_cast<size_t>(values[0])].folded);
  Vs results = reduceOver(axes, values);
  for (auto [value, result] : llvm::zip(values, results)) known_.back()[value] = result;
}

Vs LoopEmitter::neutrals(ArrayRef<int> values, int64_t width) {
  Vs result;
  for (int v : values) {
    const Instruction& i = k_.body[static_cast<size_t>(v)];
    std::string_view kind = i.fn.text();
    result.push_back(tile::NeutralOp::create(b_, loc_, tileType(i.dtype, width),
                                             b_.getStringAttr(StringRef(kind.data(), kind.size())),
                                             width > 1 ? extent_ : V{})); // of the parallel tile that is being computed
  }
  return result;
}

V LoopEmitter::accumulate(int value, V acc, V x) {
  std::string_view kind = k_.body[static_cast<size_t>(value)].fn.text();
  return tile::AccumulateOp::create(b_, loc_, acc.getType(), b_.getStringAttr(StringRef(kind.data(), kind.size())), acc,
                                    x);
}

std::pair<V, V> LoopEmitter::rangeOf(int axis) {
  if (axis == k_.splitAxis) return {splitLo_, splitHi_};
  return {index(0), scalar(slots_.extent(axis))};
}

/// One result tile a value, of the width that the parallel axes give. Requires: one width for all.
Vs LoopEmitter::reduceOver(ArrayRef<int> axes, ArrayRef<int> values) {
  SmallVector<int> inputs = inputsOf(values);
  int64_t width = widthOf(k_.body[static_cast<size_t>(values[0])].axes);
  if (axes.empty()) {
    prepare(inputs);
    Vs acc = neutrals(values, width);
    for (size_t i = 0; i < values.size(); ++i) acc[i] = accumulate(values[i], acc[i], eval(inputs[i]));
    return acc;
  }
  int axis = axes[0];
  if (axis == k_.vectorAxis) return reduceAlongVector(values);
  prepare(inputs);
  auto [lo, hi] = rangeOf(axis);
  return blockedLoop(values, lo, hi, 1, width, [&](V at) {
    bind(axis, at);
    return axes.size() == 1 ? inputTiles(values, width) : reduceOver(axes.drop_front(), values);
  });
}

/// What `values` fold, at the place that is bound, as wide as their accumulators.
Vs LoopEmitter::inputTiles(ArrayRef<int> values, int64_t width) {
  SmallVector<int> inputs = inputsOf(values);
  prepare(inputs);
  Vs tiles;
  for (int input : inputs) {
    V x = eval(input);
    tiles.push_back(width > 1 ? widen(x) : x);
  }
  return tiles;
}

/// Folds what `tilesAt` gives at lo, lo + step, …: blocks first, then their results. One long sum of 768 losses would
/// be wrong by several ulp.
Vs LoopEmitter::blockedLoop(ArrayRef<int> values, V lo, V hi, int64_t step, int64_t width,
                            function_ref<Vs(V)> tilesAt) {
  V block = index(step * k_.schedule.blockTiles);
  Vs outerStart = neutrals(values, width);
  auto outer = openFor(lo, hi, block, outerStart);
  Vs innerStart = neutrals(values, width);
  auto inner = openFor(outer.getInductionVar(), min(hi, add(outer.getInductionVar(), block)), index(step), innerStart);
  {
    Scope scope(*this);
    Vs tiles = tilesAt(inner.getInductionVar()), next;
    for (size_t i = 0; i < values.size(); ++i)
      next.push_back(accumulate(values[i], inner.getRegionIterArg(static_cast<unsigned>(i)), tiles[i]));
    scf::YieldOp::create(b_, loc_, next);
  }
  b_.setInsertionPointAfter(inner);
  Vs sums;
  for (size_t i = 0; i < values.size(); ++i)
    sums.push_back(accumulate(values[i], outer.getRegionIterArg(static_cast<unsigned>(i)),
                              inner.getResult(static_cast<unsigned>(i))));
  scf::YieldOp::create(b_, loc_, sums);
  b_.setInsertionPointAfter(outer);
  return Vs(outer.getResults());
}

Vs LoopEmitter::reduceAlongVector(ArrayRef<int> values) {
  prepare(inputsOf(values));
  auto [lo, hi] = rangeOf(k_.vectorAxis);
  int64_t lanes = k_.schedule.lanes, tileWidth = lanes * k_.schedule.vectors;
  V whole = mul(div(sub(hi, lo), index(tileWidth)), index(tileWidth)), middle = add(lo, whole);
  V end = hi; // structured bindings do not go into lambdas by reference everywhere
  Vs main = blockedLoop(values, lo, middle, tileWidth, tileWidth, [&](V at) {
    bind(k_.vectorAxis, at);
    width_ = tileWidth;
    extent_ = {};
    return inputTiles(values, tileWidth);
  });
  Vs rest = blockedLoop(values, middle, end, lanes, lanes, [&](V at) {
    bind(k_.vectorAxis, at);
    width_ = lanes;
    extent_ = min(index(lanes), sub(end, at));
    return inputTiles(values, lanes);
  });
  Vs results;
  for (size_t i = 0; i < values.size(); ++i) {
    const Instruction& in = k_.body[static_cast<size_t>(values[i])];
    std::string_view kind = in.fn.text();
    auto fold = [&](V t) {
      return tile::ReduceOp::create(b_, loc_, tileType(in.dtype, 1),
                                    b_.getStringAttr(StringRef(kind.data(), kind.size())), 1, t)
          .getResult();
    };
    results.push_back(accumulate(values[i], fold(main[i]), fold(rest[i])));
  }
  return results;
}

} // namespace tegula::loop
