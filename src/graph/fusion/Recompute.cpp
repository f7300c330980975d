// For each elementwise value that leaves its group, in topological order: the cone of elementwise nodes back to values
// that are stored anyway. If every reader can hold the cone, the value need not be stored.
#include "graph/fusion/Recompute.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "graph/layout/StridedView.h"
#include <algorithm>
#include <optional>

namespace tegula {

namespace {

/// Above this many nodes computing again costs more than a load.
constexpr size_t kConeLimit = 24;
/// The second round finds what the first made possible; a third finds next to nothing.
constexpr int kRounds = 2;

class Recomputer {
public:
  Recomputer(const Graph& g, FusionQuery& query, Partition& p) : g_(g), query_(query), p_(p) {}

  /// True if something changed: a value that moved to its readers may let another move.
  bool run() {
    findReaders();
    size_t count = p_.groups.size(); // splits append
    for (size_t k = 0; k < count; ++k) {
      const std::vector<int32_t> nodes = p_.groups[k]; // the home group keeps its nodes
      for (int32_t i : nodes)
        if (leaves(i, static_cast<int32_t>(k)) && !isElementwise(i)) stored_.insert(i);
      chooseCheckpoint(static_cast<int32_t>(k), nodes);
      for (int32_t i : nodes)
        if (leaves(i, static_cast<int32_t>(k)) && !stored_.contains(i) && !tryRecompute(i)) stored_.insert(i);
    }
    moveSplitsToTheirPlace();
    return changed_;
  }

private:
  bool isElementwise(int32_t i) const {
    const Node& n = g_.node(i);
    return n.kind == Node::Kind::Primitive && findPrimitive(n.op)->kind == PrimitiveKind::Elementwise;
  }

  /// For every node that is read outside its group: the groups that read it directly. -1: an output, or through a view.
  void findReaders() {
    for (size_t k = 0; k < p_.groups.size(); ++k)
      for (int32_t i : p_.groups[k]) {
        for (Value v : g_.node(i).inputs) {
          if (!v.present() || std::binary_search(p_.groups[k].begin(), p_.groups[k].end(), v.node)) continue;
          if (p_.groupOf[v.node] >= 0)
            addReader(v.node, static_cast<int32_t>(k));
          else
            markBehindViews(v);
        }
      }
    for (Value v : g_.outputs()) markBehindViews(v);
    for (const Graph::Assign& a : g_.assigns()) markBehindViews(a.value);
  }
  void addReader(int32_t node, int32_t group) {
    std::vector<int32_t>& list = readers_[node];
    if (std::find(list.begin(), list.end(), group) == list.end()) list.push_back(group);
  }
  void markBehindViews(Value v) {
    while (isView(g_.node(v.node))) v = g_.node(v.node).inputs[0];
    if (p_.groupOf[v.node] >= 0) addReader(v.node, -1);
  }

  struct Cone {
    std::vector<int32_t> nodes;  // to compute again, cheap ones included
    std::vector<Value> large;    // leaves of the value's own shape
    std::vector<int32_t> stored; // small results of the home group that must now be stored
  };

  /// Node i of group k is read by others.
  bool leaves(int32_t i, int32_t k) const { return p_.groupOf[i] == k && readers_.contains(i); }

  /// What recomputing a value changes: readers with more nodes. A reader with a kept operator that refuses them can be
  /// split: the operator alone, and a loop after it with everything else.
  struct Change {
    struct Reader {
      int32_t group;
      std::vector<int32_t> nodes;
      int32_t split = -1; // the kept operator that stays behind
    };
    Cone cone;
    std::vector<Reader> readers;
  };

