// Extracting a group as a graph.
#include "graph/layout/GroupBody.h"
#include "absl/container/flat_hash_map.h"
#include "graph/fusion/Fuse.h"
#include <algorithm>

namespace tegula {

namespace {

class BodyMaker {
public:
  BodyMaker(const Graph& g, std::span<const int32_t> nodes)
      : g_(g), nodes_(nodes), body_{Graph(g.libraryPtr()), {}, {}, {}, {}} {}

  GroupBody run(std::span<const Value> outputs) {
    for (Value v : outputs) visit(v.node);
    // Body inputs must come first in a graph's order of use, which visit() has recorded.
    Graph graph(g_.libraryPtr());
    absl::flat_hash_map<Value, Value> map;
    for (Value v : body_.inputs) map[v] = graph.addInput("x", g_.typeOf(v));
    for (int32_t i : order_) {
      Node n = g_.node(i);
      for (Value& v : n.inputs)
        if (v.present()) v = map.at(v);
      size_t count = n.results.size();
      n.scope = {};
      int32_t id = graph.append(std::move(n));
      for (size_t r = 0; r < count; ++r) map[{i, static_cast<int32_t>(r)}] = {id, static_cast<int32_t>(r)};
    }
    for (Value v : outputs) {
      graph.outputs().push_back(map.at(v));
      body_.outputs.push_back(v);
    }
    body_.graph = std::move(graph);
    body_.label = label();
    return std::move(body_);
  }

private:
  bool inside(int32_t i) const { return std::binary_search(nodes_.begin(), nodes_.end(), i); }

  void visit(int32_t i) {
    if (!visited_.try_emplace(i, true).second) return;
    const Node& n = g_.node(i);
    for (size_t k = 0; k < n.inputs.size(); ++k) {
      Value v = n.inputs[k];
      if (!v.present()) continue;
      if (inside(v.node)) {
        visit(v.node);
        continue;
      }
      auto [it, isNew] = inputIndex_.try_emplace(v, body_.inputs.size());
      if (isNew) {
        body_.inputs.push_back(v);
        body_.uses.emplace_back();
      }
      body_.uses[it->second].push_back({i, static_cast<int>(k)});
    }
    order_.push_back(i);
  }

  std::string label() const {
    std::string names;
    Symbol scope;
    int shown = 0, hidden = 0;
    for (int32_t i : order_) {
      const Node& n = g_.node(i);
      if (!n.scope.empty()) scope = n.scope;
      if (isCheap(n) && order_.size() > 1) continue;
      if (shown == 6) {
        ++hidden;
        continue;
      }
      names += (shown++ ? "+" : "") + std::string(n.op.text());
    }
    if (hidden) names += fmt::format("+{} more", hidden);
    return groupLabel(scope, names);
  }

  const Graph& g_;
  std::span<const int32_t> nodes_;
  GroupBody body_;
  std::vector<int32_t> order_;
  absl::flat_hash_map<int32_t, bool> visited_;
  absl::flat_hash_map<Value, size_t> inputIndex_;
};

} // namespace

StatusOr<GroupBody> makeGroupBody(const Graph& g, std::span<const int32_t> nodes, std::span<const Value> outputs) {
  if (outputs.empty()) return internal("a group without outputs");
  return BodyMaker(g, nodes).run(outputs);
}

std::string groupLabel(Symbol scope, std::string_view what) {
  return scope.empty() ? std::string(what) : fmt::format("{}: {}", scope.text(), what);
}

} // namespace tegula
