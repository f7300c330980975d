// Scalars and work items of a loop kernel at given extents.
#include "compiler/loop/Dispatch.h"

#include "compiler/loop/LoopSchedule.h"
#include <algorithm>

namespace tegula::loop {

ScalarSlots::ScalarSlots(const LoopKernel& k) : axes_(k.axes), count_(k.axes + 4 + k.parameters) {
  for (const Operand& o : k.operands) {
    OperandSlots slots{count_++, std::vector<int>(o.strides.size(), -1), 0};
    for (size_t a = 0; a < o.strides.size(); ++a)
      if (o.strides[a] == StrideClass::Strided) slots.strides[a] = count_++;
    slots.subscripts = count_;
    count_ += 2 * static_cast<int>(o.subscripts.size());
    operands_.push_back(std::move(slots));
  }
}

namespace {

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

int64_t points(const LoopProblem& p, AxisSet set) {
  int64_t n = 1;
  for (int a = 0; a < p.kernel.axes; ++a)
    if (set & axisBit(a)) n *= p.at.extents[static_cast<size_t>(a)];
  return n;
}

struct Items {
  int64_t rows = 1, rowsPerItem = 1, chunk = 1, chunks = 1;
  int64_t count() const { return ceilDiv(rows, rowsPerItem) * chunks; }
};

Items divide(const LoopProblem& p, const Target& target) {
  const LoopKernel& k = p.kernel;
  Items items;
  if (k.splitAxis >= 0) {
    items.chunk = splitChunk(p);
    items.chunks = ceilDiv(p.at.extents[static_cast<size_t>(k.splitAxis)], items.chunk);
    return items;
  }
  AxisSet own = k.itemAxes(), vector = k.vectorAxis >= 0 ? axisBit(k.vectorAxis) & own : 0;
  AxisSet others = (axisBit(k.axes) - 1) & ~own;
  items.rows = points(p, own & ~vector);
  int64_t inner = std::max<int64_t>(points(p, others), 1), grain = std::max<int64_t>(grainPoints(k, target) / inner, 1);
  if (!vector) {
    items.rowsPerItem = grain;
    return items;
  }
  int64_t extent = p.at.extents[static_cast<size_t>(k.vectorAxis)], tile = k.schedule.lanes * k.schedule.vectors;
  items.chunk = ceilDiv(std::min(std::max(extent, int64_t{1}), grain), tile) * tile;
  items.chunks = ceilDiv(extent, items.chunk);
  items.rowsPerItem = std::max<int64_t>(grain / items.chunk, 1);
  return items;
}

} // namespace

int64_t splitChunk(const LoopProblem& p) {
  constexpr int64_t kChunkPoints =
      16384; // value-changing; sums of 64 KiB of f32: long enough to hide a dispatch's overhead
  AxisSet inner = p.kernel.sequentialAxes() & ~axisBit(p.kernel.splitAxis);
  return std::max<int64_t>(kChunkPoints / std::max<int64_t>(points(p, inner), 1), 1);
}

GroupDispatch makeDispatch(const LoopProblem& p, const Target& target) {
  const LoopKernel& k = p.kernel;
  auto source = std::make_shared<LoopSource>();
  source->kernel = k;
  source->name = shortName(k);
  source->key = fmt::format("target {}\n{}\n{}", target.name, scheduleText(k), patternText(k));
  GroupDispatch dispatch;
  dispatch.kernel = std::move(source);
  Items items = divide(p, target);
  dispatch.items = items.count();
  dispatch.scalars = p.at.extents;
  for (int64_t s : {items.rows, items.rowsPerItem, items.chunk, items.chunks}) dispatch.scalars.push_back(s);
  for (int64_t s : p.at.parameters) dispatch.scalars.push_back(s);
  for (size_t o = 0; o < k.operands.size(); ++o) {
    const OperandInstance& at = p.at.operands[o];
    dispatch.scalars.push_back(at.offset);
    for (size_t a = 0; a < at.strides.size(); ++a)
      if (k.operands[o].strides[a] == StrideClass::Strided) dispatch.scalars.push_back(at.strides[a]);
    for (const auto& s : at.subscripts) {
      dispatch.scalars.push_back(s.stride);
      dispatch.scalars.push_back(s.extent);
    }
    if (k.operands[o].role == Operand::Role::Number) continue;
    dispatch.bindings.push_back(at.ref);
    dispatch.bytes += static_cast<double>(points(p, k.operands[o].axes()) * sizeBytes(k.operands[o].dtype));
  }
  for (const Instruction& i : k.body)
    if (i.kind == Instruction::Kind::Map || i.kind == Instruction::Kind::Reduce)
      dispatch.flops += static_cast<double>(points(p, i.axes | i.folded));
  return dispatch;
}

} // namespace tegula::loop
