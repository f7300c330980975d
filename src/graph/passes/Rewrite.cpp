// Copying nodes with mapped inputs.
#include "graph/passes/Rewrite.h"

namespace tegula {

Rewrite::Rewrite(const Graph& from) : from_(from), to_(from.libraryPtr()), map_(from.nodes().size()) {}

Values Rewrite::mapAll(std::span<const Value> values) const {
  Values mapped;
  for (Value v : values) mapped.push_back(map(v));
  return mapped;
}

const Values& Rewrite::copy(int32_t i) {
  const Node& n = from_.node(i);
  if (n.kind == Node::Kind::Input) {
    assert(from_.inputs()[nextInput_].node == i && "inputs are copied in order");
    map_[i] = {to_.addInput(n.op, n.results[0], from_.inputs()[nextInput_++].kind)};
    return map_[i];
  }
  Node copy = n;
  copy.inputs = mapAll(n.inputs);
  return append(i, std::move(copy));
}

const Values& Rewrite::append(int32_t i, Node n) {
  size_t count = n.results.size();
  int32_t id = to_.append(std::move(n));
  map_[i].clear();
  for (size_t r = 0; r < count; ++r) map_[i].push_back({id, static_cast<int32_t>(r)});
  return map_[i];
}

Graph Rewrite::finish() {
  for (Value v : from_.outputs()) to_.outputs().push_back(map(v));
  for (const Graph::Assign& a : from_.assigns()) to_.assigns().push_back({a.input, map(a.value)});
  return std::move(to_);
}

} // namespace tegula
