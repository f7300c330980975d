// From MLIR without tiles (scf, cf, arith, vector, func, llvm, ub, index) to a code image, in process:
//
//   module -> scf to cf -> vector and the rest to the LLVM dialect -> LLVM IR -> optimise -> ELF object -> image
//   (Image.h)
//
//   auto context = makeContext();
//   mlir::OwningOpRef<mlir::ModuleOp> module = ...build in *context...;
//   TG_ASSIGN_OR_RETURN(CodeImage image, compileModule(*module, target, "kernel"));
//
// Threads: an MLIRContext belongs to one thread at a time (its own thread pool is off); make one per compilation.
// compileModule may run on several threads, each with its own context. The same module and target give the same bytes.
#pragma once

#include "compiler/Target.h"
#include "compiler/codegen/Image.h"
#include <memory>

namespace mlir {
class MLIRContext;
class ModuleOp;
} // namespace mlir

namespace tegula {

/// A context with every dialect and conversion interface that compileModule understands, dialects loaded.
std::unique_ptr<mlir::MLIRContext> makeContext();

/// What a kernel's author knows about its code and LLVM does not.
struct CodeOptions {
  /// The innermost loops fill the vector registers: constants are loaded where they are used. LLVM would move those of
  /// an epilogue in front of the loops and keep accumulators in memory instead, at half the speed.
  bool fullRegisters = false;
};

/// Texts of the last stages, filled when asked for; each is what the code was really made of.
struct StageTexts {
  std::string mlir;     // the module as given
  std::string llvm;     // LLVM IR after optimisation
  std::string assembly; // the image, disassembled
};

/// Compiles `module`, whose function `entry` is the kernel (ABI: tg_cpu_kernel_fn); consumes its contents.
/// Functions other than the entry become internal. Argument attributes llvm.noalias, llvm.readonly and the like are
/// kept. Fails: (Internal) with MLIR's or LLVM's diagnostics; undefined symbols by name.
StatusOr<CodeImage> compileModule(mlir::ModuleOp module, const Target&, std::string_view entry, StageTexts* = nullptr,
                                  CodeOptions = {});

} // namespace tegula
