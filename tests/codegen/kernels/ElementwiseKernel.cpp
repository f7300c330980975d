// A one-operator kernel for tests.
#include "compiler/codegen/Mlir.h"

#include "ElementwiseKernel.h"

#include "MappedImage.h"
#include "compiler/codegen/Math.h"
#include "compiler/codegen/Pipeline.h"
#include <gtest/gtest.h>

namespace tegula {

using namespace mlir;

StatusOr<CodeImage> compileElementwise(const ElementwiseKernel& kernel, const Target& target, StageTexts* texts) {
  auto context = makeContext();
  OpBuilder b(context.get());
  Location loc = b.getUnknownLoc();
  OwningOpRef<ModuleOp> module = ModuleOp::create(b, loc);
  b.setInsertionPointToEnd(module->getBody());
  Type pointer = LLVM::LLVMPointerType::get(context.get()), i64 = b.getI64Type();
  auto f = func::FuncOp::create(b, loc, "kernel", b.getFunctionType({pointer, pointer, i64, i64, pointer}, {}));
  b.setInsertionPointToStart(f.addEntryBlock());
  Type element = kernel.f64 ? Type(b.getF64Type()) : Type(b.getF32Type());
  auto vector = VectorType::get({kernel.lanes}, element);
  auto binding = [&](int64_t i) -> Value {
    Value slot =
        LLVM::GEPOp::create(b, loc, pointer, pointer, f.getArgument(0), ArrayRef<LLVM::GEPArg>{LLVM::GEPArg(i)});
    return LLVM::LoadOp::create(b, loc, pointer, slot);
  };
  Value in = binding(0), out = binding(1);
  Value begin = arith::IndexCastOp::create(b, loc, b.getIndexType(), f.getArgument(2));
  Value end = arith::IndexCastOp::create(b, loc, b.getIndexType(), f.getArgument(3));
  Value one = arith::ConstantIndexOp::create(b, loc, 1);
  auto loop = scf::ForOp::create(b, loc, begin, end, one);
  func::ReturnOp::create(b, loc);
  b.setInsertionPointToStart(loop.getBody());
  Value item = arith::IndexCastOp::create(b, loc, i64, loop.getInductionVar());
  auto at = [&](Value base, int64_t scale, int64_t plus) -> Value {
    Value index = arith::MulIOp::create(b, loc, item, arith::ConstantIntOp::create(b, loc, i64, scale));
    index = arith::AddIOp::create(b, loc, index, arith::ConstantIntOp::create(b, loc, i64, plus));
    return LLVM::GEPOp::create(b, loc, pointer, vector, base, ArrayRef<LLVM::GEPArg>{index});
  };
  const int64_t bytes = kernel.f64 ? 8 : 4;
  const bool isPower = kernel.function == "pow";
  Value x = LLVM::LoadOp::create(b, loc, vector, at(in, isPower ? 2 : 1, 0), bytes);
  Value y = x;
  if (isPower)
    y = emitPower(b, loc, x, LLVM::LoadOp::create(b, loc, vector, at(in, 2, 1), bytes));
  else if (kernel.function != "copy")
    y = emitMath(b, loc, Symbol(kernel.function), x);
  LLVM::StoreOp::create(b, loc, y, at(out, 1, 0), bytes);
  return compileModule(*module, target, "kernel", texts);
}

template <typename T>
std::vector<T> runElementwise(const CodeImage& image, const ElementwiseKernel& kernel, std::vector<T> x) {
  std::vector<T> y(kernel.function == "pow" ? x.size() / 2 : x.size(), T(-12345));
  MappedImage mapped(image.bytes);
  EXPECT_NE(mapped.kernel(), nullptr);
  void* bindings[] = {x.data(), y.data()};
  mapped.kernel()(bindings, nullptr, 0, static_cast<int64_t>(y.size()) / kernel.lanes, nullptr);
  return y;
}
template std::vector<float> runElementwise(const CodeImage&, const ElementwiseKernel&, std::vector<float>);
template std::vector<double> runElementwise(const CodeImage&, const ElementwiseKernel&, std::vector<double>);

} // namespace tegula
