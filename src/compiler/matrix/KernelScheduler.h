// Groups around a library operator that has a tile kernel: which the compiler accepts, and how they are dispatched.
//
//   group = [prologue: cheap elementwise nodes on operands] operator [epilogue: elementwise nodes on results]
//
// Leading `...` axes of the operator become the batch of the kernel; they are merged into the kernel's first grid
// dimension where strides allow it and the kernel does not look at positions. One dispatch per group.
//
// Threads: all functions may be called from any thread.
#pragma once

#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "compiler/matrix/TileKernel.h"

namespace tegula::matrix {

class KernelScheduler {
public:
  KernelScheduler(Target target, std::shared_ptr<const OperatorLibrary> library,
                  std::unique_ptr<const ScheduleChooser> chooser = ruleScheduleChooser());

  /// A tile kernel implements this operator for these types.
  bool keepsWhole(const Graph& g, const Node& n) const { return whyNotWhole(g, n).empty(); }
  /// Why the operator's tile kernel is not used for these types; empty: it is.
  std::string whyNotWhole(const Graph&, const Node&) const;
  /// Empty: these nodes, one of them a kept operator, form a group. Otherwise why not.
  std::string whyNotFuse(const Graph&, std::span<const int32_t> nodes) const;
  /// Operand `input` of the kept operator `node` may be a view with these strides.
  bool acceptsStrides(const Graph&, int32_t node, int input, const Shape& shape, const Shape& strides) const;
  /// Result `result` of the kept operator may be written through these strides.
  bool writesStrides(const Graph&, int32_t node, int result, const Shape& shape, const Shape& strides) const;
  /// Kernels pack by themselves: strided.
  Layout preferredLayout(const Graph&, int32_t node, int input) const;
  /// Fails if the kernel cannot compute the group, saying why.
  StatusOr<GroupSchedule> schedule(const Group&) const;

private:
  StatusOr<int64_t> scratchBytes(const TileKernelSource&) const;

  Target target_;
  std::shared_ptr<const OperatorLibrary> library_;
  std::unique_ptr<const ScheduleChooser> chooser_;
  mutable absl::Mutex mutex_;
  // Laying out scratch means lowering the kernel, so it is done once per key.
  mutable absl::flat_hash_map<std::string, int64_t> scratchBytes_ ABSL_GUARDED_BY(mutex_);
};

} // namespace tegula::matrix
