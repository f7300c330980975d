// Growing groups node by node, in topological order.
#include "graph/fusion/Fuse.h"
#include "graph/fusion/FusionQuery.h"
#include "graph/fusion/Recompute.h"
#include "graph/layout/StridedView.h"
#include <algorithm>
#include <map>
#include <queue>
#include <ranges>

namespace tegula {

namespace {

/// How many groups the search for a path around a merge visits before it gives up and refuses the merge. Legal merges
/// are between neighbours; only distant pairs (a forward value and its backward use), which have such a path, search
/// longer.
constexpr int kPathSearchLimit = 96;
constexpr int64_t kRankGap = int64_t(1) << 32; // room to move groups between two others without renumbering

class Fuser {
public:
  Fuser(const Graph& g, FusionQuery& query)
      : g_(g), query_(query), groupOf_(g.nodes().size(), -1), visited_(g.nodes().size(), 0) {}

  Partition run() {
    int32_t n = static_cast<int32_t>(g_.nodes().size());
    for (int32_t i = 0; i < n; ++i)
      if (isCompute(i)) place(i);
    return ordered();
  }

private:
  struct GroupState {
    std::vector<int32_t> nodes; // sorted; with cheap nodes and views inside
    int32_t first = 0;          // compute node
    int64_t rank = 0;           // less than that of every group that waits for this one
    bool alive = true;
    bool keepsOperator = false; // holds a library operator: at most one in a group
  };
  struct Reached {
    int32_t producer;             // a compute node
    std::vector<int32_t> between; // views and cheap nodes on the way, not in the group yet
  };

  bool isCompute(int32_t i) const {
    const Node& n = g_.node(i);
    return n.kind != Node::Kind::Input && !isCheap(n) && !isView(n);
  }

  void place(int32_t i) {
    int32_t id = static_cast<int32_t>(groups_.size());
    int64_t rank = byRank_.empty() ? 0 : byRank_.rbegin()->first + kRankGap;
    groups_.push_back({withCheapOperands(i), i, rank, true, g_.node(i).kind == Node::Kind::Operator});
    byRank_[rank] = id;
    groupOf_[i] = id;
    for (const Reached& r : operandsOf(i)) tryMerge(r, id);
  }

  /// {i} and the cheap nodes it reads, if the target takes them into the kernel.
  std::vector<int32_t> withCheapOperands(int32_t i) {
    std::vector<int32_t> nodes{i};
    for (size_t k = 0; k < nodes.size(); ++k)
      for (Value v : g_.node(nodes[k]).inputs)
        if (v.present() && isCheap(g_.node(v.node))) addUnique(nodes, v.node);
    if (nodes.size() == 1) return nodes;
    std::sort(nodes.begin(), nodes.end());
    if (allowed(nodes)) return nodes;
    return {i};
  }

  bool allowed(const std::vector<int32_t>& nodes) {
    return query_.whyNot(nodes, [&](int32_t k) { return isCompute(k); }).empty();
  }

  static void addUnique(std::vector<int32_t>& nodes, int32_t i) {
    if (std::find(nodes.begin(), nodes.end(), i) == nodes.end()) nodes.push_back(i);
  }

  /// Producers of node i's operands, directly or through cheap nodes and views.
  std::vector<Reached> operandsOf(int32_t i) const {
    std::vector<Reached> found;
    for (Value v : g_.node(i).inputs) {
      if (!v.present()) continue;
      std::vector<int32_t> between;
      int32_t at = v.node;
      while (!isCompute(at) && g_.node(at).kind != Node::Kind::Input && !g_.node(at).inputs.empty()) {
        between.push_back(at);
        at = g_.node(at).inputs[0].node; // cheap nodes and views have one input
      }
      if (isCompute(at)) found.push_back({at, std::move(between)});
    }
    return found;
  }

