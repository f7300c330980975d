// Packing of dot operands: straight copies, transposes in registers, pairs.
#include "compiler/codegen/Mlir.h"

#include "compiler/tile/Pack.h"

#include "compiler/tile/MapFunctions.h"

namespace tegula::tile {

using namespace mlir;

namespace {

/// Register-form lanes of `from`, as the packed element type wants them in memory.
Value convert(VectorEmitter& v, Value lanes, Type from, Type to) { return v.encode(emitCast(v, lanes, from, to), to); }

/// Packs a square of lanes x lanes elements whose contiguous axis is the other one: vectors are read along `axis` at
/// steps across it, transposed, and handed out by step of `axis`.
/// `across` and `along` are how many exist in each direction (may be more than a square).
KernelEmitter::Values readTransposed(KernelEmitter& e, VectorEmitter& v, const LazyTile& source, Value r, Value c,
                                     int axis, Value across, Value along) {
  KernelEmitter::Values rows;
  for (int64_t i = 0; i < v.lanes; ++i) {
    // A vector past the last one that exists has no lanes at all.
    Value exists = arith::SelectOp::create(e.builder(), e.loc(), e.less(e.index(i), across), along, e.index(0));
    Value mask = e.firstLanes(exists, v.lanes);
    // Its place is clamped, because an operand that repeats along `axis` is read there all the same.
    Value place = e.min(e.index(i), e.add(across, -1));
    Value at = axis == 0 ? evaluate(e, v, source, r, e.add(c, place), 0, mask)
                         : evaluate(e, v, source, e.add(r, place), c, 1, mask);
    rows.push_back(arith::SelectOp::create(e.builder(), e.loc(), mask, at, e.zero(at.getType())));
  }
  return e.transpose(rows);
}

KernelEmitter::Values readTransposedWhole(KernelEmitter& e, VectorEmitter& v, const LazyTile& source, Value r, Value c,
                                          int axis) {
  KernelEmitter::Values rows;
  for (int64_t i = 0; i < v.lanes; ++i)
    rows.push_back(axis == 0 ? evaluate(e, v, source, r, e.add(c, i), 0, Value())
                             : evaluate(e, v, source, e.add(r, i), c, 1, Value()));
  return e.transpose(rows);
}

/// Whole squares without masks, others with.
void withSquare(KernelEmitter& e, VectorEmitter& v, const LazyTile& source, Value r, Value c, int axis, Value across,
                Value along, llvm::function_ref<void(KernelEmitter::Values)> use) {
  Value whole = arith::AndIOp::create(e.builder(), e.loc(), e.less(e.index(v.lanes - 1), across),
                                      e.less(e.index(v.lanes - 1), along));
  e.branch(
      whole, [&] { use(readTransposedWhole(e, v, source, r, c, axis)); },
      [&] { use(readTransposed(e, v, source, r, c, axis, across, along)); });
}

/// One cache line. A constant, because the layout of scratch is part of a cached image.
int64_t pitchUnit(Type element) { return 64 / memoryBytes(element); }

} // namespace

int64_t rowsPitch(int64_t depth, Type element) {
  // One line more than the depth, so that the rows of a block do not fall into the same cache sets.
  int64_t unit = pitchUnit(element);
  return (depth + unit - 1) / unit * unit + unit;
}

/// A part is what is contiguous in memory: the lines of `length` elements from `first`.
static void fetchLines(KernelEmitter& e, const LazyTile& source, int axis, Value at, Value first, Value length) {
  e.loop(e.index(0), length, pitchUnit(source.element), [&](Value i) {
    Value along = e.add(first, i);
    axis == 0 ? prefetch(e, source, along, at) : prefetch(e, source, at, along);
  });
}

Ahead aheadOfRows(KernelEmitter& e, const LazyTileRef& source) {
  if (contiguousAxis(*source) == 0)
    return {source->colExtent, [&e, source](Value part, Value k, Value) {
              fetchLines(e, *source, 0, e.add(k, part), e.index(0), source->rowExtent);
            }};
  return {source->rowExtent,
          [&e, source](Value part, Value k, Value) { fetchLines(e, *source, 1, part, k, source->colExtent); }};
}

Ahead aheadOfPanels(KernelEmitter& e, const LazyTileRef& source, int64_t width) {
  Value columns = e.min(e.index(width), source->colExtent);
  if (contiguousAxis(*source) == 0)
    return {columns, [&e, source](Value part, Value k, Value col) {
              fetchLines(e, *source, 0, e.add(col, part), k, source->rowExtent);
            }};
  return {source->rowExtent, [&e, source, columns](Value part, Value k, Value col) {
            fetchLines(e, *source, 1, e.add(k, part), col, columns);
          }};
}

void packRows(KernelEmitter& e, VectorEmitter& v, const LazyTile& source, Value base, int64_t pitch, Type element,
              DotFamily family) {
  Type memory = memoryType(element);
  auto put = [&](Value lanes, Value r, Value k) {
    e.store(convert(v, lanes, source.element, element), e.element(base, memory, e.add(e.mul(r, pitch), k)));
  };
  // Masked lanes are stored as the zeros that reading gave: the pitch has room for a whole vector, and pairs need them.
  if (contiguousAxis(source) != 0) {
    forEachVector(e, v, source.rowExtent, source.colExtent, 1, [&](Value r, Value k, Value mask) {
      Value lanes = evaluate(e, v, source, r, k, 1, mask);
      if (mask) lanes = arith::SelectOp::create(e.builder(), e.loc(), mask, lanes, e.zero(lanes.getType()));
      put(lanes, r, k);
    });
    return;
  }
  e.loop(e.index(0), source.colExtent, v.lanes, [&](Value k) {
    e.loop(e.index(0), source.rowExtent, v.lanes, [&](Value r) {
      Value rowsLeft = e.sub(source.rowExtent, r), depthLeft = e.sub(source.colExtent, k);
      withSquare(e, v, source, r, k, 0, depthLeft, rowsLeft, [&](KernelEmitter::Values square) {
        for (int64_t i = 0; i < v.lanes; ++i) put(square[i], e.add(r, i), k);
      });
    });
  });
}

int64_t panelPitch(int64_t depth, int64_t width, int64_t lanes) {
  // One row more, so that the same row of several panels does not fall into the same cache sets.
  return ((depth + lanes - 1) / lanes * lanes + 1) * width;
}

namespace {

struct PanelPacker {
  KernelEmitter& e;
  VectorEmitter& v;
  const LazyTile& source;
  Value col, base;
  int64_t width;
  Type element;

