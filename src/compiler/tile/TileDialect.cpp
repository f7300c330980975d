// Registration, types and assembly of the tile dialect.
#include "compiler/tile/TileDialect.h"
#include "llvm/ADT/TypeSwitch.h"

#include "compiler/tile/TileDialect.cpp.inc"
#include "compiler/tile/TileEnums.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "compiler/tile/TileTypes.cpp.inc"
#define GET_OP_CLASSES
#include "compiler/tile/TileOps.cpp.inc"

namespace tegula::tile {

void TileDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "compiler/tile/TileTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "compiler/tile/TileOps.cpp.inc"
      >();
}

mlir::Type TileType::parse(mlir::AsmParser& parser) {
  mlir::SmallVector<int64_t, 2> bound;
  mlir::Type element;
  if (parser.parseLess() || parser.parseDimensionList(bound, /*allowDynamic=*/false) || parser.parseType(element) ||
      parser.parseGreater())
    return {};
  if (bound.size() != 2) {
    parser.emitError(parser.getNameLoc(), "a tile has two dimensions");
    return {};
  }
  return get(parser.getContext(), bound[0], bound[1], element);
}

void TileType::print(mlir::AsmPrinter& printer) const {
  printer << '<' << getRows() << 'x' << getCols() << 'x' << getElementType() << '>';
}

KernelFunction beginKernel(mlir::OpBuilder& b, mlir::ModuleOp module, llvm::StringRef name, int64_t lanes) {
  mlir::Location loc = module.getLoc();
  mlir::Type pointer = mlir::LLVM::LLVMPointerType::get(b.getContext()), i64 = b.getI64Type();
  b.setInsertionPointToEnd(module.getBody());
  auto function =
      mlir::func::FuncOp::create(b, loc, name, b.getFunctionType({pointer, pointer, i64, i64, pointer}, {}));
  function->setAttr(kLanesAttribute, b.getI64IntegerAttr(lanes));
  mlir::Block* entry = function.addEntryBlock();
  b.setInsertionPointToStart(entry);
  auto toIndex = [&](mlir::Value v) {
    return mlir::arith::IndexCastOp::create(b, loc, b.getIndexType(), v).getResult();
  };
  mlir::Value begin = toIndex(entry->getArgument(2)), end = toIndex(entry->getArgument(3));
  mlir::Value one = mlir::arith::ConstantIndexOp::create(b, loc, 1);
  auto loop = mlir::scf::ForOp::create(b, loc, begin, end, one);
  mlir::func::ReturnOp::create(b, loc);
  b.setInsertionPointToStart(loop.getBody());
  return {function, loop.getInductionVar()};
}

} // namespace tegula::tile
