// The register kernel of matrix products, and the loops over panels and rows around it.
#include "compiler/codegen/Mlir.h"

#include "compiler/tile/LowerDot.h"

namespace tegula::tile {

using namespace mlir;

namespace {

using Values = KernelEmitter::Values;

struct RegisterKernel {
  KernelEmitter& e;
  VectorEmitter& v;
  const DotShape& shape;
  int64_t rows, vectors; // of this variant
  const DotBlock& block;

  VectorType accumulator() const { return VectorType::get({v.lanes}, block.element); }

  Value address(Value c, int64_t r, int64_t j) { return e.element(c, block.element, r * block.pitch + j * v.lanes); }

  Values loadBlock(Value c) {
    Values acc;
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t j = 0; j < vectors; ++j) acc.push_back(e.load(address(c, r, j), accumulator()));
    return acc;
  }

  Values zeros() { return Values(rows * vectors, e.zero(accumulator())); }

  /// One k (a pair of them for Bf16Dot) of every accumulator.
  Values step(const Packed& a, Value aRow, Value panel, Value k, ValueRange acc) {
    bool pairs = shape.family == DotFamily::Bf16Dot;
    OpBuilder& b = e.builder();
    Type word = pairs ? b.getIntegerType(16) : block.element;
    VectorType lanes = VectorType::get({pairs ? 2 * v.lanes : v.lanes}, word);
    Values right, next;
    Value line = e.mul(k, shape.width);
    for (int64_t j = 0; j < vectors; ++j)
      right.push_back(e.load(e.element(panel, word, e.add(line, (pairs ? 2 : 1) * j * v.lanes)), lanes));
    for (int64_t r = 0; r < rows; ++r) {
      Value at = e.element(e.element(aRow, word, r * a.pitch), word, k);
      Value left = e.splat(e.load(at, pairs ? Type(b.getI32Type()) : block.element), v.lanes);
      for (int64_t j = 0; j < vectors; ++j) next.push_back(combine(left, right[j], acc[r * vectors + j]));
    }
    return next;
  }

  Value combine(Value left, Value right, Value acc) {
    if (shape.family == DotFamily::Fma) return e.fma(left, right, acc);
    OpBuilder& b = e.builder();
    VectorType halves = VectorType::get({2 * v.lanes}, b.getBF16Type());
    Value a = vector::BitCastOp::create(b, e.loc(), halves, left);
    Value c = vector::BitCastOp::create(b, e.loc(), halves, right);
    std::string name = "llvm.x86.avx512bf16.dpbf16ps." + std::to_string(32 * v.lanes);
    return LLVM::CallIntrinsicOp::create(b, e.loc(), acc.getType(), b.getStringAttr(name), ValueRange{acc, a, c})
        .getResults();
  }

  void run(const Packed& a, Value aRow, Value panel, Value depth, Value c, Value fresh) {
    Values start = fresh ? e.choose(fresh, [&] { return zeros(); }, [&] { return loadBlock(c); }) : loadBlock(c);
    Value stride = e.index(shape.family == DotFamily::Bf16Dot ? 2 : 1);
    Values acc = e.loop(e.index(0), depth, stride, start,
                        [&](Value k, ValueRange carried) { return step(a, aRow, panel, k, carried); });
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t j = 0; j < vectors; ++j) e.store(acc[r * vectors + j], address(c, r, j));
  }
};

/// Row counts of the register kernels for a ragged last block, ascending, below `most`.
SmallVector<int64_t> tailRows(const DotShape& shape) {
  SmallVector<int64_t> counts;
  for (int64_t n = shape.compact ? 4 : 1; n < shape.rows; n *= 2) counts.push_back(n);
  return counts;
}

} // namespace

void emitDot(KernelEmitter& e, VectorEmitter& v, const DotShape& shape, const Packed& a, const Panels& panels,
             Value rows, Value cols, Value depth, const DotBlock& block, Value fresh) {
  Value whole = e.mul(e.div(rows, e.index(shape.rows)), shape.rows);
  Value rest = e.sub(rows, whole);
  Type word = shape.family == DotFamily::Bf16Dot ? Type(e.builder().getIntegerType(16)) : block.element;
  int64_t most = shape.width / v.lanes;

  auto kernel = [&](int64_t count, int64_t vectors, Value b, Value r, Value j) {
    Value aRow = e.element(a.base, word, e.mul(r, a.pitch));
    Value column = block.panelStride > 0 ? e.mul(e.div(j, e.index(shape.width)), block.panelStride) : j;
    Value c = e.element(block.base, block.element, e.add(e.mul(r, block.pitch), column));
    RegisterKernel{e, v, shape, count, vectors, block}.run(a, aRow, b, depth, c, fresh);
  };
  SmallVector<int64_t> tails = tailRows(shape);
  auto rowsOf = [&](int64_t vectors, Value b, Value j) {
    e.loop(e.index(0), whole, shape.rows, [&](Value r) { kernel(shape.rows, vectors, b, r, j); });
    std::function<void(size_t)> tail = [&](size_t i) {
      if (i == tails.size()) return kernel(shape.rows, vectors, b, whole, j);
      e.branch(
          e.less(rest, e.index(tails[i] + 1)), [&] { kernel(tails[i], vectors, b, whole, j); }, [&] { tail(i + 1); });
    };
    if (shape.rows > 1) e.branch(e.less(e.index(0), rest), [&] { tail(0); });
  };
  auto panel = [&](Value b, Value j) {
    if (most == 1 || shape.compact) return rowsOf(most, b, j);
    Value narrow = e.less(e.sub(cols, j), e.index(shape.width / 2 + 1));
    e.branch(narrow, [&] { rowsOf((most + 1) / 2, b, j); }, [&] { rowsOf(most, b, j); });
  };
  auto group = [&](Value first, Value end) {
    e.loop(first, end, shape.width, [&](Value j) {
      Value at = e.mul(e.div(e.sub(j, first), e.index(shape.width)), panels.pitch);
      panel(e.element(panels.base, word, at), j);
    });
  };
  if (panels.groupWidth == 0) return group(e.index(0), cols);
  e.loop(e.index(0), cols, panels.groupWidth, [&](Value first) {
    panels.pack(first);
    group(first, e.min(e.add(first, panels.groupWidth), cols));
  });
}

} // namespace tegula::tile
