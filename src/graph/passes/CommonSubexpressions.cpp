// One node for equal nodes. Equal is: operation, attributes (floats by their bits: 0 and -0 differ) and inputs.
// Random numbers carry their stream, seed and step in attributes and inputs, so that only equal keys merge.
#include "absl/container/flat_hash_map.h"
#include "graph/passes/Passes.h"
#include "graph/passes/Rewrite.h"
#include <bit>

namespace tegula {

namespace {

bool sameBits(const AttrValue& a, const AttrValue& b) {
  const double *x = std::get_if<double>(&a), *y = std::get_if<double>(&b);
  return x && y ? std::bit_cast<uint64_t>(*x) == std::bit_cast<uint64_t>(*y) : a == b;
}

bool sameAttributes(const Attributes& a, const Attributes& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](const auto& x, const auto& y) {
           return x.first == y.first && sameBits(x.second, y.second);
         });
}

struct Key {
  const Node* node;     // operation and attributes
  const Values* inputs; // mapped
};

struct KeyHash {
  size_t operator()(const Key& k) const {
    return absl::HashOf(static_cast<int>(k.node->kind), k.node->op, k.node->attrs, *k.inputs);
  }
};
struct KeyEqual {
  bool operator()(const Key& a, const Key& b) const {
    return a.node->kind == b.node->kind && a.node->op == b.node->op && *a.inputs == *b.inputs &&
           sameAttributes(a.node->attrs, b.node->attrs);
  }
};

} // namespace

StatusOr<Graph> mergeCommonSubexpressions(const Graph& g) {
  Rewrite r(g);
  std::vector<Values> mappedInputs(g.nodes().size());
  absl::flat_hash_map<Key, int32_t, KeyHash, KeyEqual> seen;
  seen.reserve(g.nodes().size());
  for (int32_t i = 0; i < r.size(); ++i) {
    const Node& n = g.node(i);
    if (n.kind == Node::Kind::Input) {
      r.copy(i);
      continue;
    }
    mappedInputs[i] = r.mapAll(n.inputs);
    auto [it, isFirst] = seen.try_emplace(Key{&n, &mappedInputs[i]}, i);
    if (isFirst) {
      r.copy(i);
      continue;
    }
    Values same;
    for (size_t k = 0; k < n.results.size(); ++k) same.push_back(r.map({it->second, static_cast<int32_t>(k)}));
    r.replace(i, std::move(same));
  }
  return r.finish();
}

} // namespace tegula
