// From a graph and its partition to units of work on storages: every view becomes strides of an operand, every value
// that crosses groups gets a storage, and copies appear only where strides cannot say it or the kernel does not take
// them.
#pragma once

#include "graph/fusion/Fuse.h"
#include "graph/layout/StridedView.h"

namespace tegula {

/// Memory that one or more units write and others read.
struct Storage {
  enum class Kind : uint8_t { Temporary, Input, Constant };
  Kind kind = Kind::Temporary;
  int32_t index = -1; // Input: graph input; Constant: LayoutResult::constants
  int64_t sizeBytes = 0;
  std::string label;
};

/// A part of a storage as an operand.
struct Place {
  int32_t storage = -1;
  int64_t offsetBytes = 0;
  Layout layout;
  friend bool operator==(const Place&, const Place&) = default;
};

/// One group and where its operands are.
struct Unit {
  Group group;
  std::vector<Place> inputs, outputs;
  bool isCopy = false;
};

struct LayoutResult {
  std::vector<Storage> storages; // the first ones are the graph's inputs, in order
  std::vector<Unit> units;       // in an order in which they can run
  std::vector<HostArray> constants;
  std::vector<Place> outputs;  // of the graph: row-major
  std::vector<Place> assigned; // one per assign: row-major
  int64_t copiedBytes = 0;     // by units that only copy
};

StatusOr<LayoutResult> layout(const Graph&, const Partition&, const TargetModel&);

} // namespace tegula
