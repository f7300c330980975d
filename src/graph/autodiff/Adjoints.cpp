// Summing the contributions to a gradient.
#include "graph/autodiff/Adjoints.h"
#include "primitives/InferRules.h"
#include <algorithm>
#include <tuple>

namespace tegula {

namespace {

const Symbol kConcatenate = "concatenate";

Value padded(const Shape& shape, Value piece, int axis, int64_t start, Emit& e) {
  Shape none = filledShape(shape.rank(), 0), low = none, high = none;
  low[axis] = start;
  high[axis] = shape[axis] - start - e.shapeOf(piece)[axis];
  return e.pad(piece, low, high, none, 0);
}

} // namespace

void Adjoints::add(Value of, Value gradient) { contributions_[of].push_back({gradient}); }

void Adjoints::addPiece(Value of, Value gradient, int axis, int64_t start) {
  contributions_[of].push_back({gradient, axis, start});
}

/// One value for all pieces: concatenated, with zeros in the gaps, if they lie apart along one axis; else a sum.
Value Adjoints::joined(const Shape& shape, std::vector<Contribution> pieces, Emit& e) {
  std::vector<Contribution> sorted = pieces;
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return std::tie(a.start, a.gradient.node) < std::tie(b.start, b.gradient.node);
  });
  bool apart = pieces.size() > 1;
  int64_t end = 0;
  for (const Contribution& p : sorted) {
    apart = apart && p.axis == sorted[0].axis && p.start >= end;
    if (apart) end = p.start + e.shapeOf(p.gradient)[p.axis];
  }
  if (!apart) {
    Value sum;
    for (const Contribution& p : pieces) {
      Value one = padded(shape, p.gradient, p.axis, p.start, e);
      sum = sum.present() ? e.add(sum, one) : one;
    }
    return sum;
  }
  int axis = sorted[0].axis;
  DType dtype = e.dtypeOf(sorted[0].gradient);
  std::vector<Value> parts;
  int64_t at = 0;
  auto fill = [&](int64_t until) {
    if (until == at) return;
    Shape gap = shape;
    gap[axis] = until - at;
    parts.push_back(e.zeros({dtype, gap}));
  };
  for (const Contribution& p : sorted) {
    fill(p.start);
    parts.push_back(p.gradient);
    at = p.start + e.shapeOf(p.gradient)[axis];
  }
  fill(shape[axis]);
  return e.primitive(kConcatenate, parts, {{attr::axis, int64_t(axis)}});
}

Value Adjoints::take(Value of, Emit& e) {
  auto it = contributions_.find(of);
  if (it == contributions_.end()) return {};
  std::vector<Contribution> all = std::move(it->second), pieces;
  contributions_.erase(it);
  Value sum;
  for (const Contribution& c : all) {
    if (!e.status().ok()) return {};
    if (c.axis >= 0)
      pieces.push_back(c);
    else
      sum = sum.present() ? e.add(sum, c.gradient) : c.gradient;
  }
  if (pieces.empty()) return sum;
  Value rest = joined(Shape(e.shapeOf(of)), std::move(pieces), e);
  return sum.present() ? e.add(sum, rest) : rest;
}

} // namespace tegula