  std::optional<Change> planRecompute(int32_t i, bool mayTryHarder) {
    if (!isElementwise(i)) return std::nullopt;
    Change change;
    if (!grow(i, i, false, change.cone) || change.cone.nodes.size() > kConeLimit) return std::nullopt;
    const std::vector<int32_t>& groups = readers_.at(i);
    // Storing costs a write and a read for each reader; computing again costs reading the leaves.
    int loads = 0;
    for (int32_t k : groups) {
      if (k < 0) return std::nullopt;
      loads += newLeaves(change.cone, k);
    }
    if (loads > 1 + static_cast<int>(groups.size())) return std::nullopt;
    for (int32_t k : groups) {
      std::optional<Change::Reader> reader = grownReader(k, change.cone.nodes, mayTryHarder);
      if (!reader) return std::nullopt;
      change.readers.push_back(*std::move(reader));
    }
    return change;
  }

  std::optional<Change::Reader> grownReader(int32_t k, const std::vector<int32_t>& cone, bool maySplit) {
    std::vector<int32_t> nodes;
    std::vector<int32_t> sortedCone = cone;
    std::sort(sortedCone.begin(), sortedCone.end());
    std::set_union(p_.groups[k].begin(), p_.groups[k].end(), sortedCone.begin(), sortedCone.end(),
                   std::back_inserter(nodes));
    if (allowed(nodes, [&](int32_t i) { return p_.groupOf[i] == k; })) return Change::Reader{k, std::move(nodes), -1};
    if (!maySplit) return std::nullopt;
    for (int32_t i : p_.groups[k]) {
      if (g_.node(i).kind != Node::Kind::Operator) continue;
      nodes.erase(std::find(nodes.begin(), nodes.end(), i));
      bool loop = allowed(nodes, [&](int32_t n) { return n != i && p_.groupOf[n] == k; });
      bool alone = allowed({i}, [](int32_t) { return true; });
      // The loop comes after the operator: nothing in it may feed the operator but what was computed before.
      for (Value v : g_.node(i).inputs) alone = alone && !(v.present() && p_.groupOf[v.node] == k);
      if (loop && alone) return Change::Reader{k, std::move(nodes), i};
      return std::nullopt;
    }
    return std::nullopt;
  }

  template <typename IsHome> bool allowed(const std::vector<int32_t>& nodes, IsHome&& home) {
    return query_.whyNot(nodes, home).empty();
  }

  bool tryRecompute(int32_t i) {
    std::optional<Change> change = planRecompute(i, splitting_);
    if (!change) return false;
    changed_ = true;
    for (Change::Reader& r : change->readers) apply(r);
    for (int32_t s : change->cone.stored) {
      stored_.insert(s);
      for (const Change::Reader& r : change->readers) addReader(s, r.group);
    }
    return true;
  }

  void apply(Change::Reader& r) {
    if (r.split < 0) {
      p_.groups[r.group] = std::move(r.nodes);
      return;
    }
    int32_t loop = static_cast<int32_t>(p_.groups.size());
    p_.groups[r.group] = {r.split};
    for (int32_t i : r.nodes)
      if (p_.groupOf[i] == r.group) p_.groupOf[i] = loop;
    p_.groups.push_back(std::move(r.nodes));
    splitFrom_.push_back(r.group);
    for (auto& [node, groups] : readers_)
      for (int32_t& k : groups)
        if (k == r.group) k = loop; // the operator's own operands are no elementwise values of another group's cone
    addReader(r.split, loop);
  }

  /// Several values of a group that cannot be computed again because they all need one that is not stored: if storing
  /// that one instead frees at least two, it is stored.
  void chooseCheckpoint(int32_t k, const std::vector<int32_t>& nodes) {
    splitting_ = false;
    std::vector<int32_t> blocked;
    for (int32_t i : nodes)
      if (leaves(i, k) && isElementwise(i) && !planRecompute(i, false)) blocked.push_back(i);
    if (blocked.size() < 2) return;
    int32_t candidate = commonAncestor(blocked, nodes, k);
    if (candidate < 0) return;
    bool stores = !leaves(candidate, k);
    stored_.insert(candidate);
    int freed = 0;
    for (int32_t i : blocked) freed += i != candidate && planRecompute(i, true).has_value();
    if (freed - stores >= 1)
      splitting_ = true;
    else
      stored_.erase(candidate);
  }

