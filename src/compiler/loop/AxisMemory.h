// Which axes were merged before, so that extents of 1 do not make a kernel of their own.
//
// Collapsing looks at strides, and an axis of extent 1 can have any: at a batch or a length of 1 axes merge that do not
// merge otherwise. Such an instance can run the kernel of the general one (its trivial axis just has one step). The
// memory keeps, by structure, the collapsed kernels seen so far, and an instance that one of them can compute takes it.
// Values do not depend on what was seen: kernels with several folded axes that have more than one step, and full
// reductions, are always collapsed anew. Threads: may be used from several at once.
#pragma once

#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "compiler/loop/LoopKernel.h"
#include <optional>

namespace tegula::loop {

class AxisMemory {
public:
  /// Collapses axes, as an earlier problem of the same structure was if that computes this one too.
  void collapse(LoopProblem&);

private:
  struct Remembered {
    std::vector<std::vector<bool>> moves; // per operand and axis, before merging: does the operand move along it
    std::vector<std::pair<int, int>> merges;
    LoopKernel kernel; // after merging
  };
  static std::optional<LoopInstance> adapt(const LoopInstance&, const Remembered&);

  absl::Mutex mutex_;
  absl::flat_hash_map<std::string, std::vector<Remembered>> seen_ ABSL_GUARDED_BY(mutex_);
};

} // namespace tegula::loop
