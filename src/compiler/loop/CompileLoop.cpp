// Loop kernel to code image: tile IR, vectors, then codegen/Pipeline.h.
#include "compiler/codegen/Mlir.h"

#include "compiler/loop/LoopGroups.h"

#include "compiler/loop/EmitLoop.h"
#include "compiler/tile/LowerTile.h"

namespace tegula::loop {

StatusOr<CodeImage> compile(const LoopSource& source, const Target& target, std::string* tileText, StageTexts* texts) {
  constexpr std::string_view kEntry = "kernel";
  std::unique_ptr<mlir::MLIRContext> context = makeContext();
  context->loadDialect<tile::TileDialect>();
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(mlir::UnknownLoc::get(context.get()));
  emitLoop(source.kernel, *module, kEntry);
  if (tileText) {
    llvm::raw_string_ostream stream(*tileText);
    module->print(stream);
  }
  TG_RETURN_IF_ERROR(addContext(tile::lowerTiles(*module), source.name));
  StatusOr<CodeImage> image = compileModule(*module, target, kEntry, texts);
  if (!image.ok()) return addContext(image.status(), source.name);
  return image;
}

} // namespace tegula::loop