  /// The last elementwise node of group k from which at least two of `values` follow by elementwise nodes.
  int32_t commonAncestor(const std::vector<int32_t>& values, const std::vector<int32_t>& nodes, int32_t k) const {
    absl::flat_hash_map<int32_t, int> reached;
    for (int32_t v : values) {
      absl::flat_hash_set<int32_t> seen{v};
      std::vector<int32_t> stack{v};
      while (!stack.empty()) {
        int32_t i = stack.back();
        stack.pop_back();
        ++reached[i];
        for (Value in : g_.node(i).inputs)
          if (p_.groupOf[in.node] == k && isElementwise(in.node) && seen.insert(in.node).second)
            stack.push_back(in.node);
      }
    }
    int32_t best = -1, most = 1;
    for (int32_t i : nodes) {
      auto it = reached.find(i);
      if (it != reached.end() && it->second >= std::max(most, 2)) best = i, most = it->second;
    }
    return best;
  }

  /// A split loop runs right after its operator's group.
  void moveSplitsToTheirPlace() {
    if (splitFrom_.empty()) return;
    size_t before = p_.groups.size() - splitFrom_.size();
    std::vector<std::vector<int32_t>> ordered;
    std::vector<int32_t> position(p_.groups.size());
    std::vector<std::vector<size_t>> after(p_.groups.size());
    for (size_t s = 0; s < splitFrom_.size(); ++s) after[splitFrom_[s]].push_back(before + s);
    auto place = [&](size_t k, const auto& self) -> void {
      position[k] = static_cast<int32_t>(ordered.size());
      ordered.push_back(std::move(p_.groups[k]));
      for (size_t s : after[k]) self(s, self);
    };
    for (size_t k = 0; k < before; ++k) place(k, place);
    for (int32_t& k : p_.groupOf)
      if (k >= 0) k = position[k];
    p_.groups = std::move(ordered);
  }

  /// Walks back from node i; false if a large value is needed that nobody stores.
  bool grow(int32_t i, int32_t root, bool small, Cone& cone) const {
    if (std::find(cone.nodes.begin(), cone.nodes.end(), i) != cone.nodes.end()) return true;
    cone.nodes.push_back(i);
    if (cone.nodes.size() > kConeLimit) return false;
    for (Value v : g_.node(i).inputs) {
      int32_t at = v.node;
      const Node& n = g_.node(at);
      bool behindBroadcast = small || n.results[0].shape.rank() == 0;
      if (isCheap(n)) {
        if (!grow(at, root, small || !n.inputs.empty(), cone)) return false;
      } else if (p_.groupOf[at] != p_.groupOf[root] || stored_.contains(at)) {
        // Stored anyway, or behind a view of something that is.
        if (!behindBroadcast && std::find(cone.large.begin(), cone.large.end(), v) == cone.large.end())
          cone.large.push_back(v);
      } else if (behindBroadcast && !isElementwise(at)) {
        cone.stored.push_back(at);
      } else if (!isElementwise(at) || !grow(at, root, small, cone)) {
        return false;
      }
    }
    return true;
  }

  /// Large leaves that group k does not read yet.
  int newLeaves(const Cone& cone, int32_t k) const {
    int count = 0;
    for (Value leaf : cone.large) {
      bool known = false;
      for (int32_t i : p_.groups[k]) {
        const Node& n = g_.node(i);
        known = known || std::find(n.inputs.begin(), n.inputs.end(), leaf) != n.inputs.end();
      }
      count += !known;
    }
    return count;
  }

  const Graph& g_;
  FusionQuery& query_;
  Partition& p_;
  bool changed_ = false;
  bool splitting_ = false;         // may readers of the group being looked at be split?
  std::vector<int32_t> splitFrom_; // per appended group: the group it came from
  absl::flat_hash_map<int32_t, std::vector<int32_t>> readers_;
  absl::flat_hash_set<int32_t> stored_; // nodes of groups visited so far whose values are stored
};

} // namespace

void recomputeCheapValues(const Graph& g, FusionQuery& query, Partition& p) {
  for (int round = 0; round < kRounds && Recomputer(g, query, p).run(); ++round) {
  }
}

} // namespace tegula
