// Derivative of contract: d(a) contracts dy with b over the free axes of b, and the other way round; a transpose puts
// the axes in order.
#include "graph/autodiff/Rules.h"
#include "primitives/InferRules.h"

namespace tegula {

namespace {

struct Operand {
  Shape batch, contracted, free; // axes
};

Operand operandAxes(int rank, const Shape& batch, const Shape& contracted) {
  Operand o{batch, contracted, {}};
  for (int i = 0; i < rank; ++i)
    if (!containsAxis(batch, i) && !containsAxis(contracted, i)) o.free.push_back(i);
  return o;
}

int indexOf(const Shape& axes, int64_t axis) {
  return static_cast<int>(std::find(axes.begin(), axes.end(), axis) - axes.begin());
}

/// `otherFree`: where the free axes of `other` begin in dy.
Value operandGradient(RuleCall& c, Value self, const Operand& own, Value other, const Operand& theirs, int otherFree) {
  Emit& e = c.e;
  int batches = own.batch.rank();
  Shape dyBatch = countingShape(batches), dyContracted;
  for (int i = 0; i < theirs.free.rank(); ++i) dyContracted.push_back(otherFree + i);
  Value dy = c.dy();
  // Operands of one type: the wider of the two, so that no bits of dy are lost.
  bool widen = sizeBytes(e.dtypeOf(other)) < sizeBytes(e.dtypeOf(dy));
  Value a = widen ? dy : e.cast(dy, e.dtypeOf(other)), b = widen ? e.cast(other, e.dtypeOf(dy)) : other;
  Value product = e.contract(a, b, dyBatch, theirs.batch, dyContracted, theirs.free, e.dtypeOf(self));
  // product: batch, free of self, then the axes of `other` that were contracted, increasing.
  Shape sorted = theirs.contracted;
  if (sorted.rank() > 1) std::sort(&sorted[0], &sorted[0] + sorted.rank());
  Shape permutation = filledShape(e.shapeOf(self).rank(), 0);
  for (int i = 0; i < batches; ++i) permutation[static_cast<int>(own.batch[i])] = i;
  for (int i = 0; i < own.free.rank(); ++i) permutation[static_cast<int>(own.free[i])] = batches + i;
  for (int i = 0; i < own.contracted.rank(); ++i)
    permutation[static_cast<int>(own.contracted[i])] =
        batches + own.free.rank() + indexOf(sorted, theirs.contracted[i]);
  return e.transpose(product, permutation);
}

void contract(RuleCall& c) {
  const Attributes& at = c.node.attrs;
  Operand a = operandAxes(c.e.shapeOf(c.in(0)).rank(), at.getInts(attr::batchA), at.getInts(attr::contractA));
  Operand b = operandAxes(c.e.shapeOf(c.in(1)).rank(), at.getInts(attr::batchB), at.getInts(attr::contractB));
  int freeA = a.batch.rank(), freeB = freeA + a.free.rank();
  c.set(0, [&] { return operandGradient(c, c.in(0), a, c.in(1), b, freeB); });
  c.set(1, [&] { return operandGradient(c, c.in(1), b, c.in(0), a, freeA); });
}

} // namespace

std::span<const Rule> contractionRules() {
  static const Rule table[] = {{"contract", contract}};
  return table;
}

} // namespace tegula
