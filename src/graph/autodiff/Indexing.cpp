// Derivatives of gathers and scatters: each is the other's transpose. Indices outside the axis carry nothing.
#include "graph/autodiff/Rules.h"
#include "primitives/InferRules.h"

namespace tegula {

namespace {

const Symbol kGather = "gather", kScatter = "scatter_add", kGatherElements = "gather_elements",
             kScatterElements = "scatter_elements_add", kLessEqual = "less_equal";

Attributes scatterAttributes(RuleCall& c) {
  int64_t axis = c.node.attrs.getInt(attr::axis);
  return {{attr::axis, axis}, {attr::size, c.e.shapeOf(c.in(0))[static_cast<int>(axis)]}};
}

void gather(RuleCall& c) {
  c.set(0, [&] { return c.e.primitive(kScatter, {c.dy(), c.in(1)}, scatterAttributes(c)); });
}
void gatherElements(RuleCall& c) {
  c.set(0, [&] { return c.e.primitive(kScatterElements, {c.dy(), c.in(1)}, scatterAttributes(c)); });
}

/// Gathering gives NaN for an index outside, but an update that was skipped has gradient 0.
Value whereInside(RuleCall& c, Value gathered, const Shape& indexAxes) {
  Emit& e = c.e;
  Value index = e.cast(c.in(1), DType::I64); // the size may not fit the index's own type
  Value size = e.constantLike(static_cast<double>(c.node.attrs.getInt(attr::size)), index);
  Value inside = e.logicalAnd(e.primitive(kLessEqual, {e.constantLike(0, index), index}), e.less(index, size));
  const Shape to = e.shapeOf(gathered);
  if (e.shapeOf(index) != to) inside = e.broadcast(inside, to, indexAxes);
  return e.select(inside, gathered, e.constantLike(0, gathered));
}

void scatter(RuleCall& c) {
  c.set(0, [&] {
    int axis = static_cast<int>(c.node.attrs.getInt(attr::axis));
    Shape axes;
    for (int i = 0; i < c.e.shapeOf(c.in(1)).rank(); ++i) axes.push_back(axis + i);
    Value gathered = c.e.primitive(kGather, {c.dy(), c.in(1)}, {{attr::axis, int64_t(axis)}});
    return whereInside(c, gathered, axes);
  });
}
void scatterElements(RuleCall& c) {
  c.set(0, [&] {
    Value gathered = c.e.primitive(kGatherElements, {c.dy(), c.in(1)}, {{attr::axis, c.node.attrs.getInt(attr::axis)}});
    return whereInside(c, gathered, {});
  });
}

} // namespace

std::span<const Rule> indexingRules() {
  static const Rule table[] = {{"gather", gather},
                               {"gather_elements", gatherElements},
                               {"scatter_add", scatter},
                               {"scatter_elements_add", scatterElements}};
  return table;
}

} // namespace tegula
