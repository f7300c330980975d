// The rules by which schedules are chosen.
#include "compiler/schedule/ScheduleChooser.h"

#include <algorithm>

namespace tegula {

namespace {

// A processor whose caches are unknown is taken to have these.
constexpr int64_t kAssumedL1Bytes = 32 << 10, kAssumedL2Bytes = 256 << 10;
constexpr int64_t kTemporaries = 2;     // the broadcast left operand, and one to overlap it
constexpr int64_t kStreamVectors = 2;   // NR in vectors of streaming kernels: their right operands may be narrow
constexpr int64_t kMostRows = 12;       // 12 x 2 hide the latency of the dot; more rows only make ragged ends dearer
constexpr int64_t kStreamRows = 96;     // query block of streaming kernels, rounded to register kernels
constexpr int64_t kStreamColumns = 64;  // key block of streaming kernels: value-changing, so a constant
constexpr int64_t kMostDepth = 128;     // beyond it the accumulators' traffic is negligible already (3%)
constexpr int64_t kMostBlockRows = 512; // beyond it packing a panel is negligible beside using it (3%)
constexpr int64_t kItemsPerThread = 2;  // enough for balance, few enough that packing is not repeated much
constexpr int64_t kMostColumns = 1024;  // of a block: the left block is packed once for all of them

int64_t cacheBytes(const Target& t, size_t level, int64_t assumed) {
  return level < t.caches.size() && t.caches[level].sizeBytes > 0 ? t.caches[level].sizeBytes : assumed;
}
int64_t roundDown(int64_t x, int64_t unit) { return std::max(unit, x / unit * unit); }
int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t roundUp(int64_t x, int64_t unit) { return ceilDiv(x, unit) * unit; }

bool isDouble(const KernelShape& k) { return k.left == DType::F64 || k.right == DType::F64; }
int64_t elementBytes(const KernelShape& k) { return isDouble(k) ? 8 : 4; }

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
    int64_t vectors = contracts ? rightVectors(t) : kStreamVectors;
    s.registerColumns = vectors * lanes;
    s.registerRows = registerRows(vectors, t);
    if (contracts)
      contraction(s, k, t);
    else
      streaming(s, k);
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
    int64_t wanted = t.threads > 1 ? t.threads * kItemsPerThread : 1;
    while (r.batch * ceilDiv(r.extents[0], sizes[0]) * ceilDiv(r.extents[1], sizes[1]) < wanted) {
      int d = sizes[0] > sizes[1] ? 0 : 1;
      if (sizes[d] <= 4 * units[d]) d = 1 - d;
      if (sizes[d] <= 4 * units[d]) break;
      sizes[d] = roundUp(ceilDiv(sizes[d], 2), units[d]);
    }
    return sizes;
  }

  std::string explain(const KernelShape& k, const Schedule& s, const Target& t) const override {
    int64_t bytes = elementBytes(k), lanes = t.vectorElements(bytes);
    std::string out;
    auto line = [&]<typename... A>(fmt::format_string<A...> f, A&&... a) {
      out += fmt::format(f, std::forward<A>(a)...) + "\n";
    };
    if (s.dot != DotKind::None) {
      line("registers: {}x{} = {} accumulators + {} operands + {} temporaries, of {}", s.registerRows,
           s.registerColumns, s.registerRows * s.registerColumns / lanes, s.registerColumns / lanes, kTemporaries,
           t.vectorRegisters);
      line("dot: {}", s.dot == DotKind::Bf16Dot ? "bf16 pairs, measured faster than f32"
                      : k.left == DType::BF16
                          ? "fma on f32 panels, because the bf16 dot is absent or not measured faster"
                          : "fma");
    }
    if (s.pattern == Symbol("contraction")) {
      int64_t depth = s.tile(k.tiles[0].tunable), rows = s.tile(k.grid[0].tunable), cols = s.tile(k.grid[1].tunable);
      line("L1: a panel of {} x {} takes {} of {} bytes", depth, s.registerColumns, depth * s.registerColumns * bytes,
           cacheBytes(t, 0, kAssumedL1Bytes));
      line("L2: a left block of {} x {} takes {} of {} bytes; the accumulator of {} x {} streams past it", rows, depth,
           rows * depth * bytes, cacheBytes(t, 1, kAssumedL2Bytes), rows, cols);
    } else
      line("blocks: {} rows are whole register kernels; the sequential block of {} changes values and is the same "
           "everywhere",
           kStreamRows, kStreamColumns);
    return out;
  }

private:
  /// MR rows of accumulators beside NR = `vectors` right operands.
  static int64_t registerRows(int64_t vectors, const Target& t) {
    return std::clamp<int64_t>((t.vectorRegisters - vectors - kTemporaries) / vectors, 1, kMostRows);
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
    int64_t bytes = elementBytes(k);
    int64_t depth = cacheBytes(t, 0, kAssumedL1Bytes) * 2 / 3 / (s.registerColumns * bytes);
    depth = std::clamp<int64_t>(depth / 64 * 64, 64, kMostDepth);
    int64_t l2 = cacheBytes(t, 1, kAssumedL2Bytes);
    // A quarter for the left block; panels and the accumulator pass through the rest.
    int64_t rows = std::clamp(l2 / 4 / (depth * bytes), s.registerRows, kMostBlockRows);
    rows = roundUp(rows, s.registerRows);
    int64_t cols = roundDown(kMostColumns, s.registerColumns);
    s.tiles = {{k.grid[0].tunable, rows}, {k.grid[1].tunable, cols}, {k.tiles[0].tunable, depth}};
  }

  static void streaming(Schedule& s, const KernelShape& k) {
    s.pattern = "streaming";
    s.order = {"item", "stream_block", "panel", "row", "depth"};
    int64_t rows = roundUp(kStreamRows, s.registerRows);
    for (const KernelShape::Block& b : k.grid) s.tiles.push_back({b.tunable, rows});
    for (const KernelShape::Block& b : k.tiles) s.tiles.push_back({b.tunable, kStreamColumns});
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