  void tryMerge(const Reached& r, int32_t id) {
    int32_t other = groupOf_[r.producer];
    if (other == id) return;
    GroupState &into = groups_[other], &from = groups_[id];
    std::vector<int32_t> earlier;
    if ((into.keepsOperator && from.keepsOperator) || pathAround(other, id, earlier)) return;
    std::vector<int32_t> nodes;
    std::set_union(into.nodes.begin(), into.nodes.end(), from.nodes.begin(), from.nodes.end(),
                   std::back_inserter(nodes));
    for (int32_t b : r.between) addUnique(nodes, b);
    addInnerPaths(nodes);
    std::sort(nodes.begin(), nodes.end());
    if (!allowed(nodes)) return;
    for (int32_t k : into.nodes)
      if (isCompute(k)) groupOf_[k] = id;
    from.nodes = std::move(nodes);
    from.first = std::min(from.first, into.first);
    from.keepsOperator = from.keepsOperator || into.keepsOperator;
    into.alive = false;
    into.nodes.clear();
    moveBefore(other, earlier);
    takeRank(id, other);
  }

  /// Gives `earlier`, in the order that they have, the ranks right before that of a group.
  void moveBefore(int32_t group, std::vector<int32_t>& earlier) {
    if (earlier.empty()) return;
    std::ranges::sort(earlier, {}, [&](int32_t k) { return groups_[k].rank; });
    auto step = [&] {
      auto at = byRank_.find(groups_[group].rank);
      int64_t before = at == byRank_.begin() ? at->first - kRankGap : std::prev(at)->first;
      return (at->first - before) / (static_cast<int64_t>(earlier.size()) + 1);
    };
    if (step() == 0) spreadRanks();
    int64_t rank = groups_[group].rank, each = step();
    for (int32_t k : earlier | std::views::reverse) {
      byRank_.erase(groups_[k].rank);
      byRank_[groups_[k].rank = rank -= each] = k;
    }
  }
  void takeRank(int32_t group, int32_t from) {
    byRank_.erase(groups_[group].rank);
    byRank_[groups_[group].rank = groups_[from].rank] = group;
  }
  void spreadRanks() {
    std::map<int64_t, int32_t> spread;
    for (auto [rank, group] : byRank_)
      spread.emplace_hint(spread.end(), groups_[group].rank = static_cast<int64_t>(spread.size()) * kRankGap, group);
    byRank_ = std::move(spread);
  }

  /// Adds the views and cheap nodes on every path from one of `nodes` to another: outside, such a node would wait for
  /// the group and the group for it.
  void addInnerPaths(std::vector<int32_t>& nodes) const {
    auto inside = [&](int32_t i) { return std::find(nodes.begin(), nodes.end(), i) != nodes.end(); };
    for (size_t k = 0; k < nodes.size(); ++k)
      for (Value v : g_.node(nodes[k]).inputs) {
        std::vector<int32_t> path;
        int32_t at = v.present() ? v.node : -1;
        while (at >= 0 && !isCompute(at) && !inside(at)) {
          path.push_back(at);
          at = g_.node(at).inputs.empty() ? -1 : g_.node(at).inputs[0].node;
        }
        if (at >= 0 && inside(at)) nodes.insert(nodes.end(), path.begin(), path.end());
      }
  }

  /// Is there a path producer -> some other group -> consumer? Walks back from the consumer's operands. If there is none,
  /// `earlier` has the groups ranked after the producer that the consumer waits for: they can run before the producer.
  bool pathAround(int32_t producer, int32_t consumer, std::vector<int32_t>& earlier) {
    ++stamp_;
    std::vector<int32_t> stack;
    auto push = [&](int32_t group) {
      for (int32_t k : groups_[group].nodes)
        for (Value v : g_.node(k).inputs)
          if (v.present()) pushProducer(v.node, group, producer, consumer, stack);
    };
    push(consumer);
    int visits = 0;
    while (!stack.empty()) {
      int32_t group = stack.back();
      stack.pop_back();
      if (++visits > kPathSearchLimit) return true;
      earlier.push_back(group);
      for (int32_t k : groups_[group].nodes)
        for (Value v : g_.node(k).inputs)
          if (v.present() && pushProducer(v.node, group, producer, consumer, stack)) return true;
    }
    return false;
  }

