// LLVM IR to an ELF object in memory: attributes, the optimisation pipeline, instruction selection.
#pragma once

#include "base/Status.h"
#include "compiler/Target.h"
#include "compiler/codegen/Pipeline.h"
#include <memory>
#include <vector>

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace tegula {

/// LLVM's description of `target`: position independent, small code model, contraction only where written as fma.
StatusOr<std::unique_ptr<llvm::TargetMachine>> makeTargetMachine(const Target&);

/// Optimises `module` and makes an object. `entry` stays visible, every other function becomes internal.
/// `optimised`, when given, receives the IR that instruction selection saw.
/// Fails: with LLVM's diagnostics; unknown entry.
StatusOr<std::vector<uint8_t>> compileToObject(llvm::Module& module, const Target&, std::string_view entry,
                                               const CodeOptions&, std::string* optimised);

} // namespace tegula
