// Derivatives of convolution, written with convolution itself: d(x) convolves the spread-out dy with the reversed,
// swapped weights; d(w) convolves x with dy as the window (batch and channels swapped, strides and dilations swapped).
#include "graph/autodiff/Rules.h"
#include "primitives/InferRules.h"

namespace tegula {

namespace {

const Symbol kConvolution = "convolution";

struct Window {
  Shape strides, low, high, dilation;
  int64_t groups;
};

Window windowOf(const Attributes& at) {
  return {at.getInts(attr::strides), at.getInts(attr::padLow), at.getInts(attr::padHigh), at.getInts(attr::dilation),
          at.getInt(attr::groups)};
}

Value convolve(Emit& e, Value x, Value w, const Window& at) {
  return e.primitive(kConvolution, {x, w},
                     {{attr::strides, at.strides},
                      {attr::padLow, at.low},
                      {attr::padHigh, at.high},
                      {attr::dilation, at.dilation},
                      {attr::groups, at.groups}});
}

/// [outer, inner, …] with `groups` blocks along axis `from` moved to blocks along the other of the first two axes.
Value swapWithinGroups(Emit& e, Value x, int64_t groups, int from) {
  const Shape s = e.shapeOf(x);
  int64_t other = s[1 - from], own = s[from] / groups;
  Shape split, permutation, merged;
  // from 0: [g, own, other] -> [g, other, own]; from 1: [other, g, own] -> [own, g, other].
  if (from == 0)
    split = Shape{groups, own, other}, permutation = Shape{0, 2, 1}, merged = Shape{groups * other, own};
  else
    split = Shape{other, groups, own}, permutation = Shape{2, 1, 0}, merged = Shape{own, groups * other};
  for (int i = 2; i < s.rank(); ++i) {
    split.push_back(s[i]);
    permutation.push_back(i + 1);
    merged.push_back(s[i]);
  }
  return e.reshape(e.transpose(e.reshape(x, split), permutation), merged);
}

Value inputGradient(RuleCall& c, const Window& at) {
  Emit& e = c.e;
  const Shape x = e.shapeOf(c.in(0)), w = e.shapeOf(c.in(1)), y = e.shapeOf(c.dy());
  if (y.elements() == 0 || x.elements() == 0 || w.elements() == 0) return e.zeros(e.typeOf(c.in(0)));
  int spatial = x.rank() - 2;
  Shape none = filledShape(x.rank(), 0), interior = none, flipped;
  Window back{filledShape(spatial, 1), {}, {}, at.dilation, at.groups};
  for (int i = 0; i < spatial; ++i) {
    interior[i + 2] = at.strides[i] - 1;
    flipped.push_back(i + 2);
    int64_t reach = at.dilation[i] * (w[i + 2] - 1), spread = (y[i + 2] - 1) * at.strides[i] + 1;
    back.low.push_back(reach - at.low[i]);
    back.high.push_back(x[i + 2] - spread + at.low[i]);
  }
  Value spreadDy = interior == none ? c.dy() : e.pad(c.dy(), none, none, interior, 0); // strides are no extents
  Value swapped = swapWithinGroups(e, e.reverse(c.in(1), flipped), at.groups, 0);
  return convolve(e, spreadDy, swapped, back);
}

Value weightGradient(RuleCall& c, const Window& at) {
  Emit& e = c.e;
  const Shape x = e.shapeOf(c.in(0)), w = e.shapeOf(c.in(1)), y = e.shapeOf(c.dy());
  if (y.elements() == 0 || x.elements() == 0 || w.elements() == 0) return e.zeros(e.typeOf(c.in(1)));
  int spatial = x.rank() - 2;
  Window back{at.dilation, at.low, {}, at.strides, at.groups};
  Shape order = countingShape(x.rank());
  std::swap(order[0], order[1]);
  for (int i = 0; i < spatial; ++i) {
    // Exactly as many positions as there are taps.
    int64_t needed = (w[i + 2] - 1) * at.dilation[i] + (y[i + 2] - 1) * at.strides[i] + 1;
    back.high.push_back(needed - x[i + 2] - at.low[i]);
  }
  Value images = swapWithinGroups(e, c.in(0), at.groups, 1);          // [C/g, g N, …]
  Value taps = convolve(e, images, e.transpose(c.dy(), order), back); // [C/g, O, k…]
  return e.transpose(taps, order);
}

void convolution(RuleCall& c) {
  Window at = windowOf(c.node.attrs);
  c.set(0, [&] { return inputGradient(c, at); });
  c.set(1, [&] { return weightGradient(c, at); });
}

} // namespace

std::span<const Rule> convolutionRules() {
  static const Rule table[] = {{"convolution", convolution}};
  return table;
}

} // namespace tegula
