// What every graph-to-graph pass is made of: a second graph being written, and where each value of the first one went.
//
//   Rewrite r(graph);
//   for (int32_t i = 0; i < r.size(); ++i) r.copy(i);      // or r.replace(i, values)
//   return r.finish();
//
// Inputs keep their order and number, used or not, so that an input's index means the same in every graph of a plan.
#pragma once

#include "graph/Emit.h"

namespace tegula {

class Rewrite {
public:
  explicit Rewrite(const Graph& from);

  const Graph& from() const { return from_; }
  Graph& to() { return to_; }
  int32_t size() const { return static_cast<int32_t>(from_.nodes().size()); }

  /// Where a value went. Requires: its node was copied or replaced. An absent value stays absent.
  Value map(Value v) const { return v.present() ? map_[v.node][v.result] : v; }
  Values mapAll(std::span<const Value> values) const;
  /// Appends node i with mapped inputs and its types as they are.
  const Values& copy(int32_t i);
  /// Appends `n`, which stands for node i.
  const Values& append(int32_t i, Node n);
  void replace(int32_t i, Values values) { map_[i] = std::move(values); }
  bool mapped(int32_t i) const { return !map_[i].empty(); }

  /// Maps outputs and assigns.
  Graph finish();

private:
  const Graph& from_;
  Graph to_;
  std::vector<Values> map_;
  size_t nextInput_ = 0;
};

} // namespace tegula
