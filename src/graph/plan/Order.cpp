// Levels make merging safe: an edge always leads to a higher level, so launches of one level are independent, and steps
// made of launches of one level each cannot wait for one another in a circle. A launch's level is the earliest
// possible, except for launches that lose nothing by waiting (updates of states, and readers of what those read later
// anyway): those take the latest, where they meet their like.
#include "graph/plan/Order.h"
#include "absl/container/flat_hash_map.h"
#include <algorithm>
#include <queue>

namespace tegula {

namespace {

class Orderer {
public:
  Orderer(const LaunchList& list, const PlacementResult& placed)
      : list_(list), placed_(placed), n_(static_cast<int32_t>(list.launches.size())), consumers_(consumersOf(list)) {
    for (auto [earlier, later] : placed.order) consumers_[earlier].push_back(later);
    for (std::vector<int32_t>& c : consumers_) {
      std::sort(c.begin(), c.end());
      c.erase(std::unique(c.begin(), c.end()), c.end());
    }
  }

  StatusOr<StepOrder> run() {
    if (!findTopologicalOrder()) return internal("plan: the launches wait for one another in a circle");
    findEarliestLevels();
    findSinking();
    for (auto it = topological_.rbegin(); it != topological_.rend(); ++it)
      if (sinks_[*it]) level_[*it] = latestLevel(*it);
    return emit(mergeLevels());
  }

private:
  bool findTopologicalOrder() {
    std::vector<int32_t> missing(n_, 0);
    for (const auto& c : consumers_)
      for (int32_t i : c) ++missing[i];
    std::priority_queue<int32_t, std::vector<int32_t>, std::greater<>> ready;
    for (int32_t i = 0; i < n_; ++i)
      if (missing[i] == 0) ready.push(i);
    while (!ready.empty()) {
      int32_t i = ready.top();
      ready.pop();
      topological_.push_back(i);
      for (int32_t c : consumers_[i])
        if (--missing[c] == 0) ready.push(c);
    }
    return static_cast<int32_t>(topological_.size()) == n_;
  }

  void findEarliestLevels() {
    level_.assign(n_, 0);
    for (int32_t i : topological_)
      for (int32_t c : consumers_[i]) level_[c] = std::max(level_[c], level_[i] + 1);
    for (int32_t l : level_) highest_ = std::max(highest_, l);
  }

  int32_t latestLevel(int32_t i) const {
    int32_t latest = highest_;
    for (int32_t c : consumers_[i]) latest = std::min(latest, level_[c] - 1);
    return latest;
  }

  /// Who may wait: launches that write states, and those whose temporaries are all kept for a launch that writes a
  /// state (the sums of squares of gradients). Waiting must not keep memory alive that would be free.
  void findSinking() {
    std::vector<int32_t> lastReader(list_.storages.size(), -1);
    std::vector<bool> writesState(n_, false);
    for (int32_t i : topological_)
      for (int32_t s : list_.launches[i].reads) lastReader[s] = i;
    for (int32_t i = 0; i < n_; ++i)
      for (int32_t s : list_.launches[i].writes) writesState[i] = writesState[i] || space(s) == BufferRef::Space::Input;
    sinks_ = writesState;
    for (int32_t i = 0; i < n_; ++i) {
      bool readsTemporary = false, keptAnyway = true;
      for (int32_t s : list_.launches[i].reads) {
        if (space(s) != BufferRef::Space::Arena) continue;
        readsTemporary = true;
        keptAnyway = keptAnyway && lastReader[s] != i && writesState[lastReader[s]];
      }
      if (readsTemporary && keptAnyway) sinks_[i] = true;
    }
  }
  BufferRef::Space space(int32_t storage) const { return placed_.targets[storage].space; }

  /// Launches of one level, kernel and scratch size are one step.
  std::vector<std::vector<int32_t>> mergeLevels() const {
    struct Key {
      int32_t level;
      std::string_view kernel;
      int64_t scratch;
      bool operator==(const Key&) const = default;
    };
    struct Hash {
      size_t operator()(const Key& k) const {
        return absl::HashOf(k.level, std::hash<std::string_view>()(k.kernel), k.scratch);
      }
    };
    absl::flat_hash_map<Key, size_t, Hash> stepOf;
    std::vector<std::vector<int32_t>> steps;
    for (int32_t i = 0; i < n_; ++i) {
      const Launch& l = list_.launches[i];
      auto [it, isNew] = stepOf.try_emplace(Key{level_[i], l.kernel->key, l.scratchBytes}, steps.size());
      if (isNew) steps.emplace_back();
      steps[it->second].push_back(i);
    }
    return steps;
  }