  /// Adds the group that computes node i (seen through views and cheap nodes) to the walk; true if it is the producer
  /// and the walk is not at the consumer itself.
  bool pushProducer(int32_t i, int32_t group, int32_t producer, int32_t consumer, std::vector<int32_t>& stack) {
    while (!isCompute(i)) {
      if (g_.node(i).inputs.empty()) return false;
      i = g_.node(i).inputs[0].node;
    }
    int32_t next = groupOf_[i];
    if (next == group || next == consumer) return false;
    if (next == producer) return group != consumer;
    if (groups_[next].rank < groups_[producer].rank || visited_[next] == stamp_) return false; // cannot wait for it
    visited_[next] = stamp_;
    stack.push_back(next);
    return false;
  }

  /// Groups in topological order; of those that could run, the one whose first node was recorded first (a gradient that
  /// also holds its share of the norm runs when the gradient can).
  Partition ordered() {
    std::vector<std::vector<int32_t>> consumers(groups_.size());
    std::vector<int32_t> missing(groups_.size(), 0);
    for (int32_t id = 0; id < static_cast<int32_t>(groups_.size()); ++id) {
      if (!groups_[id].alive) continue;
      std::vector<int32_t> producers;
      for (int32_t k : groups_[id].nodes)
        for (Value v : g_.node(k).inputs) {
          int32_t i = v.present() ? v.node : -1;
          while (i >= 0 && !isCompute(i)) i = g_.node(i).inputs.empty() ? -1 : g_.node(i).inputs[0].node;
          if (i >= 0 && groupOf_[i] != id) addUnique(producers, groupOf_[i]);
        }
      missing[id] = static_cast<int32_t>(producers.size());
      for (int32_t p : producers) consumers[p].push_back(id);
    }
    using Ready = std::pair<int32_t, int32_t>; // first node, group
    std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
    for (int32_t id = 0; id < static_cast<int32_t>(groups_.size()); ++id)
      if (groups_[id].alive && missing[id] == 0) ready.push({groups_[id].first, id});
    Partition p;
    p.groupOf.assign(g_.nodes().size(), -1);
    while (!ready.empty()) {
      int32_t id = ready.top().second;
      ready.pop();
      for (int32_t k : groups_[id].nodes)
        if (isCompute(k)) p.groupOf[k] = static_cast<int32_t>(p.groups.size());
      p.groups.push_back(groups_[id].nodes);
      for (int32_t c : consumers[id])
        if (--missing[c] == 0) ready.push({groups_[c].first, c});
    }
    return p;
  }

  const Graph& g_;
  FusionQuery& query_;
  std::vector<GroupState> groups_;
  std::map<int64_t, int32_t> byRank_; // groups that are alive
  std::vector<int32_t> groupOf_, visited_;
  int32_t stamp_ = 0;
};

} // namespace

bool isCheap(const Node& n) {
  static const Symbol kBroadcast = "broadcast", kConstant = "constant", kIota = "iota";
  return n.kind == Node::Kind::Primitive && (n.op == kBroadcast || n.op == kConstant || n.op == kIota);
}

StatusOr<Partition> fuse(const Graph& g, const TargetModel& target) {
  FusionQuery query(g, target);
  Partition p = Fuser(g, query).run();
  size_t placed = 0, compute = 0;
  for (int32_t i = 0; i < static_cast<int32_t>(g.nodes().size()); ++i) {
    compute += g.node(i).kind != Node::Kind::Input && !isCheap(g.node(i)) && !isView(g.node(i));
    placed += p.groupOf[i] >= 0;
  }
  if (placed != compute)
    return internal("fuse: {} of {} nodes are in an ordered group; the groups have a cycle", placed, compute);
  recomputeCheapValues(g, query, p);
  return p;
}

} // namespace tegula
