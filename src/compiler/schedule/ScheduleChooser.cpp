// The rules by which schedules are chosen.
#include "compiler/schedule/ScheduleChooser.h"

#include <algorithm>
#include <bit>

namespace tegula {

namespace {

double bytesOf(const Target& t, size_t level) { return static_cast<double>(t.caches.at(level).sizeBytes); }
int64_t roundDown(int64_t x, int64_t unit) { return std::max(unit, x / unit * unit); }
int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t roundUp(int64_t x, int64_t unit) { return ceilDiv(x, unit) * unit; }

int64_t elementBytes(const KernelShape& k) { return k.wide ? 8 : 4; } // of what is accumulated
/// Of what is packed.
int64_t packedBytes(const KernelShape& k, const Schedule& s) { return s.dot == DotKind::Bf16Dot ? 2 : elementBytes(k); }

DotKind dotKind(const KernelShape& k, const Target& t) {
  if (!k.hasDot) return DotKind::None;
  bool bf16 = k.left == DType::BF16 && k.right == DType::BF16;
  return bf16 && t.bf16DotIsFast() ? DotKind::Bf16Dot : DotKind::Fma;
}

class RuleScheduleChooser final : public ScheduleChooser {
public:
  Schedule choose(const KernelShape& k, const Target& t) const override {
    Schedule s;
    s.dot = dotKind(k, t);
    int64_t lanes = t.vectorElements(elementBytes(k));
    bool contracts = k.grid.size() == 2 && k.tiles.size() == 1;
    int64_t vectors = contracts ? rightVectors(t) : t.schedule.streamVectors;
    s.registerColumns = vectors * lanes;
    s.registerRows = registerRows(vectors, t);
    s.unroll = t.schedule.unroll;
    if (contracts)
      contraction(s, k, t);
    else
      streaming(s, k, t);
    s.group = group(s, k, t);
    for (const KernelShape::Block& b : k.grid) s.parallel.push_back(b.dimension);
    if (s.dot != DotKind::None) {
      s.pack = {{"left", "rows"}, {"right", s.dot == DotKind::Bf16Dot ? "paired_panels" : "panels"}};
      s.stage = {{"panel", "L1"}, {"left", "L2"}, {"accumulator", "scratch"}};
    }
    return s;
  }

  std::vector<int64_t> blocks(const KernelShape& k, const Schedule& s, const BlockRequest& r,
                              const Target& t) const override {
    std::vector<int64_t> sizes;
    for (const KernelShape::Block& b : k.grid) sizes.push_back(s.tile(b.tunable));
    if (s.pattern != Symbol("contraction")) return sizes;
    int64_t units[2] = {s.registerRows, s.registerColumns};
    for (int d = 0; d < 2; ++d) sizes[d] = balanced(r.extents[d], sizes[d], units[d]);
    // Smaller blocks of the wider dimension until every thread has work, but not below a few register kernels.
    int64_t wanted = t.threads > 1 ? t.threads * t.schedule.itemsPerThread : 1;
    while (r.batch * ceilDiv(r.extents[0], sizes[0]) * ceilDiv(r.extents[1], sizes[1]) < wanted) {
      int d = sizes[0] > sizes[1] ? 0 : 1;
      if (sizes[d] <= 4 * units[d]) d = 1 - d;
      if (sizes[d] <= 4 * units[d]) break;
      sizes[d] = roundUp(ceilDiv(sizes[d], 2), units[d]);
    }
    return sizes;
  }

