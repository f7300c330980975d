// LLVM IR to an ELF object in memory.
#include "compiler/codegen/Object.h"

#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/CodeGen/MachineModuleInfo.h"
#include "llvm/CodeGen/Passes.h"
#include "llvm/CodeGen/TargetPassConfig.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"

extern "C" {
void LLVMInitializeX86TargetInfo();
void LLVMInitializeX86Target();
void LLVMInitializeX86TargetMC();
void LLVMInitializeX86AsmPrinter();
void LLVMInitializeX86Disassembler();
}

namespace tegula {
namespace {

void initializeLlvm() {
  static const bool done = [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeX86Disassembler();
    return true;
  }();
  (void)done;
}

std::string featureString(const Target& target) {
  std::string features;
  for (const std::string& f : target.features) features += (features.empty() ? "" : ",") + f;
  return features;
}

/// LLVM's default handler prints and exits; a compiler in a library must not.
class ErrorText final : public llvm::DiagnosticHandler {
public:
  explicit ErrorText(std::string& text) : text_(text) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo& info) override {
    if (info.getSeverity() != llvm::DS_Error) return true;
    llvm::raw_string_ostream stream(text_);
    llvm::DiagnosticPrinterRawOStream printer(stream);
    if (!text_.empty()) stream << "; ";
    info.print(printer);
    return true;
  }

private:
  std::string& text_;
};

void setAttributes(llvm::Module& module, const Target& target, std::string_view entry) {
  const std::string features = featureString(target);
  for (llvm::Function& f : module) {
    if (f.isDeclaration()) continue;
    f.addFnAttr("target-cpu", target.cpu);
    if (!features.empty()) f.addFnAttr("target-features", features);
    f.addFnAttr("prefer-vector-width", std::to_string(target.vectorBytes * 8));
    f.addFnAttr("no-builtins"); // no loop becomes a call to memset or memcpy
    f.addFnAttr(llvm::Attribute::NoUnwind);
    f.addFnAttr(llvm::Attribute::WillReturn);
    f.removeFnAttr("probe-stack");
    const bool isEntry = f.getName() == llvm::StringRef(entry);
    f.setLinkage(isEntry ? llvm::GlobalValue::ExternalLinkage : llvm::GlobalValue::InternalLinkage);
    if (isEntry) f.setVisibility(llvm::GlobalValue::HiddenVisibility); // addressed without a global offset table
  }
}

/// MLIR's vector.fma becomes llvm.fmuladd, which LLVM may split; here a fused multiply-add always rounds once.
void fuseMultiplyAdds(llvm::Module& module) {
  for (llvm::Function& declared : llvm::make_early_inc_range(module)) {
    if (declared.getIntrinsicID() != llvm::Intrinsic::fmuladd) continue;
    llvm::Function* fma =
        llvm::Intrinsic::getOrInsertDeclaration(&module, llvm::Intrinsic::fma, {declared.getReturnType()});
    declared.replaceAllUsesWith(fma);
    declared.eraseFromParent();
  }
}

/// 2^n in the type of x, for exponents of normal numbers.
llvm::Value* powerOfTwo(llvm::IRBuilder<>& b, llvm::Value* n, llvm::Type* type) {
  constexpr int bias = 127, mantissaBits = 23;
  llvm::Value* biased = b.CreateAdd(n, llvm::ConstantInt::get(n->getType(), bias));
  return b.CreateBitCast(b.CreateShl(biased, mantissaBits), type);
}

/// llvm.ldexp of f32 is one instruction with AVX-512 (vscalefps); elsewhere LLVM would call the C library, so it
/// becomes two multiplications with the same result. Requires: exponents within 250 of 0 (codegen/Math.cpp).
void expandLdexp(llvm::Module& module, const Target& target) {
  for (llvm::Function& declared : llvm::make_early_inc_range(module)) {
    if (declared.getIntrinsicID() != llvm::Intrinsic::ldexp) continue;
    auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(declared.getReturnType());
    constexpr unsigned fewestLanes = 4; // one register of the smallest kind
    if (target.vectorBytes == 64 && vector && vector->getNumElements() >= fewestLanes) continue;
    for (llvm::User* user : llvm::make_early_inc_range(declared.users())) {
      auto* call = llvm::cast<llvm::CallInst>(user);
      llvm::IRBuilder<> b(call);
      llvm::Value *x = call->getArgOperand(0), *n = call->getArgOperand(1);
      llvm::Value* half = b.CreateAShr(n, uint64_t(1));
      llvm::Value* scaled = b.CreateFMul(x, powerOfTwo(b, half, x->getType()));
      call->replaceAllUsesWith(b.CreateFMul(scaled, powerOfTwo(b, b.CreateSub(n, half), x->getType())));
      call->eraseFromParent();
    }
    declared.eraseFromParent();
  }
}

/// What a kernel needs of LLVM's optimiser: clean-up, and loop-invariant code out of loops that are tested at their
/// end. Vector widths, unrolling and blocking are decided before, so that the rest of -O2 costs three times as much and
/// gives the same innermost loops.
constexpr llvm::StringLiteral kOptimisations = "function(sroa,early-cse<memssa>,simplifycfg,instcombine<no-verify-"
                                               "fixpoint>,loop-mssa(loop-rotate,licm),simplifycfg,early-cse<memssa>,"
                                               "instcombine<no-verify-fixpoint>,loop-mssa(licm),adce,simplifycfg)";

Status optimise(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  llvm::ModulePassManager passes;
  if (llvm::Error error = builder.parsePassPipeline(passes, kOptimisations))
    return internal("LLVM does not know the optimisations {}: {}", kOptimisations.str(),
                    llvm::toString(std::move(error)));
  passes.run(module, modules);
  return OkStatus();
}

/// What TargetMachine::addPassesToEmitFile adds, except for what the options leave out.
bool addCodeGeneration(llvm::legacy::PassManager& passes, llvm::TargetMachine& machine, llvm::raw_pwrite_stream& object,
                       const CodeOptions& options) {
  auto* functions = new llvm::MachineModuleInfoWrapperPass(&machine); // owned by the pass manager, as is the next
  llvm::TargetPassConfig* config = machine.createPassConfig(passes);
  config->setDisableVerify(true);
  if (options.fullRegisters) config->disablePass(&llvm::EarlyMachineLICMID);
  passes.add(config);
  passes.add(functions);
  if (config->addISelPasses()) return false;
  config->addMachinePasses();
  config->setInitialized();
  llvm::MCContext& context = functions->getMMI().getContext();
  if (machine.addAsmPrinter(passes, object, nullptr, llvm::CodeGenFileType::ObjectFile, context)) return false;
  passes.add(llvm::createFreeMachineFunctionPass());
  return true;
}

} // namespace

