// For each elementwise value that leaves its group, in topological order: the cone of elementwise nodes back to values that
// are stored anyway. If every reader can hold the cone, the value need not be stored.
#include "graph/fusion/Recompute.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "graph/layout/StridedView.h"
#include <algorithm>

namespace tegula {

namespace {

/// Above this many nodes computing again costs more than a load.
constexpr size_t kConeLimit = 24;

class Recomputer {
public:
  Recomputer(const Graph& g, FusionQuery& query, Partition& p) : g_(g), query_(query), p_(p) {}

  void run() {
    findReaders();
    for (size_t k = 0; k < p_.groups.size(); ++k) {
      const std::vector<int32_t> nodes = p_.groups[k]; // the home group keeps its nodes
      for (int32_t i : nodes)
        if (p_.groupOf[i] == static_cast<int32_t>(k) && readers_.contains(i) && !tryRecompute(i)) stored_.insert(i);
    }
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
          if (p_.groupOf[v.node] >= 0) addReader(v.node, static_cast<int32_t>(k));
          else markBehindViews(v);
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

  bool tryRecompute(int32_t i) {
    if (!isElementwise(i)) return false;
    Cone cone;
    if (!grow(i, i, false, cone) || cone.nodes.size() > kConeLimit) return false;
    const std::vector<int32_t> groups = readers_[i];
    std::vector<std::vector<int32_t>> grown;
    for (int32_t k : groups) {
      if (k < 0 || newLeaves(cone, k) > 1) return false;
      std::vector<int32_t> nodes = p_.groups[k];
      nodes.insert(nodes.end(), cone.nodes.begin(), cone.nodes.end());
      std::sort(nodes.begin(), nodes.end());
      nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
      if (!query_.whyNot(nodes, [&](int32_t i) { return p_.groupOf[i] == k; }).empty()) return false;
      grown.push_back(std::move(nodes));
    }
    for (size_t r = 0; r < groups.size(); ++r) {
      p_.groups[groups[r]] = std::move(grown[r]);
      for (int32_t s : cone.stored) addReader(s, groups[r]);
    }
    for (int32_t s : cone.stored) stored_.insert(s);
    return true;
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
        if (!behindBroadcast && std::find(cone.large.begin(), cone.large.end(), v) == cone.large.end()) cone.large.push_back(v);
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
  absl::flat_hash_map<int32_t, std::vector<int32_t>> readers_;
  absl::flat_hash_set<int32_t> stored_; // nodes of groups visited so far whose values are stored
};

} // namespace

void recomputeCheapValues(const Graph& g, FusionQuery& query, Partition& p) { Recomputer(g, query, p).run(); }

} // namespace tegula
