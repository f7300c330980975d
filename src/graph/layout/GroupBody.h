// The body of a group: its nodes as a graph of their own, in canonical order, so that groups of equal structure are
// equal.
#pragma once

#include "graph/Emit.h"

namespace tegula {

struct GroupBody {
  struct Use {
    int32_t node;
    int input;
  };
  Graph graph;
  std::vector<Value> inputs;          // of the outer graph, in order of first use
  std::vector<std::vector<Use>> uses; // per input: who in the group reads it
  std::vector<Value> outputs;         // of the outer graph, in the body's order
  std::string label;
};

/// `nodes` sorted. Order inside: depth first from the outputs, operands left to right.
StatusOr<GroupBody> makeGroupBody(const Graph&, std::span<const int32_t> nodes, std::span<const Value> outputs);

/// "layers.0.mlp: gelu+mul"
std::string groupLabel(Symbol scope, std::string_view what);

} // namespace tegula
