// Compiles a module written as MLIR text, for tests.
#include "compiler/codegen/Mlir.h"

#include "TextModule.h"

#include "compiler/codegen/Pipeline.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"

namespace tegula {

StatusOr<CodeImage> compileText(std::string_view text, const Target& target) {
  auto context = makeContext();
  std::string errors;
  mlir::ScopedDiagnosticHandler handler(context.get(),
                                        [&](mlir::Diagnostic& d) { return errors += d.str(), mlir::success(); });
  auto module = mlir::parseSourceString<mlir::ModuleOp>(llvm::StringRef(text), context.get());
  if (!module) return invalid("module text: {}", errors);
  return compileModule(*module, target, "kernel");
}

} // namespace tegula
