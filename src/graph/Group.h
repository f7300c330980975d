// A fusion group: a small graph of its own that one or a few kernels compute. What the compiler receives.
#pragma once

#include "graph/Graph.h"
#include "tensor/Layout.h"

namespace tegula {

/// `body` has primitives and at most one kept library operator (one with a tile kernel); its Graph inputs are the
/// group's operands, its outputs the group's results. Views (slice, transpose, reshape, broadcast of operands) that the
/// layout pass turned into strides are not nodes any more: they are in the operand's layout.
///
/// - A copy (a view that must become row-major) is a group whose only node casts its input to the input's own type.
/// - An output may be the very memory of an input of the same type (a state assigned in place) where every use of that
///   input in the body is elementwise at the same element and the group is one dispatch. A kernel therefore loads all
///   inputs of an element (or vector) before it stores any output of it.
/// - Nodes are in topological order, inputs in order of first use: equal structure gives an equal body.
struct Group {
  Graph body;
  std::vector<Layout> inputLayouts;  // one per body input
  std::vector<Layout> outputLayouts; // one per body output
  std::string label;                 // "layers.0.mlp: gelu+mul+add", for people
};

/// Where a dispatch of a group finds an operand.
struct OperandRef {
  enum class Kind : uint8_t { Input, Output, Temporary };
  Kind kind;
  int32_t index;
};

/// The code of one kernel before it is compiled. Subclassed by the compiler; `key` is canonical text with everything
/// the code depends on (structure, types, layout classes, pinned values, schedule, target) and no run-time extent.
struct KernelSource {
  virtual ~KernelSource() = default;
  std::string key;
  std::string name; // short, readable: "loop_gelu_mul_add_bf16"
};
using KernelRef = std::shared_ptr<const KernelSource>;

/// One launch: kernel(bindings, scalars, items 0..items-1), in any order and on any threads.
struct GroupDispatch {
  KernelRef kernel;
  std::vector<OperandRef> bindings;
  std::vector<int64_t> scalars; // extents, strides, … as the kernel expects them
  int64_t items = 0;            // 0: nothing to do (an empty tensor)
  int64_t scratchBytes = 0;     // per worker, handed to the kernel
  double flops = 0, bytes = 0;  // estimates, for sizing threads and reports
};

/// How a group runs: dispatches in order; a later one may read what an earlier one wrote.
struct GroupSchedule {
  std::vector<GroupDispatch> dispatches;
  std::vector<int64_t> temporaryBytes;
  std::string reason; // why the group was cut into several dispatches, empty if it was not
};

} // namespace tegula