  Value address(Value k, int64_t j) { return e.element(base, memoryType(element), e.add(e.mul(k, width), j)); }
  Value masked(Value lanes, Value mask) {
    if (!mask) return lanes;
    return arith::SelectOp::create(e.builder(), e.loc(), mask, lanes, e.zero(lanes.getType()));
  }

  /// Rows of the source are contiguous: one vector after the other.
  void straight(Value depth, llvm::function_ref<Value(int64_t vector)> maskOf) {
    e.loop(e.index(0), depth, 1, [&](Value k) {
      for (int64_t j = 0; j < width; j += v.lanes) {
        Value mask = maskOf(j);
        Value lanes = masked(evaluate(e, v, source, k, e.add(col, j), 1, mask), mask);
        e.store(convert(v, lanes, source.element, element), address(k, j));
      }
    });
  }

  /// The same for pairs of rows, interleaved; an odd last row is paired with zeros.
  void straightPairs(Value depth, llvm::function_ref<Value(int64_t vector)> maskOf) {
    SmallVector<int64_t> interleave;
    for (int64_t l = 0; l < v.lanes; ++l) interleave.append({l, v.lanes + l});
    e.loop(e.index(0), depth, 2, [&](Value k) {
      Value hasSecond = e.less(e.add(k, 1), depth);
      for (int64_t j = 0; j < width; j += v.lanes) {
        Value mask = maskOf(j);
        auto row = [&](Value at) {
          Value lanes = masked(evaluate(e, v, source, at, e.add(col, j), 1, mask), mask);
          return convert(v, lanes, source.element, element);
        };
        Value first = row(k);
        Value second = e.choose(
            hasSecond, [&] { return KernelEmitter::Values{row(e.add(k, 1))}; },
            [&] { return KernelEmitter::Values{e.zero(first.getType())}; })[0];
        Value pairs = vector::ShuffleOp::create(e.builder(), e.loc(), first, second, interleave);
        e.store(pairs, address(k, 2 * j));
      }
    });
  }

