// Reads a fusion group around a kept operator into a tile kernel's source and the arguments of its dispatch.
#pragma once

#include "compiler/matrix/OperandMap.h"

namespace tegula::matrix {

/// What a dispatch needs besides the code.
struct KernelArguments {
  Shape batch;                       // leading axes of the results
  std::map<Symbol, int64_t> extents; // of every dimension of the kernel
  struct Strides {
    AxisMap map; // of the index space it was made for
    Shape batch; // one per batch axis
    int64_t row = 0, col = 0;
    Symbol rowDim, colDim; // the kernel's dimensions of the window's axes
  };
  std::vector<Strides> windows; // one per TileKernelSource::windows
};

/// Fills everything of `source` but the schedule. `node` is the kept operator of the group.
/// Fails: a group that the kernel cannot compute, in words.
Status readGroup(const Group&, int32_t node, TileKernelSource& source, KernelArguments& arguments);

/// The kept operator of a body; -1 if there is none or more than one.
int32_t keptOperator(const Graph& body);

} // namespace tegula::matrix
