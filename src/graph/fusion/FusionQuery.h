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
    home_.clear();
    for (int32_t i : nodes) home_.push_back(home(i));
    for (size_t k = 0; k < nodes.size(); ++k)
      if (home_[k]) addOutputs(static_cast<int>(k));
    return ask();
  }

  std::span<const int32_t> usersOf(int32_t node) const {
    return {users_.data() + firstUser_[node], static_cast<size_t>(firstUser_[node + 1] - firstUser_[node])};
  }
  /// Read by an output or an assign of the graph.
  bool isResult(int32_t node) const { return isResult_[node]; }
  int64_t asked() const { return asked_; }

private:
  void begin(std::span<const int32_t> nodes);
  void addOutputs(int position);
  std::string ask();
  int positionOf(int32_t node) const; // in the candidate; -1: outside
  /// Which results of a node others read, directly or through copies in the candidate of cheap nodes and views.
  std::vector<bool> readElsewhere(int32_t node) const;

  const Graph& g_;
  const TargetModel& target_;
  std::vector<int32_t> firstUser_, users_;
  std::vector<bool> isResult_;
  std::vector<Value> place_;   // per node of g: where its copy is
  std::vector<int32_t> stamp_; // … in the query with this number
  int32_t query_ = 0;
  int64_t asked_ = 0;
  std::span<const int32_t> nodes_; // of the candidate
  std::vector<bool> home_;         // per node of it
  Graph candidate_;
  std::vector<int32_t> copies_;
};

} // namespace tegula
