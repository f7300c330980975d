// The kernel that measures a peak rate: independent chains of the multiply-add (or dot) instruction, nothing else.
//
//   auto source = makePeakKernel(target, DType::F32);          // a KernelSource, for Compiler::peakKernel
//   TG_ASSIGN_OR_RETURN(image, compilePeakKernel(*source, target));
//
// binding 0: 4 KiB, written only if a sum has an impossible value, so that the chains are not removed. No scalars, no
// scratch.
#pragma once

#include "compiler/Target.h"
#include "compiler/codegen/Image.h"
#include "graph/Group.h"

namespace tegula {

struct StageTexts;

struct PeakKernelSource : KernelSource {
  DType operand = DType::F32;
  int64_t chains = 0; // independent accumulators, at least 12 where registers allow
  int64_t rounds = 0; // instructions of one chain in a work item
  double flopsPerItem = 0;
};

/// Fails: (Unimplemented) `operand` is neither f32 nor, on a target with a dot instruction, bf16.
StatusOr<std::shared_ptr<const PeakKernelSource>> makePeakKernel(const Target&, DType operand);

StatusOr<CodeImage> compilePeakKernel(const PeakKernelSource&, const Target&, StageTexts* = nullptr);

} // namespace tegula
