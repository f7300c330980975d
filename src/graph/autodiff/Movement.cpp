// Derivatives of broadcast, views and pieces: each is linear, so its derivative is its transpose.
#include "graph/autodiff/Rules.h"
#include "primitives/InferRules.h"

namespace tegula {

namespace {

/// Sums over the axes that were added or stretched.
void broadcast(RuleCall& c) {
  c.set(0, [&] {
    const Shape from = c.e.shapeOf(c.in(0)), to = c.e.shapeOf(c.dy()), axes = c.node.attrs.getInts(attr::axes);
    Shape summed;
    for (int out = 0; out < to.rank(); ++out) {
      auto it = std::find(axes.begin(), axes.end(), out);
      bool stretched = it != axes.end() && from[static_cast<int>(it - axes.begin())] == 1 && to[out] != 1;
      if (it == axes.end() || stretched) summed.push_back(out);
    }
    return c.e.reshape(c.e.reduceSum(c.dy(), summed), from);
  });
}

void reshape(RuleCall& c) {
  c.set(0, [&] { return c.e.reshape(c.dy(), Shape(c.e.shapeOf(c.in(0)))); });
}

void transpose(RuleCall& c) {
  c.set(0, [&] {
    const Shape& permutation = c.node.attrs.getInts(attr::permutation);
    Shape inverse = permutation;
    for (int i = 0; i < permutation.rank(); ++i) inverse[static_cast<int>(permutation[i])] = i;
    return c.e.transpose(c.dy(), inverse);
  });
}

/// Puts the elements back where they came from, with zeros between. Axes read backwards are turned round first.
void slice(RuleCall& c) {
  c.set(0, [&] {
    const Shape extent = c.e.shapeOf(c.in(0)), starts = c.node.attrs.getInts(attr::starts),
                sizes = c.node.attrs.getInts(attr::sizes), steps = c.node.attrs.getInts(attr::steps);
    Shape backwards, low, high, interior;
    for (int i = 0; i < extent.rank(); ++i) {
      if (steps[i] < 0) backwards.push_back(i);
      int64_t last = starts[i] + (sizes[i] - 1) * steps[i];
      bool empty = sizes[i] == 0;
      low.push_back(empty ? 0 : std::min(starts[i], last));
      high.push_back(empty ? extent[i] : extent[i] - 1 - std::max(starts[i], last));
      interior.push_back(sizes[i] < 2 ? 0 : std::abs(steps[i]) - 1);
    }
    Value dy = backwards.rank() ? c.e.reverse(c.dy(), backwards) : c.dy();
    return c.e.pad(dy, low, high, interior, 0);
  });
}

void pad(RuleCall& c) {
  c.set(0, [&] {
    const Shape sizes = c.e.shapeOf(c.in(0));
    Shape steps = c.node.attrs.getInts(attr::interior), starts = c.node.attrs.getInts(attr::low);
    for (int i = 0; i < steps.rank(); ++i) ++steps[i];
    return c.e.slice(c.dy(), starts, sizes, steps);
  });
}

void concatenate(RuleCall& c) {
  int axis = static_cast<int>(c.node.attrs.getInt(attr::axis));
  int rank = c.e.shapeOf(c.dy()).rank();
  Shape starts = filledShape(rank, 0);
  for (int i = 0; i < static_cast<int>(c.node.inputs.size()); ++i) {
    const Shape sizes = c.e.shapeOf(c.in(i));
    Shape from = starts;
    for (int k = 0; k < rank; ++k)
      if (sizes[k] == 0) from[k] = 0;
    c.set(i, [&] { return c.e.slice(c.dy(), from, sizes, filledShape(rank, 1)); });
    starts[axis] += sizes[axis];
  }
}

} // namespace

std::span<const Rule> movementRules() {
  static const Rule table[] = {{"broadcast", broadcast}, {"reshape", reshape}, {"transpose", transpose},
                               {"slice", slice},         {"pad", pad},         {"concatenate", concatenate}};
  return table;
}

} // namespace tegula
