// contract(a, b) = reshape(matmul([batch, M, K], [batch, K, N])): axes are brought into this order by transposes, and
// several free or contracted axes merged by reshapes; all of it is views, which the layout pass turns into strides.
#include "graph/passes/Products.h"
#include "primitives/InferRules.h"

namespace tegula {

namespace {

const Symbol kMatmul = "matmul";

struct OperandAxes {
  Shape batch, free, contracted;
};

OperandAxes axesOf(int rank, const Shape& batch, const Shape& contracted) {
  OperandAxes o{batch, {}, contracted};
  for (int i = 0; i < rank; ++i)
    if (!containsAxis(batch, i) && !containsAxis(contracted, i)) o.free.push_back(i);
  return o;
}

void append(Shape& to, const Shape& from) {
  for (int64_t x : from) to.push_back(x);
}

Shape extents(const Shape& shape, const Shape& axes) {
  Shape s;
  for (int64_t axis : axes) s.push_back(shape[static_cast<int>(axis)]);
  return s;
}

/// [batch, first, second], each of the last two merged into one axis unless `keep` says that `first` stays as it is.
Value arranged(Emit& e, Value x, const Shape& batch, const Shape& first, const Shape& second, bool keep) {
  const Shape shape = e.shapeOf(x);
  Shape permutation = batch, merged = extents(shape, batch);
  append(permutation, first);
  append(permutation, second);
  if (keep)
    append(merged, extents(shape, first));
  else
    merged.push_back(extents(shape, first).elements());
  merged.push_back(extents(shape, second).elements());
  return e.reshape(e.transpose(x, permutation), merged);
}

} // namespace

Value productAsMatmul(Emit& e, Value a, Value b, const Attributes& attrs) {
  if (!isFloat(e.dtypeOf(a)) || !e.graph().library().find(kMatmul)) return {};
  const Shape shapeA = e.shapeOf(a), shapeB = e.shapeOf(b);
  OperandAxes left = axesOf(shapeA.rank(), attrs.getInts(attr::batchA), attrs.getInts(attr::contractA));
  OperandAxes right = axesOf(shapeB.rank(), attrs.getInts(attr::batchB), attrs.getInts(attr::contractB));
  if (left.free.rank() + right.free.rank() == 0 && left.batch.rank() == 0) return {};
  // Without batch axes the rows may stay several axes: matmul multiplies [..., M, K] by [K, N].
  bool keepRows = left.batch.rank() == 0 && left.free.rank() > 1;
  Value x = arranged(e, a, left.batch, left.free, left.contracted, keepRows);
  Value y = arranged(e, b, right.batch, right.contracted, right.free, false);
  Attributes at;
  for (const OperatorInfo::Attribute& known : e.graph().library().find(kMatmul)->attributes)
    if (known.name == attr::dtype && attrs.has(attr::dtype)) at.set(attr::dtype, attrs.getDType(attr::dtype));
  if (!e.status().ok()) return {};
  Value inputs[] = {x, y};
  auto product = e.graph().addOperator(kMatmul, inputs, at, e.scope());
  if (!product.ok()) return {};
  Shape result = extents(shapeA, left.batch);
  append(result, extents(shapeA, left.free));
  append(result, extents(shapeB, right.free));
  Value v = e.reshape((*product)[0], result);
  return attrs.has(attr::dtype) ? e.cast(v, attrs.getDType(attr::dtype)) : v;
}

} // namespace tegula
