// Asking the target about a candidate group at a cost that depends on the candidate only: the target sees a graph that
// holds just the candidate, its operands as inputs, and as outputs the values that others would read from it.
#pragma once

#include "graph/TargetModel.h"

namespace tegula {

class FusionQuery {
public:
  FusionQuery(const Graph& g, const TargetModel& target);

  /// Empty if `nodes` (sorted) may be one group. `home` tells the nodes whose values the group gives to others; the
  /// rest are copies for itself (cheap nodes, views, values computed again).
  template <typename IsHome> std::string whyNot(std::span<const int32_t> nodes, IsHome&& home) {
    begin(nodes);
    for (size_t k = 0; k < nodes.size(); ++k)
      if (home(nodes[k])) addOutputs(nodes[k], static_cast<int32_t>(k), nodes);
    return ask(nodes);
  }

  std::span<const int32_t> usersOf(int32_t node) const {
    return {users_.data() + firstUser_[node], static_cast<size_t>(firstUser_[node + 1] - firstUser_[node])};
  }
  /// Read by an output or an assign of the graph.
  bool isResult(int32_t node) const { return isResult_[node]; }
  int64_t asked() const { return asked_; }

private:
  void begin(std::span<const int32_t> nodes);
  void addOutputs(int32_t node, int32_t position, std::span<const int32_t> nodes);
  std::string ask(std::span<const int32_t> nodes);

  const Graph& g_;
  const TargetModel& target_;
  std::vector<int32_t> firstUser_, users_;
  std::vector<bool> isResult_;
  std::vector<Value> place_;   // per node of g: where its copy is
  std::vector<int32_t> stamp_; // … in the query with this number
  int32_t query_ = 0;
  int64_t asked_ = 0;
  Graph candidate_;
  std::vector<int32_t> copies_;
};

} // namespace tegula
