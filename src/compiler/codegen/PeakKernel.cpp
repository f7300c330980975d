// The kernel that measures a peak rate.
#include "compiler/codegen/Lanes.h"

#include "compiler/codegen/PeakKernel.h"

#include "compiler/codegen/Pipeline.h"

namespace tegula {
namespace {

using namespace mlir;
using Value = mlir::Value; // not the graph's

constexpr StringLiteral entryName = "peak";

/// acc + x y for one instruction; bf16 operands are the same bits seen as pairs.
Value multiplyAdd(Lanes& l, bool isBf16, Value x, Value y, Value acc) {
  if (!isBf16) return l.fma(x, y, acc);
  const int64_t lanes = l.type.getNumElements();
  auto pairs = VectorType::get({2 * lanes}, l.b.getBF16Type());
  Value a = vector::BitCastOp::create(l.b, l.loc, pairs, x), c = vector::BitCastOp::create(l.b, l.loc, pairs, y);
  const std::string name = fmt::format("llvm.x86.avx512bf16.dpbf16ps.{}", 32 * lanes);
  return LLVM::CallIntrinsicOp::create(l.b, l.loc, l.type, l.b.getStringAttr(name), ValueRange{acc, a, c}).getResult(0);
}

/// The chains of one work item. Their operands come from the item's number: known to nobody at compile time, of
/// ordinary magnitude, so that no value is subnormal, infinite or NaN.
void emitItem(OpBuilder& b, Location loc, const PeakKernelSource& source, const Target& target, Value item,
              Value binding) {
  Lanes l(b, loc, VectorType::get({target.vectorElements(4)}, b.getF32Type()));
  Value number = arith::SIToFPOp::create(b, loc, b.getF32Type(), item);
  Value spread = vector::BroadcastOp::create(b, loc, l.type, number);
  Value x = l.fma(spread, l.number(0x1p-60), l.number(1.0)), y = l.fma(spread, l.number(-0x1p-60), l.number(0.5));
  SmallVector<Value> start;
  for (int64_t i = 0; i < source.chains; ++i)
    start.push_back(l.fma(spread, l.number(0x1p-50), l.number(double(i + 1))));
  auto index = [&](int64_t v) -> Value { return arith::ConstantIndexOp::create(b, loc, v); };
  auto loop = scf::ForOp::create(b, loc, index(0), index(source.rounds), index(1), start);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> next;
    for (Value acc : loop.getRegionIterArgs()) next.push_back(multiplyAdd(l, source.operand == DType::BF16, x, y, acc));
    scf::YieldOp::create(b, loc, next);
  }
  Value sum = loop.getResult(0);
  for (Value acc : llvm::drop_begin(loop.getResults())) sum = l.add(sum, acc);
  Value lane = vector::ExtractOp::create(b, loc, sum, 0);
  Value impossible = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(-1));
  Value never = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, lane, impossible);
  auto branch = scf::IfOp::create(b, loc, never, /*withElseRegion=*/false);
  b.setInsertionPointToStart(branch.thenBlock());
  LLVM::StoreOp::create(b, loc, sum, binding, 4);
}

} // namespace

StatusOr<std::shared_ptr<const PeakKernelSource>> makePeakKernel(const Target& target, DType operand) {
  if (operand != DType::F32 && !(operand == DType::BF16 && target.bf16Dot))
    return unsupported("peak rate of {}: {} has no instruction for it", name(operand), target.name);
  auto source = std::make_shared<PeakKernelSource>();
  source->operand = operand;
  source->chains = target.vectorRegisters >= 32 ? 24 : 12; // the rest hold x, y and spare
  source->rounds = 512;
  const int64_t macs = target.vectorElements(4) * (operand == DType::BF16 ? 2 : 1);
  source->flopsPerItem = 2.0 * static_cast<double>(macs * source->chains * source->rounds);
  source->name = fmt::format("peak_{}", name(operand));
  source->key =
      fmt::format("peak {} chains={} rounds={} target={}", name(operand), source->chains, source->rounds, target.name);
  return source;
}

StatusOr<CodeImage> compilePeakKernel(const PeakKernelSource& source, const Target& target, StageTexts* texts) {
  using Value = mlir::Value;
  auto context = makeContext();
  OpBuilder b(context.get());
  Location loc = b.getUnknownLoc();
  OwningOpRef<ModuleOp> module = ModuleOp::create(b, loc);
  b.setInsertionPointToEnd(module->getBody());
  Type pointer = LLVM::LLVMPointerType::get(context.get()), i64 = b.getI64Type();
  auto f = func::FuncOp::create(b, loc, entryName, b.getFunctionType({pointer, pointer, i64, i64, pointer}, {}));
  b.setInsertionPointToStart(f.addEntryBlock());
  Value binding = LLVM::LoadOp::create(b, loc, pointer, f.getArgument(0));
  auto index = [&](Value v) -> Value { return arith::IndexCastOp::create(b, loc, b.getIndexType(), v); };
  auto loop = scf::ForOp::create(b, loc, index(f.getArgument(2)), index(f.getArgument(3)),
                                 arith::ConstantIndexOp::create(b, loc, 1));
  func::ReturnOp::create(b, loc);
  b.setInsertionPointToStart(loop.getBody());
  Value item = arith::IndexCastOp::create(b, loc, i64, loop.getInductionVar());
  emitItem(b, loc, source, target, item, binding);
  return compileModule(*module, target, std::string_view(entryName), texts);
}

} // namespace tegula
