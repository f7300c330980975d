// Primitives as expressions with sticky errors.
#include "graph/Emit.h"
#include "primitives/InferRules.h"
#include "tensor/Element.h"

namespace tegula {

namespace {
namespace op {
const Symbol neg = "neg", add = "add", sub = "sub", mul = "mul", div = "div", equal = "equal", less = "less",
             logicalAnd = "logical_and", select = "select", cast = "cast", constant = "constant",
             broadcast = "broadcast", reduceSum = "reduce_sum", reshape = "reshape", transpose = "transpose",
             slice = "slice", pad = "pad", contract = "contract";
} // namespace op
} // namespace

Value Emit::primitive(Symbol name, std::initializer_list<Value> inputs, const Attributes& attrs) {
  return primitive(name, std::span<const Value>(inputs.begin(), inputs.size()), attrs);
}

Value Emit::primitive(Symbol name, std::span<const Value> inputs, const Attributes& attrs) {
  if (!status_.ok()) return {};
  auto results = graph_.addPrimitive(name, inputs, attrs, scope_);
  if (results.ok()) return (*results)[0];
  status_ = results.status();
  return {};
}

Value Emit::neg(Value x) { return primitive(op::neg, {x}); }
Value Emit::add(Value a, Value b) { return primitive(op::add, {a, b}); }
Value Emit::sub(Value a, Value b) { return primitive(op::sub, {a, b}); }
Value Emit::mul(Value a, Value b) { return primitive(op::mul, {a, b}); }
Value Emit::div(Value a, Value b) { return primitive(op::div, {a, b}); }
Value Emit::equal(Value a, Value b) { return primitive(op::equal, {a, b}); }
Value Emit::less(Value a, Value b) { return primitive(op::less, {a, b}); }
Value Emit::logicalAnd(Value a, Value b) { return primitive(op::logicalAnd, {a, b}); }
Value Emit::select(Value c, Value a, Value b) { return primitive(op::select, {c, a, b}); }

Value Emit::cast(Value x, DType d) {
  if (!status_.ok() || dtypeOf(x) == d) return x;
  return primitive(op::cast, {x}, {{attr::dtype, d}});
}

Value Emit::constant(double value, DType d) {
  if (isFloat(d)) return primitive(op::constant, {}, {{attr::value, value}, {attr::dtype, d}});
  return primitive(op::constant, {}, {{attr::value, saturatingTruncate<int64_t>(value)}, {attr::dtype, d}});
}

Value Emit::constantLike(double value, Value like) {
  if (!status_.ok()) return {};
  TensorType t = typeOf(like);
  return broadcast(constant(value, t.dtype), t.shape, {});
}

Value Emit::zeros(TensorType t) { return broadcast(constant(0, t.dtype), t.shape, {}); }

Value Emit::broadcast(Value x, const Shape& shape, const Shape& axes) {
  if (!status_.ok()) return {};
  if (shape.rank() == 0) return x;
  return primitive(op::broadcast, {x}, {{attr::shape, shape}, {attr::axes, axes}});
}

Value Emit::reduceSum(Value x, const Shape& axes, bool keepdim) {
  if (axes.rank() == 0) return x;
  return primitive(op::reduceSum, {x}, {{attr::axes, axes}, {attr::keepdim, keepdim}});
}

Value Emit::reshape(Value x, const Shape& shape) {
  if (!status_.ok() || shapeOf(x) == shape) return x;
  return primitive(op::reshape, {x}, {{attr::shape, shape}});
}

Value Emit::transpose(Value x, const Shape& permutation) {
  if (permutation == countingShape(permutation.rank())) return x;
  return primitive(op::transpose, {x}, {{attr::permutation, permutation}});
}

Value Emit::slice(Value x, const Shape& starts, const Shape& sizes, const Shape& steps) {
  return primitive(op::slice, {x}, {{attr::starts, starts}, {attr::sizes, sizes}, {attr::steps, steps}});
}

Value Emit::pad(Value x, const Shape& low, const Shape& high, const Shape& interior, double value) {
  return primitive(op::pad, {x},
                   {{attr::low, low}, {attr::high, high}, {attr::interior, interior}, {attr::value, value}});
}

Value Emit::contract(Value a, Value b, const Shape& batchA, const Shape& batchB, const Shape& contractA,
                     const Shape& contractB, DType result) {
  return primitive(op::contract, {a, b},
                   {{attr::batchA, batchA},
                    {attr::batchB, batchB},
                    {attr::contractA, contractA},
                    {attr::contractB, contractB},
                    {attr::dtype, result}});
}

Value Emit::reverse(Value x, const Shape& axes) {
  if (!status_.ok()) return {};
  Shape sizes = shapeOf(x), starts = filledShape(sizes.rank(), 0), steps = filledShape(sizes.rank(), 1);
  for (int64_t axis : axes) {
    int i = static_cast<int>(axis);
    starts[i] = std::max<int64_t>(sizes[i] - 1, 0);
    steps[i] = -1;
  }
  return slice(x, starts, sizes, steps);
}

Shape filledShape(int n, int64_t value) {
  Shape s;
  for (int i = 0; i < n; ++i) s.push_back(value);
  return s;
}

Shape countingShape(int n) {
  Shape s;
  for (int i = 0; i < n; ++i) s.push_back(i);
  return s;
}

bool containsAxis(const Shape& axes, int axis) { return std::find(axes.begin(), axes.end(), axis) != axes.end(); }

} // namespace tegula
