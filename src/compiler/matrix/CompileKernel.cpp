// CompileKernel: the stages of a tile kernel in order.
#include "compiler/codegen/Mlir.h"

#include "compiler/matrix/CompileKernel.h"

#include "compiler/matrix/KernelToTile.h"
#include "compiler/tile/LowerScratch.h"

namespace tegula::matrix {

StatusOr<CodeImage> compileKernel(const TileKernelSource& source, const Target& target, KernelTexts* texts) {
  std::unique_ptr<mlir::MLIRContext> context = makeContext();
  TG_ASSIGN_OR_RETURN(mlir::OwningOpRef<mlir::ModuleOp> module, buildTileModule(source, *context));
  if (texts) {
    texts->schedule = toString(source.schedule) + "\n" + source.reasons;
    llvm::raw_string_ostream stream(texts->tile);
    module->print(stream);
  }
  TG_RETURN_IF_ERROR(tile::lowerScratchTiles(*module).status());
  CodeOptions code;
  code.fullRegisters = source.schedule.dot != DotKind::None;
  return compileModule(*module, target, kKernelName, texts ? &texts->stages : nullptr, code);
}

StatusOr<int64_t> scratchBytesOf(const TileKernelSource& source) {
  std::unique_ptr<mlir::MLIRContext> context = makeContext();
  TG_ASSIGN_OR_RETURN(mlir::OwningOpRef<mlir::ModuleOp> module, buildTileModule(source, *context));
  return tile::lowerScratchTiles(*module);
}

} // namespace tegula::matrix
