// The choice of a schedule: an interface, and its first implementation by simple stated rules over the hardware feature
// library. A constraint solver will implement the same interface; the rules below are its constraints, in words.
//
//   registers   MR * (NR / lanes) accumulators + NR / lanes right operands + temporaries <= vector registers
//   L1          a panel of B, BK * NR elements, takes at most a share: rows of A and of the accumulator pass through
//               the rest
//   L2          a block of A, BM * BK elements, takes at most a share; panels of B and the accumulator stream past it
//   exactness   the family of dot depends on operand types, target and measured rates only; the key block of attention
//               on nothing else either
//
// The shares and bounds are the target's: [schedule] in targets/*.toml.
//
// Threads: implementations are immutable; all functions may be called from any thread.
#pragma once

#include "compiler/Target.h"
#include "compiler/schedule/Schedule.h"
#include "tensor/DType.h"
#include <memory>

namespace tegula {

/// What a tile kernel asks of a schedule, read from its text.
struct KernelShape {
  struct Block {
    Symbol tunable, dimension;
  };
  Symbol name;
  std::vector<Block> grid;                     // parallel dimensions, in order
  std::vector<Block> tiles;                    // dimensions walked inside a work item
  int64_t pinnedColumns = 0;                   // the largest dimension that is read whole (the head size), 0: none
  DType left = DType::F32, right = DType::F32; // operands of the dots
  bool hasDot = true;
  bool wide = false; // accumulates in f64
};

/// Extents of one dispatch, for the sizes that do not change code.
struct BlockRequest {
  int64_t extents[2] = {1, 1}; // of the grid's dimensions
  int64_t batch = 1;
};

class ScheduleChooser {
public:
  virtual ~ScheduleChooser() = default;
  /// The schedule of a kernel. Depends on types, pinned dimensions and target, never on run-time extents.
  virtual Schedule choose(const KernelShape&, const Target&) const = 0;
  /// Block sizes of one dispatch, at most the schedule's bounds: run-time arguments that balance the threads.
  virtual std::vector<int64_t> blocks(const KernelShape&, const Schedule&, const BlockRequest&,
                                      const Target&) const = 0;
  /// The choice in sentences, a line a rule.
  virtual std::string explain(const KernelShape&, const Schedule&, const Target&) const = 0;
};

/// The rules at the top of this page.
std::unique_ptr<ScheduleChooser> ruleScheduleChooser();

} // namespace tegula
