// Derivatives of folds along axes: reductions, scans, sorting.
#include "graph/autodiff/Rules.h"
#include "primitives/InferRules.h"

namespace tegula {

namespace {

const Symbol kScan = "scan", kScatterElements = "scatter_elements_add", kIota = "iota";
const Symbol kSum = "sum", kProd = "prod", kMax = "max";

Value scan(Emit& e, Value x, Symbol kind, int axis, bool reverse) {
  return e.primitive(kScan, {x}, {{attr::kind, kind}, {attr::axis, int64_t(axis)}, {attr::reverse, reverse}});
}

/// Axes of x that a reduction keeps, in order.
Shape keptAxes(int rank, const Shape& reduced) {
  Shape kept;
  for (int i = 0; i < rank; ++i)
    if (!containsAxis(reduced, i)) kept.push_back(i);
  return kept;
}

/// A value of the reduction's result repeated to the shape of its input.
Value repeated(RuleCall& c, Value v) {
  const Shape to = c.e.shapeOf(c.in(0)), reduced = c.node.attrs.getInts(attr::axes);
  bool keepdim = c.node.attrs.getBoolOr(attr::keepdim, false);
  return c.e.broadcast(v, to, keepdim ? countingShape(to.rank()) : keptAxes(to.rank(), reduced));
}

void reduceSum(RuleCall& c) {
  c.set(0, [&] { return repeated(c, c.dy()); });
}

/// Ties share equally. Where nothing equals the result (NaN) nothing flows. Ties are counted in f32 at least: bf16
/// counts to 256 and f16 to 65504.
void reduceExtreme(RuleCall& c) {
  c.set(0, [&] {
    Emit& e = c.e;
    const Shape axes = c.node.attrs.getInts(attr::axes);
    Value winners = e.equal(c.in(0), repeated(c, c.out()));
    DType own = e.dtypeOf(c.dy()), wide = sizeBytes(own) < sizeBytes(DType::F32) ? DType::F32 : own;
    Value count = e.reduceSum(e.cast(winners, wide), axes, c.node.attrs.getBoolOr(attr::keepdim, false));
    Value share = e.cast(e.div(e.cast(c.dy(), wide), count), own);
    return e.select(winners, repeated(c, share), e.constantLike(0, c.in(0)));
  });
}

/// Products of the elements before (or after) each one along `axis`, itself excluded.
Value exclusiveProduct(Emit& e, Value x, int axis, bool after) {
  const Shape shape = e.shapeOf(x);
  if (shape[axis] == 0) return x;
  Shape low = filledShape(shape.rank(), 0), high = low, starts = low, sizes = shape;
  (after ? high : low)[axis] = 1;
  sizes[axis] -= 1;
  if (sizes[axis] == 0) return e.constantLike(1, x);
  starts[axis] = after ? 1 : 0;
  Value products = scan(e, x, kProd, axis, after);
  Value inner = e.slice(products, starts, sizes, filledShape(shape.rank(), 1));
  return e.pad(inner, low, high, filledShape(shape.rank(), 0), 1);
}

/// The product of all other elements, without division, so that zeros count: folded axes are moved last and merged.
void reduceProd(RuleCall& c) {
  c.set(0, [&] {
    Emit& e = c.e;
    const Shape from = e.shapeOf(c.in(0)), axes = c.node.attrs.getInts(attr::axes);
    Shape order = keptAxes(from.rank(), axes), merged, inverse = filledShape(from.rank(), 0), permuted;
    for (int64_t axis : order) merged.push_back(from[static_cast<int>(axis)]);
    int64_t folded = 1;
    for (int i = 0; i < from.rank(); ++i)
      if (containsAxis(axes, i)) {
        order.push_back(i);
        folded *= from[i];
      }
    merged.push_back(folded);
    for (int i = 0; i < from.rank(); ++i) {
      inverse[static_cast<int>(order[i])] = i;
      permuted.push_back(from[static_cast<int>(order[i])]);
    }
    Value x = e.reshape(e.transpose(c.in(0), order), merged);
    int last = merged.rank() - 1;
    Value others = e.mul(exclusiveProduct(e, x, last, false), exclusiveProduct(e, x, last, true));
    return e.mul(repeated(c, c.dy()), e.transpose(e.reshape(others, permuted), inverse));
  });
}

/// d/dx_k of running products p_i = x_0 … x_i is p_{k-1} · sum_{i>=k} dy_i x_{k+1} … x_i: a table [k, i] of products,
/// so that zeros count. Takes memory for n² elements along the axis.
Value scanProdGradient(Emit& e, Value x, Value dy, int axis, bool reverse) {
  const Shape shape = e.shapeOf(x);
  int64_t n = shape[axis];
  Shape table, axes; // [..., k, i, ...]: `axis` is k, `axis + 1` is i
  for (int i = 0; i < shape.rank(); ++i) {
    table.push_back(shape[i]);
    if (i == axis) table.push_back(n);
    axes.push_back(i < axis ? i : i + 1);
  }
  auto position = [&](int along) {
    return e.primitive(kIota, {}, {{attr::shape, table}, {attr::axis, int64_t(along)}, {attr::dtype, DType::I64}});
  };
  Value k = position(axis), i = position(axis + 1);
  Value later = reverse ? e.less(i, k) : e.less(k, i);
  Value one = e.broadcast(e.constant(1, e.dtypeOf(x)), table, {});
  Value zero = e.broadcast(e.constant(0, e.dtypeOf(x)), table, {});
  Value products = scan(e, e.select(later, e.broadcast(x, table, axes), one), kProd, axis + 1, reverse);
  Value terms = e.mul(e.broadcast(dy, table, axes), products);
  Value kept = e.select(reverse ? e.less(k, i) : e.less(i, k), zero, terms);
  return e.mul(exclusiveProduct(e, x, axis, reverse), e.reduceSum(kept, Shape{axis + 1}));
}

/// Each result is some element of x: the gradient goes back to the first that reached the value.
Value scanExtremeGradient(RuleCall& c, int axis, bool reverse) {
  Emit& e = c.e;
  const Shape shape = e.shapeOf(c.in(0));
  Attributes at{{attr::shape, shape}, {attr::axis, int64_t(axis)}, {attr::dtype, DType::I64}};
  Value position = e.primitive(kIota, {}, at);
  if (reverse) position = e.reverse(position, Shape{axis}); // 0 at the end where the scan begins
  // A new extreme begins where the running value differs from the one before it.
  Shape low = filledShape(shape.rank(), 0), high = low, starts = low, sizes = shape;
  (reverse ? high : low)[axis] = 1;
  starts[axis] = reverse ? 1 : 0;
  sizes[axis] -= 1;
  if (sizes[axis] <= 0) return c.dy();
  Value before = e.slice(c.out(), starts, sizes, filledShape(shape.rank(), 1));
  before = e.pad(before, low, high, filledShape(shape.rank(), 0), 0);
  Value zero = e.constantLike(0, position);
  Value same = e.logicalAnd(e.equal(before, c.out()), e.less(zero, position));
  Value source = scan(e, e.select(same, zero, position), kMax, axis, reverse);
  if (reverse) source = e.sub(e.constantLike(static_cast<double>(shape[axis] - 1), source), source);
  return e.primitive(kScatterElements, {c.dy(), source}, {{attr::axis, int64_t(axis)}, {attr::size, shape[axis]}});
}

void scanRule(RuleCall& c) {
  c.set(0, [&]() -> Value {
    int axis = static_cast<int>(c.node.attrs.getInt(attr::axis));
    bool reverse = c.node.attrs.getBoolOr(attr::reverse, false);
    Symbol kind = c.node.attrs.getName(attr::kind);
    if (c.e.shapeOf(c.in(0)).elements() == 0) return c.dy();
    if (kind == kSum) return scan(c.e, c.dy(), kSum, axis, !reverse);
    if (kind == kProd) return scanProdGradient(c.e, c.in(0), c.dy(), axis, reverse);
    return scanExtremeGradient(c, axis, reverse);
  });
}

void sort(RuleCall& c) {
  if (!c.dy().present()) return;
  c.set(0, [&] {
    int64_t axis = c.node.attrs.getInt(attr::axis);
    int64_t size = c.e.shapeOf(c.in(0))[static_cast<int>(axis)];
    return c.e.primitive(kScatterElements, {c.dy(), c.outputs[1]}, {{attr::axis, axis}, {attr::size, size}});
  });
}

} // namespace

std::span<const Rule> reductionRules() {
  static const Rule table[] = {{"reduce_sum", reduceSum},
                               {"reduce_max", reduceExtreme},
                               {"reduce_min", reduceExtreme},
                               {"reduce_prod", reduceProd},
                               {"scan", scanRule},
                               {"sort", sort}};
  return table;
}

} // namespace tegula
