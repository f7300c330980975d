// Views, broadcasts and pieces folded into one another; reductions in one form.
#include "graph/passes/simplify/Simplifier.h"
#include "primitives/InferRules.h"

namespace tegula {

namespace {

using In = std::span<const Value>;
const Symbol kBroadcast = "broadcast", kReshape = "reshape", kTranspose = "transpose", kSlice = "slice",
             kConcatenate = "concatenate";

/// A value that repeats one number: any view of it repeats the number in another shape.
Value numberRepeated(Simplifier& s, Value x, const Shape& shape) {
  const Node* n = s.producer(x, kBroadcast);
  if (!n || n->attrs.getInts(attr::axes).rank() != 0) return {};
  return s.make(kBroadcast, {n->inputs[0]}, {{attr::shape, shape}, {attr::axes, Shape{}}});
}

/// For a reshape from `from` to `to` that only inserts axes of extent 1: the axis of `to` of each axis of `from`.
std::optional<Shape> insertedAxes(const Shape& from, const Shape& to) {
  Shape axes;
  for (int i = 0; i < to.rank(); ++i) {
    if (axes.rank() < from.rank() && to[i] == from[axes.rank()])
      axes.push_back(i);
    else if (to[i] != 1)
      return std::nullopt;
  }
  if (axes.rank() != from.rank()) return std::nullopt;
  return axes;
}

Value broadcast(Simplifier& s, Symbol op, In in, const Attributes& attrs) {
  const Shape shape = attrs.getInts(attr::shape), axes = attrs.getInts(attr::axes);
  if (s.shapeOf(in[0]) == shape) return in[0];
  auto composed = [&](Value source, const Shape& inner) {
    Shape both;
    for (int64_t axis : inner) both.push_back(axes[static_cast<int>(axis)]);
    return s.make(op, {source}, {{attr::shape, shape}, {attr::axes, both}});
  };
  if (const Node* n = s.producer(in[0], kBroadcast)) return composed(n->inputs[0], Shape(n->attrs.getInts(attr::axes)));
  if (const Node* n = s.producer(in[0], kReshape))
    if (auto inserted = insertedAxes(s.shapeOf(n->inputs[0]), s.shapeOf(in[0])))
      return composed(n->inputs[0], *inserted);
  return {};
}

Value reshape(Simplifier& s, Symbol op, In in, const Attributes& attrs) {
  const Shape shape = attrs.getInts(attr::shape);
  if (s.shapeOf(in[0]) == shape) return in[0];
  if (const Node* n = s.producer(in[0], kReshape)) return s.make(op, {n->inputs[0]}, attrs);
  return numberRepeated(s, in[0], shape);
}

Value transpose(Simplifier& s, Symbol op, In in, const Attributes& attrs) {
  const Shape permutation = attrs.getInts(attr::permutation);
  if (permutation == countingShape(permutation.rank())) return in[0];
  if (const Node* n = s.producer(in[0], kTranspose)) {
    const Shape first = n->attrs.getInts(attr::permutation);
    Shape both;
    for (int64_t axis : permutation) both.push_back(first[static_cast<int>(axis)]);
    return s.make(op, {n->inputs[0]}, {{attr::permutation, both}});
  }
  const Node* n = s.producer(in[0], kBroadcast);
  if (!n) return {};
  Shape axes, shape, inverse = permutation;
  for (int i = 0; i < permutation.rank(); ++i) {
    inverse[static_cast<int>(permutation[i])] = i;
    shape.push_back(s.shapeOf(in[0])[static_cast<int>(permutation[i])]);
  }
  for (int64_t axis : n->attrs.getInts(attr::axes)) axes.push_back(inverse[static_cast<int>(axis)]);
  for (int i = 1; i < axes.rank(); ++i)
    if (axes[i] < axes[i - 1]) return {};
  return s.make(kBroadcast, {n->inputs[0]}, {{attr::shape, shape}, {attr::axes, axes}});
}

/// A slice stays even where it happens to be whole: with other extents its gradient has zeros around it, and kernels
/// must not depend on extents. Turning an axis round twice is no accident of extents.
Value slice(Simplifier& s, Symbol op, In in, const Attributes& attrs) {
  const Shape from = s.shapeOf(in[0]), starts = attrs.getInts(attr::starts), sizes = attrs.getInts(attr::sizes),
              steps = attrs.getInts(attr::steps);
  if (Value v = numberRepeated(s, in[0], sizes); v.present()) return v;
  const Node* n = s.producer(in[0], kSlice);
  if (!n) return {};
  Shape bothStarts, bothSteps;
  bool turnedBack = false;
  for (int i = 0; i < from.rank(); ++i) {
    bool empty = sizes[i] == 0;
    int64_t innerStart = n->attrs.getInts(attr::starts)[i], innerStep = n->attrs.getInts(attr::steps)[i];
    bothStarts.push_back(empty ? 0 : innerStart + starts[i] * innerStep);
    bothSteps.push_back(empty ? 1 : innerStep * steps[i]);
    turnedBack = turnedBack || (innerStep < 0 && steps[i] < 0);
  }
  bool whole = sizes == s.shapeOf(n->inputs[0]) && bothStarts == filledShape(from.rank(), 0) &&
               bothSteps == filledShape(from.rank(), 1);
  if (turnedBack && whole) return n->inputs[0];
  return s.make(op, {n->inputs[0]}, {{attr::starts, bothStarts}, {attr::sizes, sizes}, {attr::steps, bothSteps}});
}

Value concatenate(Simplifier&, Symbol, In in, const Attributes&) { return in.size() == 1 ? in[0] : Value{}; }

/// Without keepdim, so that a reduced axis is absent rather than 1; with keepdim, a broadcast puts the axis back.
Value reduce(Simplifier& s, Symbol op, In in, const Attributes& attrs) {
  const Shape axes = attrs.getInts(attr::axes), from = s.shapeOf(in[0]);
  if (axes.rank() == 0) return in[0];
  if (!attrs.getBoolOr(attr::keepdim, false)) return {};
  Shape shape, kept;
  for (int i = 0; i < from.rank(); ++i) {
    bool reduced = containsAxis(axes, i);
    shape.push_back(reduced ? 1 : from[i]);
    if (!reduced) kept.push_back(i);
  }
  Attributes plain = attrs;
  plain.set(attr::keepdim, false);
  Value folded = s.make(op, {in[0]}, plain);
  return s.make(kBroadcast, {folded}, {{attr::shape, shape}, {attr::axes, kept}});
}

} // namespace

std::span<const NamedRule> viewSimplifications() {
  static const NamedRule table[] = {{"broadcast", broadcast}, {"reshape", reshape},         {"transpose", transpose},
                                    {"slice", slice},         {"concatenate", concatenate}, {"reduce_sum", reduce},
                                    {"reduce_max", reduce},   {"reduce_min", reduce},       {"reduce_prod", reduce}};
  return table;
}

} // namespace tegula
