// Fusion: which nodes are computed together. Groups are as large as the target allows (TargetModel::whyNotFuse), grown
// from each node towards its producers; the group graph stays acyclic.
//
// Cheap nodes (broadcasts, constants, iota) belong to no group of their own: every group that uses one holds a copy of
// it. Views (slice, transpose, reshape) belong to a group only where the target accepts them inside; elsewhere the
// layout pass turns them into strides.
#pragma once

#include "graph/TargetModel.h"

namespace tegula {

struct Partition {
  /// Node sets, each sorted; in an order in which they can run. Every compute node has one home group, which gives its
  /// value to others; a group may hold further nodes that it computes again for itself (graph/fusion/Recompute.h).
  std::vector<std::vector<int32_t>> groups;
  std::vector<int32_t> groupOf; // per node: its home; -1 for inputs, views and cheap nodes
};

StatusOr<Partition> fuse(const Graph&, const TargetModel&);

/// Computed anew wherever it is used: broadcast, constant, iota.
bool isCheap(const Node&);

} // namespace tegula