StatusOr<std::unique_ptr<llvm::TargetMachine>> makeTargetMachine(const Target& target) {
  initializeLlvm();
  std::string error;
  llvm::Triple triple(target.triple);
  const llvm::Target* llvmTarget = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!llvmTarget) return internal("target {}: LLVM does not know {}: {}", target.name, target.triple, error);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  std::unique_ptr<llvm::TargetMachine> machine(
      llvmTarget->createTargetMachine(triple, target.cpu, featureString(target), options, llvm::Reloc::PIC_,
                                      llvm::CodeModel::Small, llvm::CodeGenOptLevel::Aggressive));
  if (!machine) return internal("target {}: LLVM cannot generate code for {}", target.name, target.triple);
  return machine;
}

StatusOr<std::vector<uint8_t>> compileToObject(llvm::Module& module, const Target& target, std::string_view entry,
                                               const CodeOptions& options, std::string* optimised) {
  TG_ASSIGN_OR_RETURN(std::unique_ptr<llvm::TargetMachine> machine, makeTargetMachine(target));
  std::string errors;
  module.getContext().setDiagnosticHandler(std::make_unique<ErrorText>(errors));
  const llvm::Function* kernel = module.getFunction(llvm::StringRef(entry));
  if (!kernel || kernel->isDeclaration()) return internal("kernel module has no function named {}", entry);
  module.setTargetTriple(machine->getTargetTriple());
  module.setDataLayout(machine->createDataLayout());
  setAttributes(module, target, entry);
  fuseMultiplyAdds(module);
  expandLdexp(module, target);
  TG_RETURN_IF_ERROR(optimise(module, *machine));
  if (optimised) {
    llvm::raw_string_ostream stream(*optimised);
    module.print(stream, nullptr);
  }
  llvm::SmallVector<char, 0> object;
  llvm::raw_svector_ostream stream(object);
  llvm::legacy::PassManager passes;
  if (!addCodeGeneration(passes, *machine, stream, options))
    return internal("target {}: LLVM cannot write objects", target.name);
  passes.run(module);
  if (!errors.empty()) return internal("code generation of {}: {}", entry, errors);
  return std::vector<uint8_t>(object.begin(), object.end());
}

} // namespace tegula
