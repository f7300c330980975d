// MLIR passes and translation to LLVM IR. The one file that names MLIR's conversion passes and moving dialects.
#include "compiler/codegen/Mlir.h"

#include "compiler/codegen/Pipeline.h"

#include "compiler/codegen/Object.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/ConvertToLLVM/ToLLVMPass.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Index/IR/IndexDialect.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

namespace tegula {
namespace {

const mlir::DialectRegistry& registry() {
  static const mlir::DialectRegistry* const instance = [] {
    auto* r = new mlir::DialectRegistry;
    r->insert<mlir::arith::ArithDialect, mlir::cf::ControlFlowDialect, mlir::func::FuncDialect,
              mlir::index::IndexDialect, mlir::LLVM::LLVMDialect, mlir::scf::SCFDialect, mlir::ub::UBDialect,
              mlir::vector::VectorDialect>();
    mlir::registerConvertToLLVMDependentDialectLoading(*r);
    mlir::arith::registerConvertArithToLLVMInterface(*r);
    mlir::cf::registerConvertControlFlowToLLVMInterface(*r);
    mlir::registerConvertFuncToLLVMInterface(*r);
    mlir::index::registerConvertIndexToLLVMInterface(*r);
    mlir::ub::registerConvertUBToLLVMInterface(*r);
    mlir::vector::registerConvertVectorToLLVMInterface(*r);
    mlir::registerBuiltinDialectTranslation(*r);
    mlir::registerLLVMDialectTranslation(*r);
    return r;
  }();
  return *instance;
}

/// Collects error diagnostics while alive, so that a failure can be told in words.
class DiagnosticText {
public:
  explicit DiagnosticText(mlir::MLIRContext* context)
      : handler_(context, [this](mlir::Diagnostic& d) {
          if (d.getSeverity() == mlir::DiagnosticSeverity::Error) text_ += (text_.empty() ? "" : "; ") + d.str();
          return mlir::success();
        }) {}
  const std::string& text() const { return text_; }

private:
  std::string text_;
  mlir::ScopedDiagnosticHandler handler_;
};

Status lowerToLlvmDialect(mlir::ModuleOp module, const DiagnosticText& diagnostics) {
  if (mlir::failed(mlir::verify(module))) return internal("a kernel's module is malformed: {}", diagnostics.text());
  mlir::PassManager passes(module.getContext());
  passes.enableVerifier(false);
  passes.addPass(mlir::createCSEPass()); // less to convert; simplifying and moving code is LLVM's
  passes.addPass(mlir::createSCFToControlFlowPass());
  passes.addPass(mlir::createConvertVectorToLLVMPass());
  passes.addPass(mlir::createConvertToLLVMPass()); // one conversion through the dialects' own interfaces
  passes.addPass(mlir::createReconcileUnrealizedCastsPass());
  if (mlir::failed(passes.run(module))) return internal("lowering a kernel to LLVM failed: {}", diagnostics.text());
  return OkStatus();
}

} // namespace

std::unique_ptr<mlir::MLIRContext> makeContext() {
  auto context = std::make_unique<mlir::MLIRContext>(registry(), mlir::MLIRContext::Threading::DISABLED);
  context->loadAllAvailableDialects();
  return context;
}

StatusOr<CodeImage> compileModule(mlir::ModuleOp module, const Target& target, std::string_view entry,
                                  StageTexts* texts, CodeOptions options) {
  DiagnosticText diagnostics(module.getContext());
  if (texts) {
    llvm::raw_string_ostream stream(texts->mlir);
    module.print(stream);
  }
  TG_RETURN_IF_ERROR(lowerToLlvmDialect(module, diagnostics));
  llvm::LLVMContext context;
  auto ir = mlir::translateModuleToLLVMIR(module, context, "kernel");
  if (!ir) return internal("translating kernel {} to LLVM IR failed: {}", entry, diagnostics.text());
  TG_ASSIGN_OR_RETURN(std::vector<uint8_t> object,
                      compileToObject(*ir, target, entry, options, texts ? &texts->llvm : nullptr));
  TG_ASSIGN_OR_RETURN(CodeImage image, linkImage(object, entry, instructionSets(target)));
  if (texts) {
    TG_ASSIGN_OR_RETURN(texts->assembly, disassemble(image, target));
  }
  return image;
}

} // namespace tegula