  /// Columns of the source are contiguous: squares, transposed.
  void transposing(Value depth, Value cols, DotFamily family) {
    SmallVector<int64_t> interleave;
    for (int64_t l = 0; l < v.lanes; ++l) interleave.append({l, v.lanes + l});
    e.loop(e.index(0), depth, v.lanes, [&](Value k) {
      for (int64_t j = 0; j < width; j += v.lanes) {
        withSquare(e, v, source, k, e.add(col, j), 0, e.sub(cols, e.index(j)), e.sub(depth, k),
                   [&](KernelEmitter::Values square) {
                     for (Value& row : square) row = convert(v, row, source.element, element);
                     if (family == DotFamily::Fma) {
                       for (int64_t i = 0; i < v.lanes; ++i) e.store(square[i], address(e.add(k, i), j));
                       return;
                     }
                     for (int64_t i = 0; i < v.lanes; i += 2) {
                       Value pairs =
                           vector::ShuffleOp::create(e.builder(), e.loc(), square[i], square[i + 1], interleave);
                       e.store(pairs, address(e.add(k, i), 2 * j));
                     }
                   });
      }
    });
  }
};

} // namespace

/// One panel.
static void packPanel(KernelEmitter& e, VectorEmitter& v, const LazyTile& source, Value col, Value base, int64_t width,
                      Type element, DotFamily family) {
  Value cols = e.sub(source.colExtent, col), depth = source.rowExtent;
  PanelPacker packer{e, v, source, col, base, width, element};
  if (contiguousAxis(source) == 0) return packer.transposing(depth, cols, family);
  auto copy = [&](llvm::function_ref<Value(int64_t)> maskOf) {
    family == DotFamily::Fma ? packer.straight(depth, maskOf) : packer.straightPairs(depth, maskOf);
  };
  e.branch(
      e.less(e.index(width - 1), cols), [&] { copy([](int64_t) { return Value(); }); },
      [&] { copy([&](int64_t j) { return e.firstLanes(e.sub(cols, e.index(j)), v.lanes); }); });
}

void packPanels(KernelEmitter& e, VectorEmitter& v, const LazyTile& source, Value col, int64_t count, Value base,
                int64_t pitch, int64_t width, Type element, DotFamily family) {
  Type memory = memoryType(element);
  auto oneByOne = [&] {
    Value end = e.min(e.add(col, count * width), source.colExtent);
    e.loop(col, end, width, [&](Value j) {
      Value at = e.element(base, memory, e.mul(e.div(e.sub(j, col), e.index(width)), pitch));
      packPanel(e, v, source, j, at, width, element, family);
    });
  };
  if (count == 1 || family != DotFamily::Fma || contiguousAxis(source) == 0) return oneByOne();
  Value whole = e.less(e.index(count * width - 1), e.sub(source.colExtent, col));
  auto together = [&] {
    e.loop(e.index(0), source.rowExtent, 1, [&](Value k) {
      for (int64_t p = 0; p < count; ++p)
        for (int64_t j = 0; j < width; j += v.lanes) {
          Value lanes = evaluate(e, v, source, k, e.add(col, p * width + j), 1, Value());
          e.store(convert(v, lanes, source.element, element),
                  e.element(base, memory, e.add(e.mul(k, width), p * pitch + j)));
        }
    });
  };
  e.branch(whole, together, oneByOne);
}

} // namespace tegula::tile
