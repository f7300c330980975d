// What the graph may ask about a target. Implemented by the compiler (and by test doubles); the graph knows no other
// face of a device.
#pragma once

#include "graph/Group.h"

namespace tegula {

class TargetModel {
public:
  virtual ~TargetModel() = default;

  /// True if `node` (a library operator) is to stay whole because a tile kernel implements it for these types.
  virtual bool keepsWhole(const Graph&, const Node&) const = 0;

  /// May these nodes of `g` form one group? Empty: yes. Otherwise the reason, in words.
  /// `nodes` is sorted and convex.
  virtual std::string whyNotFuse(const Graph& g, std::span<const int32_t> nodes) const = 0;

  /// Can the kernel of `node` read operand `input` through these strides (a view), or does it need row-major?
  virtual bool acceptsStrides(const Graph& g, int32_t node, int input, const Shape& shape,
                              const Shape& strides) const = 0;

  /// Can the kernel of `node` write result `result` through these strides (a transposed storage, or a slice of a larger
  /// tensor), or only row-major?
  virtual bool writesStrides(const Graph& g, int32_t node, int result, const Shape& shape, const Shape& strides) const {
    return false;
  }

  /// The packed layout in which the kernel would like operand `input` of the kept operator `node`, or strided if it
  /// packs by itself.
  virtual Layout preferredLayout(const Graph& g, int32_t node, int input) const = 0;

  /// Cuts a group into dispatches at its concrete extents. Fast (microseconds): it only computes keys and arguments;
  /// compiling is the kernel cache's business. Fails if no kernel can compute the group, saying why.
  virtual StatusOr<GroupSchedule> schedule(const Group&) const = 0;

  /// bf16 matrix products worth having (measured rate of the dot instruction against f32)?
  virtual bool fastBf16Dot() const = 0;
};

} // namespace tegula
