// The run-time side of a loop kernel: which scalar is where, and how many work items.
#pragma once

#include "compiler/Target.h"
#include "compiler/loop/LoopKernel.h"

namespace tegula::loop {

/// A kernel of the loop templates before it is compiled. `key` is the pattern, the schedule and the target.
struct LoopSource : KernelSource {
  LoopKernel kernel;
};

/// Places of the scalars of a kernel. Work item i is block i / chunks of rows (points of the item axes but the vector
/// axis) and chunk i % chunks of the vector axis; with Template::Split it is a chunk of the split axis.
class ScalarSlots {
public:
  explicit ScalarSlots(const LoopKernel&);
  int extent(int axis) const { return axis; }
  int rows() const { return axes_; }
  int rowsPerItem() const { return axes_ + 1; }
  int chunk() const { return axes_ + 2; } // elements of the vector axis (or the split axis) of an item
  int chunks() const { return axes_ + 3; }
  int parameter(int i) const { return axes_ + 4 + i; }
  int offset(int operand) const { return operands_[static_cast<size_t>(operand)].offset; }
  /// Requires: a stride that is not pinned.
  int stride(int operand, int axis) const {
    return operands_[static_cast<size_t>(operand)].strides[static_cast<size_t>(axis)];
  }
  int subscriptStride(int operand, int i) const { return operands_[static_cast<size_t>(operand)].subscripts + 2 * i; }
  int subscriptExtent(int operand, int i) const { return subscriptStride(operand, i) + 1; }
  int count() const { return count_; }

private:
  struct OperandSlots {
    int offset;
    std::vector<int> strides; // -1: absent or pinned
    int subscripts;
  };
  int axes_, count_;
  std::vector<OperandSlots> operands_;
};

/// Requires: chooseSchedule has run. Everything value-changing in it is a function of pattern, extents and target.
GroupDispatch makeDispatch(const LoopProblem&, const Target&);

/// Points of the split axis that one item folds, for this instance.
int64_t splitChunk(const LoopProblem&);

} // namespace tegula::loop