  std::string explain(const KernelShape& k, const Schedule& s, const Target& t) const override {
    int64_t bytes = packedBytes(k, s), lanes = t.vectorElements(elementBytes(k));
    std::string out;
    auto line = [&]<typename... A>(fmt::format_string<A...> f, A&&... a) {
      out += fmt::format(f, std::forward<A>(a)...) + "\n";
    };
    if (s.dot != DotKind::None) {
      line("registers: {}x{} = {} accumulators + {} operands + {} temporaries, of {}", s.registerRows,
           s.registerColumns, s.registerRows * s.registerColumns / lanes, s.registerColumns / lanes,
           t.schedule.registerTemporaries, t.vectorRegisters);
      line("dot: {}", s.dot == DotKind::Bf16Dot ? "bf16 pairs, measured faster than f32"
                      : k.left == DType::BF16 && k.right == DType::BF16
                          ? "fma on f32 panels, because the bf16 dot is absent or not measured faster"
                          : "fma");
    }
    if (s.pattern == Symbol("contraction")) {
      int64_t depth = s.tile(k.tiles[0].tunable), rows = s.tile(k.grid[0].tunable), cols = s.tile(k.grid[1].tunable);
      line("L1: a panel of {} x {} takes {} of {} bytes", depth, s.registerColumns, depth * s.registerColumns * bytes,
           t.caches[0].sizeBytes);
      line("L2: a left block of {} x {} takes {} of {} bytes; the accumulator of {} x {} streams past it", rows, depth,
           rows * depth * bytes, t.caches[1].sizeBytes, rows, cols);
    } else
      line("blocks: {} rows are whole register kernels; the sequential block of {} changes values and is the same "
           "everywhere",
           t.schedule.streamRows, t.schedule.streamColumns);
    return out;
  }

private:
  /// MR rows of accumulators beside NR = `vectors` right operands.
  static int64_t registerRows(int64_t vectors, const Target& t) {
    int64_t accumulators = t.vectorRegisters - vectors - t.schedule.registerTemporaries;
    return std::clamp<int64_t>(accumulators / vectors, 1, t.schedule.registerRows);
  }

  /// The NR, a power of two vectors, that needs the fewest loads for a product: (MR + NR) / (MR * NR). Loads share
  /// their ports and the first cache with whatever else the core runs.
  static int64_t rightVectors(const Target& t) {
    int64_t best = 1;
    auto loads = [&](int64_t v) {
      return static_cast<double>(registerRows(v, t) + v) / static_cast<double>(registerRows(v, t) * v);
    };
    for (int64_t v = 2; v <= t.vectorRegisters / 4; v *= 2)
      if (loads(v) < loads(best)) best = v;
    return best;
  }

  static void contraction(Schedule& s, const KernelShape& k, const Target& t) {
    s.pattern = "contraction";
    s.order = {"item", "depth_block", "panel", "row", "depth"};
    int64_t bytes = packedBytes(k, s);
    constexpr int64_t kDepthUnit = 64; // whole cache lines of every type
    auto depth = static_cast<int64_t>(bytesOf(t, 0) * t.schedule.panelOfL1) / (s.registerColumns * bytes);
    depth = std::min(roundDown(depth, kDepthUnit), t.schedule.blockDepth);
    auto rows = static_cast<int64_t>(bytesOf(t, 1) * t.schedule.leftOfL2) / (depth * bytes);
    rows = roundDown(std::min(rows, t.schedule.blockRows), s.registerRows);
    int64_t cols = roundDown(t.schedule.blockColumns, s.registerColumns);
    s.tiles = {{k.grid[0].tunable, rows}, {k.grid[1].tunable, cols}, {k.tiles[0].tunable, depth}};
  }

  static void streaming(Schedule& s, const KernelShape& k, const Target& t) {
    s.pattern = "streaming";
    s.order = {"item", "stream_block", "panel", "row", "depth"};
    int64_t rows = roundUp(t.schedule.streamRows, s.registerRows);
    for (const KernelShape::Block& b : k.grid) s.tiles.push_back({b.tunable, rows});
    for (const KernelShape::Block& b : k.tiles) s.tiles.push_back({b.tunable, t.schedule.streamColumns});
  }

  /// Panels that are packed together: a power of two, which divides the usual widths.
  static int64_t group(const Schedule& s, const KernelShape& k, const Target& t) {
    int64_t depth = k.pinnedColumns;
    for (const KernelShape::Block& b : k.tiles) depth = std::max(depth, s.tile(b.tunable));
    int64_t panelBytes = std::max<int64_t>(depth, 1) * s.registerColumns * packedBytes(k, s);
    int64_t fit = static_cast<int64_t>(bytesOf(t, 1) * t.schedule.groupOfL2) / panelBytes;
    return static_cast<int64_t>(
        std::bit_floor(static_cast<uint64_t>(std::clamp<int64_t>(fit, 1, t.schedule.groupPanels))));
  }

  /// Equal blocks: no smaller than needed, whole units.
  static int64_t balanced(int64_t extent, int64_t most, int64_t unit) {
    if (extent <= 0) return unit;
    int64_t count = ceilDiv(extent, most);
    return std::min(most, roundUp(ceilDiv(extent, count), unit));
  }
};

} // namespace

std::unique_ptr<ScheduleChooser> ruleScheduleChooser() { return std::make_unique<RuleScheduleChooser>(); }

} // namespace tegula
