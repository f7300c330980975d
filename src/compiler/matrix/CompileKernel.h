// From a tile kernel's source to its code image: tile dialect, lowering to scratch and vectors, machine code.
// No MLIR type passes this header.
#pragma once

#include "compiler/codegen/Pipeline.h"
#include "compiler/matrix/TileKernel.h"

namespace tegula::matrix {

/// Texts of the stages that are this folder's, then those of the pipeline; each is what the code was made of.
struct KernelTexts {
  std::string schedule; // the schedule and why it was chosen
  std::string tile;
  StageTexts stages;
};

/// Fails: a statement or function of the kernel that has no lowering, with its line.
StatusOr<CodeImage> compileKernel(const TileKernelSource&, const Target&, KernelTexts* = nullptr);

/// Bytes of scratch that a worker needs. Lowers the kernel, milliseconds: keep the answer.
StatusOr<int64_t> scratchBytesOf(const TileKernelSource&);

} // namespace tegula::matrix
