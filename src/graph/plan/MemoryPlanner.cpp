// Best-fit offset packing. Source of the heuristic: Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net
// Inference" (2020), greedy by size.
#include "graph/plan/MemoryPlanner.h"
#include <algorithm>
#include <numeric>

namespace tegula {

namespace {

int64_t aligned(int64_t bytes) { return (bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment; }

bool liveTogether(const Lifetime& a, const Lifetime& b) { return a.first <= b.last && b.first <= a.last; }

/// Values already placed, found by the steps they live in: every step has a bucket of long stretches it belongs to.
class PlacedIndex {
public:
  explicit PlacedIndex(std::span<const Lifetime> all) : all_(all) {
    int32_t steps = 1;
    for (const Lifetime& l : all) steps = std::max(steps, l.last + 1);
    while ((1 << levels_) < steps) ++levels_;
    buckets_.resize(size_t{2} << levels_);
  }
  /// Puts i into the O(log) nodes of the segment tree that cover its lifetime.
  void insert(int32_t i) { cover(1, 0, (1 << levels_) - 1, i); }
  /// Calls f for every placed value alive together with `l`, possibly more than once.
  template <typename F> void visit(const Lifetime& l, F&& f) const { walk(1, 0, (1 << levels_) - 1, l, f); }

private:
  struct Bucket {
    std::vector<int32_t> covering, below; // values that cover the node's whole range; values put in nodes under it
  };
  void cover(size_t node, int32_t low, int32_t high, int32_t i) {
    const Lifetime& l = all_[i];
    if (l.last < low || high < l.first) return;
    if (l.first <= low && high <= l.last) {
      buckets_[node].covering.push_back(i);
      return;
    }
    buckets_[node].below.push_back(i);
    int32_t middle = (low + high) / 2;
    cover(2 * node, low, middle, i);
    cover(2 * node + 1, middle + 1, high, i);
  }
  template <typename F> void walk(size_t node, int32_t low, int32_t high, const Lifetime& l, F& f) const {
    if (l.last < low || high < l.first) return;
    for (int32_t i : buckets_[node].covering) f(i);
    if (l.first <= low && high <= l.last) {
      for (int32_t i : buckets_[node].below) f(i);
      return;
    }
    int32_t middle = (low + high) / 2;
    walk(2 * node, low, middle, l, f);
    walk(2 * node + 1, middle + 1, high, l, f);
  }
  std::span<const Lifetime> all_;
  int levels_ = 0;
  std::vector<Bucket> buckets_;
};

} // namespace

ArenaPlan packArena(std::span<const Lifetime> all) {
  ArenaPlan plan{std::vector<int64_t>(all.size(), 0), 0};
  std::vector<int32_t> order(all.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    if (all[a].sizeBytes != all[b].sizeBytes) return all[a].sizeBytes > all[b].sizeBytes;
    return all[a].first != all[b].first ? all[a].first < all[b].first : a < b;
  });
  PlacedIndex placed(all);
  std::vector<std::pair<int64_t, int64_t>> taken; // [begin, end) of values alive with the one being placed
  for (int32_t i : order) {
    int64_t size = aligned(all[i].sizeBytes);
    if (size == 0) continue;
    taken.clear();
    placed.visit(all[i],
                 [&](int32_t k) { taken.emplace_back(plan.offsets[k], plan.offsets[k] + aligned(all[k].sizeBytes)); });
    std::sort(taken.begin(), taken.end());
    int64_t end = 0, best = -1, bestGap = 0;
    for (auto [from, to] : taken) {
      int64_t gap = from - end;
      if (gap >= size && (best < 0 || gap < bestGap)) {
        best = end;
        bestGap = gap;
      }
      end = std::max(end, to);
    }
    plan.offsets[i] = best >= 0 ? best : end;
    plan.sizeBytes = std::max(plan.sizeBytes, plan.offsets[i] + size);
    placed.insert(i);
  }
  return plan;
}

Status checkArena(std::span<const Lifetime> all, const ArenaPlan& plan) {
  std::vector<int32_t> order;
  for (int32_t i = 0; i < static_cast<int32_t>(all.size()); ++i) {
    if (all[i].sizeBytes == 0) continue;
    if (plan.offsets[i] < 0 || plan.offsets[i] % kArenaAlignment || plan.offsets[i] + all[i].sizeBytes > plan.sizeBytes)
      return internal("arena: value {} at {} with {} bytes is unaligned or outside {} bytes", i, plan.offsets[i],
                      all[i].sizeBytes, plan.sizeBytes);
    order.push_back(i);
  }
  std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return plan.offsets[a] < plan.offsets[b]; });
  for (size_t x = 0; x < order.size(); ++x)
    for (size_t y = x + 1; y < order.size(); ++y) {
      int32_t a = order[x], b = order[y];
      if (plan.offsets[b] >= plan.offsets[a] + all[a].sizeBytes) break;
      if (liveTogether(all[a], all[b]))
        return internal("arena: values {} (steps {}-{}) and {} (steps {}-{}) overlap", a, all[a].first, all[a].last, b,
                        all[b].first, all[b].last);
    }
  return OkStatus();
}

int64_t arenaLowerBound(std::span<const Lifetime> all) {
  int32_t steps = 0;
  for (const Lifetime& l : all) steps = std::max(steps, l.last + 1);
  std::vector<int64_t> change(steps + 1, 0);
  for (const Lifetime& l : all) {
    change[l.first] += aligned(l.sizeBytes);
    change[l.last + 1] -= aligned(l.sizeBytes);
  }
  int64_t live = 0, most = 0;
  for (int64_t c : change) most = std::max(most, live += c);
  return most;
}

} // namespace tegula
