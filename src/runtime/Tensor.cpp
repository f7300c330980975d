// Operations on lazy tensors: each records one or a few nodes.
#include "runtime/Tensor.h"

#include "runtime/Recorder.h"
#include "runtime/Session.h"
#include <cassert>
#include <cstdlib>
#include <optional>

namespace tegula {
namespace {

/// The session of the first operand that is there. Requires: one is.
Session& sessionOf(std::span<const Tensor> tensors) {
  for (const Tensor& t : tensors)
    if (t.present()) return t.session();
  assert(false && "an operation needs at least one tensor");
  std::abort();
}

Tensor primitive(Symbol op, std::initializer_list<Tensor> inputs, const Attributes& attrs = {}) {
  std::span<const Tensor> span(inputs.begin(), inputs.size());
  return sessionOf(span).recorder().apply(NameSpace::Primitives, op, span, attrs);
}

Tensor broadcastTo(const Tensor& t, const Shape& shape) {
  static const Symbol op("broadcast"), shapeName("shape"), axesName("axes");
  if (t.shape() == shape) return t;
  Shape axes;
  for (int i = shape.rank() - t.shape().rank(); i < shape.rank(); ++i) axes.push_back(i);
  return primitive(op, {t}, {{shapeName, shape}, {axesName, axes}});
}

Tensor elementwise(Symbol op, const Tensor& a, const Tensor& b) {
  if (!a.present() || !b.present() || a.shape() == b.shape()) return primitive(op, {a, b});
  std::optional<Shape> shape = broadcastShapes(a.shape(), b.shape());
  if (!shape)
    return a.session().recorder().poison(
        invalid("{}: shapes {} and {} do not broadcast", op.text(), toString(a.shape()), toString(b.shape())));
  return primitive(op, {broadcastTo(a, *shape), broadcastTo(b, *shape)});
}

} // namespace

const Shape& Tensor::shape() const { return session_->recorder().type(*this).shape; }
DType Tensor::dtype() const { return session_->recorder().type(*this).dtype; }
int64_t Tensor::dim(int axis) const {
  const Shape& s = shape();
  int i = axis < 0 ? axis + s.rank() : axis;
  return i >= 0 && i < s.rank() ? s[i] : 1; // a poisoned tensor has no axes: its error is reported by evaluate()
}

Tensor call(Symbol op, std::initializer_list<Tensor> inputs, const Attributes& attrs) {
  return call(op, std::span<const Tensor>(inputs.begin(), inputs.size()), attrs);
}

Tensor call(Symbol op, std::span<const Tensor> inputs, const Attributes& attrs) {
  return sessionOf(inputs).recorder().apply(NameSpace::Library, op, inputs, attrs);
}

std::vector<Tensor> callAll(Symbol op, std::span<const Tensor> inputs, const Attributes& attrs) {
  std::vector<Tensor> results;
  callAll(op, inputs, attrs, results);
  return results;
}

std::vector<Tensor> callAll(Session& session, Symbol op, std::span<const Tensor> inputs, const Attributes& attrs) {
  std::vector<Tensor> results;
  session.recorder().applyAll(op, inputs, attrs, results);
  return results;
}

void callAll(Symbol op, std::span<const Tensor> inputs, const Attributes& attrs, std::vector<Tensor>& results) {
  results.clear();
  sessionOf(inputs).recorder().applyAll(op, inputs, attrs, results);
}

Tensor operator+(const Tensor& a, const Tensor& b) {
  static const Symbol op("add");
  return elementwise(op, a, b);
}
Tensor operator-(const Tensor& a, const Tensor& b) {
  static const Symbol op("sub");
  return elementwise(op, a, b);
}
Tensor operator*(const Tensor& a, const Tensor& b) {
  static const Symbol op("mul");
  return elementwise(op, a, b);
}
Tensor operator/(const Tensor& a, const Tensor& b) {
  static const Symbol op("div");
  return elementwise(op, a, b);
}
Tensor operator*(const Tensor& a, double b) { return a * sessionOf({&a, 1}).recorder().numberLike(a, b); }
Tensor operator+(const Tensor& a, double b) { return a + sessionOf({&a, 1}).recorder().numberLike(a, b); }

Tensor matmul(const Tensor& a, const Tensor& b) {
  static const Symbol op("matmul");
  return call(op, {a, b});
}

Tensor reshape(const Tensor& t, const Shape& shape) {
  static const Symbol op("reshape"), name("shape");
  return primitive(op, {t}, {{name, shape}});
}

Tensor transpose(const Tensor& t, const Shape& permutation) {
  static const Symbol op("transpose"), name("permutation");
  return primitive(op, {t}, {{name, permutation}});
}

Tensor slice(const Tensor& t, int axis, int64_t begin, int64_t end) {
  static const Symbol op("slice"), starts("starts"), sizes("sizes"), steps("steps");
  const Shape& s = t.shape();
  int i = axis < 0 ? axis + s.rank() : axis;
  if (i < 0 || i >= s.rank()) {
    // A poisoned operand has no axes; apply() keeps its first error.
    return t.session().recorder().poison(invalid("slice: axis {} is outside {}", axis, toString(s)));
  }
  int64_t from = begin < 0 ? begin + s[i] : begin, to = end < 0 ? end + s[i] : end;
  if (from < 0 || to > s[i] || from > to)
    return t.session().recorder().poison(
        invalid("slice: elements {} to {} were asked for of an axis of {}", begin, end, s[i]));
  Shape first, count = s, stride;
  for (int k = 0; k < s.rank(); ++k) {
    first.push_back(k == i ? from : 0);
    stride.push_back(1);
  }
  count[i] = to - from;
  return primitive(op, {t}, {{starts, first}, {sizes, count}, {steps, stride}});
}

Tensor cast(const Tensor& t, DType dtype) {
  static const Symbol op("cast"), name("dtype");
  return t.dtype() == dtype ? t : primitive(op, {t}, {{name, dtype}});
}

std::vector<Tensor> grad(const Tensor& loss, std::span<const Tensor> wrt) {
  std::vector<Tensor> results;
  grad(loss, wrt, results);
  return results;
}

void grad(const Tensor& loss, std::span<const Tensor> wrt, std::vector<Tensor>& results) {
  results.clear();
  if (loss.present()) loss.session().recorder().gradient(loss, wrt, results);
}

} // namespace tegula