  /// Steps in the graph's order as far as their waits allow.
  StatusOr<StepOrder> emit(std::vector<std::vector<int32_t>> merged) const {
    int32_t m = static_cast<int32_t>(merged.size());
    std::vector<int32_t> stepOf(n_), missing(m, 0), newIndex(m, 0);
    for (int32_t s = 0; s < m; ++s)
      for (int32_t i : merged[s]) stepOf[i] = s;
    std::vector<std::vector<int32_t>> next(m);
    for (int32_t i = 0; i < n_; ++i)
      for (int32_t c : consumers_[i]) next[stepOf[i]].push_back(stepOf[c]);
    for (auto& list : next) {
      std::sort(list.begin(), list.end());
      list.erase(std::unique(list.begin(), list.end()), list.end());
      for (int32_t s : list) ++missing[s];
    }
    using Ready = std::pair<int32_t, int32_t>; // rank, step
    std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
    auto push = [&](int32_t s) { ready.push({sinks_[merged[s][0]] ? merged[s].back() : merged[s].front(), s}); };
    for (int32_t s = 0; s < m; ++s)
      if (missing[s] == 0) push(s);
    StepOrder order;
    order.waits.resize(m);
    while (!ready.empty()) {
      int32_t s = ready.top().second;
      ready.pop();
      newIndex[s] = static_cast<int32_t>(order.steps.size());
      order.steps.push_back(merged[s]);
      for (int32_t c : next[s])
        if (--missing[c] == 0) push(c);
    }
    if (static_cast<int32_t>(order.steps.size()) != m)
      return internal("plan: merged steps wait for one another in a circle");
    for (int32_t s = 0; s < m; ++s)
      for (int32_t c : next[s]) order.waits[newIndex[c]].push_back(newIndex[s]);
    for (auto& w : order.waits) std::sort(w.begin(), w.end());
    return order;
  }

  const LaunchList& list_;
  const PlacementResult& placed_;
  int32_t n_;
  std::vector<std::vector<int32_t>> consumers_;
  std::vector<int32_t> topological_, level_;
  std::vector<bool> sinks_;
  int32_t highest_ = 0;
};

} // namespace

StatusOr<StepOrder> orderSteps(const LaunchList& list, const PlacementResult& placed) {
  return Orderer(list, placed).run();
}

void addReuseWaits(std::span<const ArenaUse> uses, std::vector<std::vector<int32_t>>& waits) {
  auto overlap = [](const ArenaUse& a, const ArenaUse& b) {
    return a.offset < b.offset + b.sizeBytes && b.offset < a.offset + a.sizeBytes;
  };
  for (const ArenaUse& later : uses)
    for (const ArenaUse& before : uses) {
      if (before.steps.back() >= later.steps.front() || !overlap(before, later)) continue;
      for (int32_t s : later.steps) waits[s].insert(waits[s].end(), before.steps.begin(), before.steps.end());
    }
  // before[s]: all steps that s waits for, directly or not, as bits.
  size_t words = (waits.size() + 63) / 64;
  std::vector<uint64_t> before(waits.size() * words);
  for (size_t s = 0; s < waits.size(); ++s) {
    std::sort(waits[s].begin(), waits[s].end(), std::greater<>());
    uint64_t* mine = &before[s * words];
    std::vector<int32_t> needed;
    for (int32_t w : waits[s]) { // the latest first: earlier ones often follow from it
      if (mine[w / 64] >> (w % 64) & 1) continue;
      needed.push_back(w);
      mine[w / 64] |= uint64_t(1) << (w % 64);
      for (size_t i = 0; i < words; ++i) mine[i] |= before[static_cast<size_t>(w) * words + i];
    }
    waits[s].assign(needed.rbegin(), needed.rend());
  }
}

} // namespace tegula
