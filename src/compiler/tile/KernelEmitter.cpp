// KernelEmitter: spelling of addresses, masked accesses, transposes and loops in arith, scf, vector and llvm.
#include "compiler/codegen/Mlir.h"

#include "compiler/tile/KernelEmitter.h"

#include "tensor/Element.h"

namespace tegula {

using namespace mlir;
namespace LL = mlir::LLVM;

KernelEmitter::KernelEmitter(OpBuilder& builder, Location loc) : b_(builder), loc_(loc) {}

Value KernelEmitter::index(int64_t value) { return arith::ConstantOp::create(b_, loc_, b_.getIndexAttr(value)); }
static Value toI64(KernelEmitter& e, Value v) {
  return arith::IndexCastOp::create(e.builder(), e.loc(), e.builder().getI64Type(), v);
}

static std::optional<int64_t> constantOf(Value v) {
  APInt value;
  if (matchPattern(v, m_ConstantInt(&value))) return value.getSExtValue();
  return std::nullopt;
}

Value KernelEmitter::add(Value a, Value b) {
  if (constantOf(a) == 0) return b;
  if (constantOf(b) == 0) return a;
  return arith::AddIOp::create(b_, loc_, a, b, arith::IntegerOverflowFlags::nsw);
}
Value KernelEmitter::add(Value a, int64_t b) { return b == 0 ? a : add(a, index(b)); }
Value KernelEmitter::sub(Value a, Value b) {
  return constantOf(b) == 0 ? a : arith::SubIOp::create(b_, loc_, a, b, arith::IntegerOverflowFlags::nsw).getResult();
}
Value KernelEmitter::mul(Value a, Value b) {
  if (constantOf(a) == 1) return b;
  if (constantOf(b) == 1) return a;
  return arith::MulIOp::create(b_, loc_, a, b, arith::IntegerOverflowFlags::nsw);
}
Value KernelEmitter::mul(Value a, int64_t b) { return b == 1 ? a : mul(a, index(b)); }
Value KernelEmitter::div(Value a, Value b) { return arith::DivUIOp::create(b_, loc_, a, b); }
Value KernelEmitter::rem(Value a, Value b) { return arith::RemUIOp::create(b_, loc_, a, b); }
Value KernelEmitter::min(Value a, Value b) { return arith::MinSIOp::create(b_, loc_, a, b); }
Value KernelEmitter::max(Value a, Value b) { return arith::MaxSIOp::create(b_, loc_, a, b); }
Value KernelEmitter::ceilDiv(Value a, Value b) { return div(add(a, add(b, -1)), b); }
Value KernelEmitter::roundUp(Value a, int64_t unit) { return mul(ceilDiv(a, index(unit)), unit); }
Value KernelEmitter::less(Value a, Value b) { return arith::CmpIOp::create(b_, loc_, arith::CmpIPredicate::slt, a, b); }
Value KernelEmitter::equal(Value a, Value b) { return arith::CmpIOp::create(b_, loc_, arith::CmpIPredicate::eq, a, b); }

Value KernelEmitter::element(Value base, Type type, Value at) {
  if (auto k = constantOf(at)) return element(base, type, *k);
  return LL::GEPOp::create(b_, loc_, base.getType(), type, base, ArrayRef<LL::GEPArg>{toI64(*this, at)});
}
Value KernelEmitter::element(Value base, Type type, int64_t at) {
  if (at == 0) return base;
  if (at >= INT32_MIN && at <= INT32_MAX)
    return LL::GEPOp::create(b_, loc_, base.getType(), type, base, ArrayRef<LL::GEPArg>{static_cast<int32_t>(at)});
  return LL::GEPOp::create(b_, loc_, base.getType(), type, base, ArrayRef<LL::GEPArg>{toI64(*this, index(at))});
}

static unsigned alignmentOf(Type type) {
  Type element = getElementTypeOrSelf(type);
  return isa<LL::LLVMPointerType>(element) ? 8 : std::max(1u, element.getIntOrFloatBitWidth() / 8);
}

Value KernelEmitter::load(Value address, Type type) {
  return LL::LoadOp::create(b_, loc_, type, address, alignmentOf(type));
}
void KernelEmitter::store(Value value, Value address) {
  LL::StoreOp::create(b_, loc_, value, address, alignmentOf(value.getType()));
}
Value KernelEmitter::loadMasked(Value address, VectorType type, Value mask) {
  return LL::MaskedLoadOp::create(b_, loc_, type, address, mask, zero(type), alignmentOf(type));
}
void KernelEmitter::storeMasked(Value value, Value address, Value mask) {
  LL::MaskedStoreOp::create(b_, loc_, value, address, mask, alignmentOf(value.getType()));
}

void KernelEmitter::prefetch(Value address) {
  constexpr unsigned kRead = 0, kAllCaches = 3, kData = 1;
  LL::Prefetch::create(b_, loc_, address, kRead, kAllCaches, kData);
}

static Value laneAddresses(KernelEmitter& e, Value base, Value stride, VectorType type) {
  OpBuilder& b = e.builder();
  int64_t count = type.getNumElements();
  Value offsets = arith::MulIOp::create(b, e.loc(), e.lanes(count), e.splat(toI64(e, stride), count));
  auto pointers = VectorType::get({count}, base.getType());
  return LL::GEPOp::create(b, e.loc(), pointers, type.getElementType(), base, ArrayRef<LL::GEPArg>{offsets});
}

Value KernelEmitter::gather(Value base, Value stride, VectorType type, Value mask) {
  int64_t count = type.getNumElements();
  if (mask)
    return LL::masked_gather::create(b_, loc_, type, laneAddresses(*this, base, stride, type), mask,
                                     ValueRange{zero(type)}, b_.getI32IntegerAttr(alignmentOf(type)));
  Value result = zero(type); // single loads: as fast as the instruction, and every target has them
  for (int64_t l = 0; l < count; ++l) {
    Value lane = load(element(base, type.getElementType(), mul(stride, l)), type.getElementType());
    result = vector::InsertOp::create(b_, loc_, lane, result, ArrayRef<int64_t>{l});
  }
  return result;
}

void KernelEmitter::scatter(Value value, Value base, Value stride, Value mask) {
  auto type = cast<VectorType>(value.getType());
  if (!mask)
    mask = arith::ConstantOp::create(b_, loc_,
                                     DenseElementsAttr::get(vectorOf(b_.getI1Type(), type.getNumElements()), true));
  LL::masked_scatter::create(b_, loc_, value, laneAddresses(*this, base, stride, type), mask,
                             b_.getI32IntegerAttr(alignmentOf(type)));
}

VectorType KernelEmitter::vectorOf(Type element, int64_t lanes) { return VectorType::get({lanes}, element); }
Value KernelEmitter::splat(Value scalar, int64_t lanes) {
  return vector::BroadcastOp::create(b_, loc_, vectorOf(scalar.getType(), lanes), scalar);
}
Value KernelEmitter::zero(Type type) { return arith::ConstantOp::create(b_, loc_, b_.getZeroAttr(type)); }
Value KernelEmitter::constant(Type type, double value) {
  Type element = getElementTypeOrSelf(type);
  TypedAttr attr = isa<FloatType>(element) ? TypedAttr(b_.getFloatAttr(element, value))
                                           : TypedAttr(b_.getIntegerAttr(element, saturatingTruncate<int64_t>(value)));
  if (auto vec = dyn_cast<VectorType>(type)) attr = DenseElementsAttr::get(vec, Attribute(attr));
  return arith::ConstantOp::create(b_, loc_, attr);
}
Value KernelEmitter::fma(Value a, Value b, Value c) { return vector::FMAOp::create(b_, loc_, a, b, c); }

Value KernelEmitter::lanes(int64_t count) {
  llvm::SmallVector<int64_t> values(count);
  for (int64_t i = 0; i < count; ++i) values[i] = i;
  return arith::ConstantOp::create(b_, loc_,
                                   DenseElementsAttr::get(vectorOf(b_.getI64Type(), count), ArrayRef<int64_t>(values)));
}

Value KernelEmitter::firstLanes(Value count, int64_t lanes) {
  // Compared in 32 bits, which takes one register where 64 bits take two.
  Value clamped = min(max(count, index(0)), index(lanes));
  Value narrow = arith::IndexCastOp::create(b_, loc_, b_.getI32Type(), clamped);
  llvm::SmallVector<int32_t> values(lanes);
  for (int64_t i = 0; i < lanes; ++i) values[i] = static_cast<int32_t>(i);
  Value iota = arith::ConstantOp::create(
      b_, loc_, DenseElementsAttr::get(vectorOf(b_.getI32Type(), lanes), ArrayRef<int32_t>(values)));
  return arith::CmpIOp::create(b_, loc_, arith::CmpIPredicate::slt, iota, splat(narrow, lanes));
}

KernelEmitter::Values KernelEmitter::transpose(Values rows) {
  // log2(n) rounds; a round exchanges the off-diagonal blocks of side s of every pair of rows that are s apart.
  auto n = static_cast<int64_t>(rows.size());
  for (int64_t s = 1; s < n; s *= 2) {
    llvm::SmallVector<int64_t> low(n), high(n);
    for (int64_t l = 0; l < n; ++l) {
      low[l] = (l & s) == 0 ? l : n + l - s;
      high[l] = (l & s) == 0 ? l + s : n + l;
    }
    for (int64_t i = 0; i < n; ++i) {
      if (i & s) continue;
      Value a = rows[i], c = rows[i + s];
      rows[i] = vector::ShuffleOp::create(b_, loc_, a, c, low);
      rows[i + s] = vector::ShuffleOp::create(b_, loc_, a, c, high);
    }
  }
  return rows;
}

Value KernelEmitter::foldLanes(Value vector, llvm::function_ref<Value(Value, Value)> combine) {
  int64_t n = cast<VectorType>(vector.getType()).getNumElements();
  for (int64_t half = n / 2; half >= 1; half /= 2) {
    llvm::SmallVector<int64_t> low(half), high(half);
    for (int64_t l = 0; l < half; ++l) low[l] = l, high[l] = half + l;
    vector = combine(vector::ShuffleOp::create(b_, loc_, vector, vector, low),
                     vector::ShuffleOp::create(b_, loc_, vector, vector, high));
  }
  return vector::ExtractOp::create(b_, loc_, vector, ArrayRef<int64_t>{0});
}

void KernelEmitter::loop(Value begin, Value end, int64_t step, llvm::function_ref<void(Value)> body) {
  loop(begin, end, index(step), body);
}
void KernelEmitter::loop(Value begin, Value end, Value step, llvm::function_ref<void(Value)> body) {
  loop(begin, end, step, ValueRange{}, [&](Value i, ValueRange) {
    body(i);
    return Values{};
  });
}

KernelEmitter::Values KernelEmitter::loop(Value begin, Value end, Value step, ValueRange carried,
                                          llvm::function_ref<Values(Value, ValueRange)> body) {
  auto loop = scf::ForOp::create(b_, loc_, begin, end, step, carried);
  {
    OpBuilder::InsertionGuard guard(b_);
    Block* block = loop.getBody();
    if (!block->empty() && block->back().hasTrait<OpTrait::IsTerminator>()) block->back().erase();
    b_.setInsertionPointToEnd(block);
    Values next = body(loop.getInductionVar(), loop.getRegionIterArgs());
    scf::YieldOp::create(b_, loc_, next);
  }
  return Values(loop.getResults());
}

void KernelEmitter::branch(Value condition, llvm::function_ref<void()> then, llvm::function_ref<void()> otherwise) {
  auto op = scf::IfOp::create(b_, loc_, condition, /*withElseRegion=*/static_cast<bool>(otherwise));
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPoint(op.thenBlock()->getTerminator());
  then();
  if (!otherwise) return;
  b_.setInsertionPoint(op.elseBlock()->getTerminator());
  otherwise();
}

KernelEmitter::Values KernelEmitter::choose(Value condition, llvm::function_ref<Values()> then,
                                            llvm::function_ref<Values()> otherwise) {
  auto op = scf::IfOp::create(
      b_, loc_, condition,
      [&](OpBuilder& inner, Location loc) {
        OpBuilder::InsertionGuard guard(b_);
        b_.setInsertionPoint(inner.getInsertionBlock(), inner.getInsertionPoint());
        scf::YieldOp::create(b_, loc, then());
      },
      [&](OpBuilder& inner, Location loc) {
        OpBuilder::InsertionGuard guard(b_);
        b_.setInsertionPoint(inner.getInsertionBlock(), inner.getInsertionPoint());
        scf::YieldOp::create(b_, loc, otherwise());
      });
  return Values(op.getResults());
}

} // namespace tegula
