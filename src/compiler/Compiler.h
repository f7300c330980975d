// The compiler's face: a TargetModel that can also turn kernels into code images. No MLIR type passes this header.
//
//   TG_ASSIGN_OR_RETURN(auto compiler, Compiler::create(options, library));
//   plan = makePlan(graph, *compiler);  image = compiler->compile(*plan.kernels[0]);
//
// Threads: schedule() and compile() may be called from several threads at once.
#pragma once

#include "compiler/Target.h"
#include "compiler/codegen/Image.h"
#include "graph/TargetModel.h"
#include <memory>

namespace tegula {

/// The device ABI of a CPU kernel (format `cpu-image-1`): bindings are the addresses of the operands' first elements.
/// Work items [begin, end) may run in any order, concurrently with others; `scratch` is 64-byte aligned and private.
extern "C" typedef void (*CpuKernelFunction)(void* const* bindings, const int64_t* scalars, int64_t begin, int64_t end,
                                             void* scratch);

/// Stages of `tegula op show --stage`, each what was really used for the code.
enum class Stage { Source, Pattern, Graph, Schedule, Tile, Mlir, Llvm, Asm };
StatusOr<Stage> parseStage(std::string_view);

class Compiler : public TargetModel {
public:
  /// `target` from detectTarget() or the name of a targets/*.toml entry.
  static StatusOr<std::unique_ptr<Compiler>> create(Target target, std::shared_ptr<const OperatorLibrary>);

  virtual const Target& target() const = 0;
  virtual StatusOr<CodeImage> compile(const KernelSource&) const = 0;
  /// The text of one stage of a kernel (Schedule, Tile, Mlir, Llvm, Asm); the earlier stages come from lang and graph.
  virtual StatusOr<std::string> show(const KernelSource&, Stage) const = 0;
  /// Why the tile kernel of a library operator is not used for this node's types; empty: it is used.
  virtual std::string whyNotKernel(const Graph&, const Node&) const = 0;
  /// Changes when generated code may change: part of every cache key.
  virtual std::string_view version() const = 0;
  /// A kernel of independent FMA (or dot) accumulators that measures a peak rate, for runtime/Calibrate.
  /// Returns flops per work item through `flopsPerItem`. bindings: one buffer of 4 KiB.
  virtual StatusOr<KernelRef> peakKernel(DType operand, double& flopsPerItem) const = 0;
};

/// For each operator of the graph, and of those that they call, whose tile kernel is not used: "NAME's tile kernel is not
/// used: WHY". Its definition is compiled instead.
StatusOr<std::vector<std::string>> unusedKernels(const Graph&, const Compiler&);

} // namespace tegula
