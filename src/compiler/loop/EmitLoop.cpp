// The loop nest of a kernel: work items, rows, tiles along the vector axis, stores.
#include "compiler/codegen/Mlir.h"

#include "compiler/loop/LoopEmitter.h"

namespace tegula::loop {

using namespace mlir;
using V = LoopEmitter::V;

namespace {

SmallVector<int> valuesOf(const LoopKernel& k, ArrayRef<Store> stores) {
  SmallVector<int> values;
  for (const Store& s : stores) {
    values.push_back(s.value);
    llvm::append_range(values, k.operands[static_cast<size_t>(s.operand)].subscripts);
  }
  return values;
}

} // namespace

void LoopEmitter::run(ModuleOp module, std::string_view entry) {
  auto kernel = tile::beginKernel(b_, module, StringRef(entry.data(), entry.size()), k_.schedule.lanes);
  entry_ = &kernel.function.getBody().front();
  emitItem(kernel.item);
}

void LoopEmitter::emitItem(V item) {
  Scope scope(*this);
  item_ = item;
  if (k_.splitAxis >= 0) {
    V chunk = scalar(slots_.chunk());
    splitLo_ = mul(item, chunk);
    splitHi_ = min(add(splitLo_, chunk), scalar(slots_.extent(k_.splitAxis)));
    return emitPoint();
  }
  bool vectorIsItem = k_.vectorAxis >= 0 && (k_.itemAxes() & axisBit(k_.vectorAxis));
  if (!vectorIsItem) return emitRows(item, [&] { emitPoint(); });
  V chunks = scalar(slots_.chunks()), chunk = scalar(slots_.chunk());
  V lo = mul(rem(item, chunks), chunk), hi = min(add(lo, chunk), scalar(slots_.extent(k_.vectorAxis)));
  emitRows(div(item, chunks), [&] { forTiles(lo, hi, [&] { emitPoint(); }); });
}

void LoopEmitter::emitRows(V rowBlock, function_ref<void()> body) {
  SmallVector<int> targets = valuesOf(k_, k_.stores);
  SmallVector<int> axes;
  for (int a : axesOf(k_.itemAxes()))
    if (a != k_.vectorAxis) axes.push_back(a);
  if (k_.kind != Template::Scan) prepare(targets);
  if (axes.empty()) return body();
  V perItem = scalar(slots_.rowsPerItem()), first = mul(rowBlock, perItem);
  auto rows = openFor(first, min(add(first, perItem), scalar(slots_.rows())), index(1));
  {
    Scope scope(*this);
    V rest = rows.getInductionVar();
    for (int a : llvm::reverse(axes)) {
      V extent = scalar(slots_.extent(a));
      bool outermost = a == axes.front();
      bind(a, outermost ? rest : rem(rest, extent));
      if (!outermost) rest = div(rest, extent);
    }
    if (k_.kind != Template::Scan) prepare(targets);
    body();
  }
  b_.setInsertionPointAfter(rows);
}

void LoopEmitter::forTiles(V lo, V hi, function_ref<void()> body) {
  int64_t lanes = k_.schedule.lanes, tileWidth = lanes * k_.schedule.vectors;
  V whole = mul(div(sub(hi, lo), index(tileWidth)), index(tileWidth)), middle = add(lo, whole);
  auto main = openFor(lo, middle, index(tileWidth));
  {
    Scope scope(*this);
    bind(k_.vectorAxis, main.getInductionVar());
    width_ = tileWidth;
    extent_ = {};
    body();
  }
  b_.setInsertionPointAfter(main);
  auto rest = openFor(middle, hi, index(lanes));
  {
    Scope scope(*this);
    bind(k_.vectorAxis, rest.getInductionVar());
    width_ = lanes;
    extent_ = min(index(lanes), sub(hi, rest.getInductionVar()));
    body();
  }
  b_.setInsertionPointAfter(rest);
}

void LoopEmitter::emitPoint() {
  if (k_.kind == Template::Scan) return emitScan();
  prepare(valuesOf(k_, k_.stores));
  // Stores of this point first (everything they need is in registers), then those that need further loops.
  SmallVector<AxisSet> sets;
  for (const Store& s : k_.stores)
    if (AxisSet extra = k_.storeAxes(s) & ~bound_; !llvm::is_contained(sets, extra)) sets.push_back(extra);
  llvm::sort(sets);
  for (AxisSet set : sets) {
    SmallVector<Store> stores;
    for (const Store& s : k_.stores)
      if ((k_.storeAxes(s) & ~bound_) == set) stores.push_back(s);
    emitStores(axesOf(set), stores);
  }
}

void LoopEmitter::emitStores(ArrayRef<int> axes, ArrayRef<Store> stores) {
  if (axes.empty()) return emitStoreLeaf(stores);
  SmallVector<int> targets = valuesOf(k_, stores);
  auto [lo, hi] = rangeOf(axes[0]);
  if (axes[0] == k_.vectorAxis) {
    forTiles(lo, hi, [&] {
      prepare(targets);
      emitStoreLeaf(stores);
    });
    return;
  }
  auto loop = openFor(lo, hi, index(1));
  {
    Scope scope(*this);
    bind(axes[0], loop.getInductionVar());
    prepare(targets);
    emitStores(axes.drop_front(), stores);
  }
  b_.setInsertionPointAfter(loop);
}

void LoopEmitter::emitStoreLeaf(ArrayRef<Store> stores) {
  SmallVector<V> tiles;
  for (const Store& s : stores) tiles.push_back(eval(s.value));
  for (auto [s, tileValue] : llvm::zip(stores, tiles)) {
    if (s.accumulate)
      emitAccumulate(s);
    else
      store(s.operand, tileValue, place(s.operand));
  }
}

void LoopEmitter::emitAccumulate(const Store& s) {
  const Operand& o = k_.operands[static_cast<size_t>(s.operand)];
  Place p = place(s.operand);
  V addend = eval(s.value);
  OpBuilder::InsertionGuard guard(b_);
  if (p.guard) b_.setInsertionPointToStart(scf::IfOp::create(b_, loc_, p.guard, /*withElseRegion=*/false).thenBlock());
  bool moves = isWide(o.axes());
  int64_t width = moves ? width_ : 1;
  V at = moves ? at_[static_cast<size_t>(k_.vectorAxis)] : index(0), window = view(s.operand, p.offset);
  V old = tile::LoadOp::create(b_, loc_, tileType(o.dtype, width), window, index(0), at, V{}, moves ? extent_ : V{},
                               V{}, FloatAttr{});
  tile::StoreOp::create(b_, loc_, map("add", {old, addend}, o.dtype, width), window, index(0), at);
}

/// All scans of a kernel run along one axis, in one loop that also stores.
void LoopEmitter::emitScan() {
  SmallVector<int> scans;
  for (size_t v = 0; v < k_.body.size(); ++v)
    if (k_.body[v].kind == Instruction::Kind::Scan) scans.push_back(static_cast<int>(v));
  int axis = axesOf(k_.body[static_cast<size_t>(scans[0])].folded)[0];
  auto [lo, hi] = rangeOf(axis);
  int64_t width = k_.vectorAxis >= 0 ? width_ : 1;
  auto loop = openFor(lo, hi, index(1), neutrals(scans, width));
  {
    Scope scope(*this);
    bind(axis, loop.getInductionVar());
    SmallVector<V> next;
    for (auto [i, value] : llvm::enumerate(scans)) {
      V x = eval(k_.body[static_cast<size_t>(value)].inputs[0]);
      next.push_back(accumulate(value, loop.getRegionIterArg(static_cast<unsigned>(i)), width > 1 ? widen(x) : x));
      known_.back()[value] = next.back();
    }
    emitStoreLeaf(k_.stores);
    scf::YieldOp::create(b_, loc_, next);
  }
  b_.setInsertionPointAfter(loop);
}

void emitLoop(const LoopKernel& kernel, ModuleOp module, std::string_view entry) {
  OpBuilder builder(module.getContext());
  LoopEmitter(kernel, builder, module.getLoc()).run(module, entry);
}

} // namespace tegula::loop
