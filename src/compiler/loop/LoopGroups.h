// Groups that loop kernels compute: which nodes may fuse, how a group becomes dispatches, how a kernel becomes code.
// Threads: pure functions.
#pragma once

#include "compiler/Compiler.h"
#include "compiler/codegen/Pipeline.h"
#include "compiler/loop/AxisMemory.h"
#include "compiler/loop/Dispatch.h"

namespace tegula::loop {

/// Why these nodes (sorted, convex, primitives only) are not one loop kernel; empty if they are. A group has
/// - elementwise, broadcast, iota, constant and random values without limit but for its size;
/// - reductions over one set of axes. Over inner axes results may be used again at full shape; over outer axes a group
/// only
///   yields reduced results, because going over the columns twice is slower than two kernels;
/// - gathers from operands, as producers;
/// - results of one shape (and, with reductions, the folded one).
/// Everything else is a group of its own.
std::string whyNotFuse(const Graph&, std::span<const int32_t> nodes);

/// Dispatches at the group's extents. The memory (one a compiler) makes extents of 1 find the kernels of other extents.
/// Fails: (Unimplemented) what has no loop kernel.
StatusOr<GroupSchedule> schedule(const Group&, const Target&, AxisMemory&);

/// Compiles a kernel. `tileText` and `texts` receive the stages when given.
StatusOr<CodeImage> compile(const LoopSource&, const Target&, std::string* tileText = nullptr,
                            StageTexts* texts = nullptr);

} // namespace tegula::loop
