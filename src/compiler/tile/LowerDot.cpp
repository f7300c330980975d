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
    int64_t stride = shape.family == DotFamily::Bf16Dot ? 2 : 1;
    Value done = e.index(0);
    Values acc = start;
    // The kernel that does most of the work is unrolled. Where two threads share a core, instructions are what it
    // lacks: they take turns in decoding them, and the loop's own were an eighth.
    if (rows == shape.rows && vectors * v.lanes == shape.width) {
      int64_t unit = shape.unroll * stride;
      done = e.mul(e.div(depth, e.index(unit)), unit);
      acc = e.loop(e.index(0), done, e.index(unit), acc, [&](Value k, ValueRange carried) {
        Values next(carried);
        for (int64_t i = 0; i < unit; i += stride) next = step(a, aRow, panel, e.add(k, i), next);
        return next;
      });
    }
    acc = e.loop(done, depth, e.index(stride), acc,
                 [&](Value k, ValueRange carried) { return step(a, aRow, panel, k, carried); });
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t j = 0; j < vectors; ++j) e.store(acc[r * vectors + j], address(c, r, j));
  }
};

/// Powers of two from `least`, below `most`, and `most`: the sizes of register kernels for ragged ends.
SmallVector<int64_t> upTo(int64_t most, int64_t least) {
  SmallVector<int64_t> counts;
  for (int64_t n = least; n < most; n *= 2) counts.push_back(n);
  counts.push_back(most);
  return counts;
}

/// Emits `use` of the largest count, or of the smallest that holds `left` (in units) at the ragged end.
void pick(KernelEmitter& e, Value left, ArrayRef<int64_t> counts, int64_t unit, llvm::function_ref<void(int64_t)> use) {
  if (counts.size() == 1) return use(counts.front());
  std::function<void(size_t)> ragged = [&](size_t i) {
    if (i + 1 == counts.size()) return use(counts.back());
    e.branch(e.less(left, e.index(counts[i] * unit + 1)), [&] { use(counts[i]); }, [&] { ragged(i + 1); });
  };
  ragged(0);
}

} // namespace

void emitDot(KernelEmitter& e, VectorEmitter& v, const DotShape& shape, const Packed& a, const Panels& panels,
             Value rows, Value cols, Value depth, const DotBlock& block, Value fresh, const DotFinish& finish) {
  Type word = shape.family == DotFamily::Bf16Dot ? Type(e.builder().getIntegerType(16)) : block.element;
  int64_t most = shape.width / v.lanes;
  SmallVector<int64_t> rowCounts = upTo(shape.rows, shape.compact ? 4 : 1), vectorCounts = upTo(most, 1);
  if (shape.compact) vectorCounts = {most};

  // One block of registers: the smallest kernel that holds what is left of the rows and columns.
  auto registers = [&](Value b, Value r, Value j, Value c) {
    Value aRow = e.element(a.base, word, e.mul(r, a.pitch));
    pick(e, e.sub(cols, j), vectorCounts, v.lanes, [&](int64_t vectors) {
      pick(e, e.sub(rows, r), rowCounts, 1,
           [&](int64_t count) { RegisterKernel{e, v, shape, count, vectors, block}.run(a, aRow, b, depth, c, fresh); });
    });
  };
  // Before each register kernel, a part of what will be packed next is requested: the next group of panels, and the
  // rows of the next step along k, if there is one.
  Value rowBlocks = e.ceilDiv(rows, e.index(shape.rows));
  auto select = [&](Value condition, Value a, Value b) {
    return arith::SelectOp::create(e.builder(), e.loc(), condition, a, b).getResult();
  };
  Value nextDepth = finish.last ? select(finish.last, e.index(0), depth) : depth; // 0: there is none
  auto request = [&](const Ahead& ahead, Value needed, Value turn, Value turns, Value k, Value col) {
    if (!ahead.parts) return;
    Value parts = select(needed, ahead.parts, e.index(0)), share = e.ceilDiv(parts, turns);
    Value from = e.sub(parts, e.mul(e.sub(turns, turn), share)); // the last turns do it, if there are many
    e.loop(e.max(from, e.index(0)), e.add(from, share), 1, [&](Value part) { ahead.fetch(part, k, col); });
  };
  auto requestNext = [&](Value first, Value j, Value r) {
    auto turns = [&](Value columns) { return e.mul(rowBlocks, e.ceilDiv(columns, e.index(shape.width))); };
    auto turn = [&](Value from) { return e.add(turns(e.sub(j, from)), e.div(r, e.index(shape.rows))); };
    Value next = e.add(first, panels.groupWidth), more = e.less(next, cols), steps = e.less(e.index(0), nextDepth);
    Value ofGroup = e.min(e.index(panels.groupWidth), e.sub(cols, first));
    Value k = select(more, e.index(0), nextDepth), col = select(more, next, e.index(0));
    Value needed = arith::OrIOp::create(e.builder(), e.loc(), more, steps);
    request(panels.ahead, needed, turn(first), turns(ofGroup), k, col);
    request(a.ahead, steps, turn(e.index(0)), turns(cols), depth, Value());
  };
  auto panel = [&](Value b, Value j, Value first) {
    Value column = block.panelStride ? e.mul(e.div(j, e.index(shape.width)), block.panelStride) : j;
    e.loop(e.index(0), rows, shape.rows, [&](Value r) {
      Value c = e.element(block.base, block.element, e.add(e.mul(r, block.pitch), column));
      if (panels.groupWidth > 0) requestNext(first, j, r);
      registers(b, r, j, c);
      if (finish.last) e.branch(finish.last, [&] { finish.block(r, j, c, e.sub(rows, r), e.sub(cols, j)); });
    });
  };
  auto group = [&](Value first, Value end) {
    e.loop(first, end, shape.width, [&](Value j) {
      Value at = e.mul(e.div(e.sub(j, first), e.index(shape.width)), panels.pitch);
      panel(e.element(panels.base, word, at), j, first);
    });
  };
  if (panels.groupWidth == 0) return group(e.index(0), cols);
  e.loop(e.index(0), cols, panels.groupWidth, [&](Value first) {
    panels.pack(first);
    group(first, e.min(e.add(first, panels.groupWidth), cols));
  });
}

} // namespace tegula::tile
