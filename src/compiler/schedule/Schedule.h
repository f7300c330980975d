// A schedule: how an algorithm over tiles is laid onto a machine, as a value of its own. The code that applies it is
// elsewhere (matrix/KernelToTile, tile/LowerScratch); what may be chosen, and why, is in ScheduleChooser.h.
//
//   contraction { tile BM=510 BN=1024 BK=128; order item depth_block panel row depth; parallel M N;
//     dot fma 6x64 unroll 4 group 8; pack left=rows right=panels; stage panel=L1 left=L2 accumulator=scratch; }
//
// Text and value convert both ways without loss: toString(*parseSchedule(text)) == text for every text that toString
// made.
#pragma once

#include "base/Status.h"
#include "base/Symbol.h"
#include <string>
#include <vector>

namespace tegula {

/// How products are summed. Value-changing: fixed by operation, type and target.
enum class DotKind : uint8_t {
  None,    // no dot in the kernel
  Fma,     // one fused multiply-add per element, in the order of k
  Bf16Dot, // pairs of k by the bf16 dot instruction
};

struct Schedule {
  struct Named {
    Symbol name;
    int64_t value;
    friend bool operator==(const Named&, const Named&) = default;
  };
  struct Place {
    Symbol what, where; // operand or value, and the form or memory in which it is kept
    friend bool operator==(const Place&, const Place&) = default;
  };

  Symbol pattern;               // the template: "contraction", "streaming"
  std::vector<Named> tiles;     // static bound of every Tunable of the kernel
  std::vector<Symbol> order;    // loops from outside in
  std::vector<Symbol> parallel; // dimensions whose blocks are work items
  DotKind dot = DotKind::None;
  int64_t registerRows = 1, registerColumns = 1; // accumulators of the register kernel, in elements
  int64_t unroll = 1;                            // steps of k in an iteration of the register kernel
  int64_t group = 1;                             // panels of the right operand that are packed together
  std::vector<Place> pack;                       // operands of dots that are packed, and how
  std::vector<Place> stage;                      // values that stay in a memory level

  /// The bound of a tunable. Requires: it is there.
  int64_t tile(Symbol name) const;
  friend bool operator==(const Schedule&, const Schedule&) = default;
};

std::string toString(const Schedule&);
/// Fails with what was expected and what was found.
StatusOr<Schedule> parseSchedule(std::string_view text);

} // namespace tegula
