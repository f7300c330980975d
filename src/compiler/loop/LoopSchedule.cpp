// Collapsing axes and choosing how a loop kernel is run.
#include "compiler/loop/LoopSchedule.h"

#include <algorithm>
#include <bit>

namespace tegula::loop {
namespace {

/// True if axes a (outer) and b (inner) may become one.
bool mergeable(const LoopProblem& p, int a, int b) {
  const LoopKernel& k = p.kernel;
  int64_t extent = std::max<int64_t>(p.at.extents[static_cast<size_t>(b)], 1);
  for (size_t o = 0; o < k.operands.size(); ++o) {
    int64_t outer = p.at.operands[o].strides[static_cast<size_t>(a)],
            inner = p.at.operands[o].strides[static_cast<size_t>(b)];
    if ((outer == 0) != (inner == 0) || outer != inner * extent) return false;
  }
  for (const Instruction& i : k.body) {
    auto has = [](AxisSet set, int axis) { return (set & axisBit(axis)) != 0; };
    if (has(i.folded, a) != has(i.folded, b) || has(i.axes, a) != has(i.axes, b)) return false;
    if (i.kind == Instruction::Kind::Scan && (has(i.folded, a) || has(i.folded, b))) return false;
  }
  return true;
}

AxisSet withoutBit(AxisSet set, int axis) {
  AxisSet low = set & (axisBit(axis) - 1), high = set >> (axis + 1);
  return low | (high << axis);
}

/// Folds axis b into a.
void merge(LoopProblem& p, int a, int b) {
  LoopKernel& k = p.kernel;
  auto at = static_cast<size_t>(b);
  p.at.extents[static_cast<size_t>(a)] *= p.at.extents[at];
  p.at.extents.erase(p.at.extents.begin() + b);
  for (size_t o = 0; o < k.operands.size(); ++o) {
    auto& strides = p.at.operands[o].strides;
    strides[static_cast<size_t>(a)] = strides[at];
    strides.erase(strides.begin() + b);
    auto& classes = k.operands[o].strides;
    classes[static_cast<size_t>(a)] = classes[at];
    classes.erase(classes.begin() + b);
  }
  for (Instruction& i : k.body) {
    i.folded = withoutBit(i.folded, b);
    i.axes = withoutBit(i.axes, b);
  }
  --k.axes;
}

bool isHeavy(const Instruction& i) {
  static const Symbol heavy[] = {"exp", "log", "sin", "cos", "tanh", "erf", "pow", "remainder", "random_uniform"};
  return i.kind == Instruction::Kind::Map && std::find(std::begin(heavy), std::end(heavy), i.fn) != std::end(heavy);
}

/// Cost of one step along an axis; negative: impossible as vector axis.
int64_t vectorCost(const LoopKernel& k, int axis) {
  constexpr int64_t kUnit = 1, kGather = 8, kScatter = 12; // rough cycles a vector of 8; only their order matters
  int64_t cost = 0;
  for (const Operand& o : k.operands) {
    StrideClass c = o.strides[static_cast<size_t>(axis)];
    int varying = 0;
    for (int v : o.subscripts) varying += (k.body[static_cast<size_t>(v)].axes & axisBit(axis)) != 0;
    if (varying > 1 || (varying == 1 && o.role == Operand::Role::Output)) return -1;
    if (o.role == Operand::Role::Number) continue;
    if (varying)
      cost += kGather;
    else if (c == StrideClass::Strided)
      cost += o.role == Operand::Role::Output ? kScatter : kGather;
    else if (c == StrideClass::Unit)
      cost += kUnit;
  }
  return cost;
}

} // namespace

int fastestAxis(const LoopKernel& k) {
  AxisSet items = k.itemAxes(), scanned = 0, forbidden = 0;
  for (const Instruction& i : k.body)
    if (i.kind == Instruction::Kind::Scan) scanned |= i.folded;
  for (const Store& s : k.stores)
    if (s.accumulate) forbidden |= ~k.operands[static_cast<size_t>(s.operand)].axes(); // adding lanes to one place
  int best = -1;
  int64_t bestCost = 0;
  for (int axis = 0; axis < k.axes; ++axis) {
    if ((scanned | forbidden) & axisBit(axis)) continue;
    bool parallel = (items & axisBit(axis)) != 0, folded = (k.sequentialAxes() & axisBit(axis)) != 0;
    if (!parallel && !folded && !k.stores.empty() && scanned) continue;
    int64_t cost = vectorCost(k, axis);
    if (cost < 0) continue;
    cost = cost * 2 + (parallel ? 0 : 1);
    if (best < 0 || cost <= bestCost) { // <=: the inner one of equals
      best = axis;
      bestCost = cost;
    }
  }
  return best;
}

namespace {

int chooseLanes(const LoopKernel& k, const Target& target) {
  constexpr int64_t kUsualBytes = 4, kWideBytes = 8;
  bool allWide = true;
  for (const Instruction& i : k.body)
    if (i.kind != Instruction::Kind::Constant && i.dtype != DType::Bool) allWide &= sizeBytes(i.dtype) == kWideBytes;
  for (const Operand& o : k.operands) allWide &= sizeBytes(o.dtype) == kWideBytes;
  return static_cast<int>(target.vectorElements(allWide ? kWideBytes : kUsualBytes));
}

int chooseVectors(const LoopKernel& k, const Target& target) {
  int64_t live = 0;
  bool heavy = false;
  for (const Instruction& i : k.body) {
    live += i.kind == Instruction::Kind::Load || i.kind == Instruction::Kind::Reduce;
    heavy |= isHeavy(i);
  }
  const ScheduleParameters& rules = target.schedule;
  auto room = static_cast<int64_t>(target.vectorRegisters * rules.loopRegisters);
  int64_t fit = std::max<int64_t>(1, room / std::max<int64_t>(live, 1));
  int64_t vectors = std::min(heavy ? rules.loopHeavyVectors : rules.loopVectors, fit);
  return static_cast<int>(std::bit_floor(static_cast<uint64_t>(vectors)));
}

} // namespace

std::vector<std::pair<int, int>> collapseAxes(LoopProblem& p) {
  std::vector<std::pair<int, int>> merges;
  for (int a = 0; a < p.kernel.axes; ++a)
    for (int b = 0; b < p.kernel.axes; ++b) {
      if (a == b || !mergeable(p, a, b)) continue;
      merge(p, a, b);
      merges.push_back({a, b});
      a = -1; // start over: the merged axis may merge again
      break;
    }
  return merges;
}

void chooseSchedule(LoopProblem& p, const Target& target) {
  LoopKernel& k = p.kernel;
  k.vectorAxis = fastestAxis(k);
  for (Operand& o : k.operands)
    for (int a = 0; a < k.axes; ++a)
      if (a != k.vectorAxis && o.strides[static_cast<size_t>(a)] == StrideClass::Unit)
        o.strides[static_cast<size_t>(a)] = StrideClass::Strided;
  bool reduces = false, scans = false, scatters = false;
  for (const Instruction& i : k.body) {
    reduces |= i.kind == Instruction::Kind::Reduce;
    scans |= i.kind == Instruction::Kind::Scan;
  }
  for (const Store& s : k.stores) scatters |= s.accumulate;
  bool vectorIsItem = k.vectorAxis >= 0 && (k.itemAxes() & axisBit(k.vectorAxis));
  if (k.kind != Template::Split)
    k.kind = scatters       ? Template::Scatter
             : scans        ? Template::Scan
             : !reduces     ? Template::Elementwise
             : vectorIsItem ? Template::Column
                            : Template::Row;
  k.schedule.lanes = chooseLanes(k, target);
  k.schedule.vectors = k.vectorAxis < 0 ? 1 : chooseVectors(k, target);
}

int64_t grainPoints(const LoopKernel& k, const Target& target) {
  int64_t cache = target.caches.front().sizeBytes, bytes = 1;
  for (const Operand& o : k.operands)
    if (o.role != Operand::Role::Number) bytes += sizeBytes(o.dtype);
  return std::max<int64_t>(cache / bytes, 1);
}

} // namespace tegula::loop
