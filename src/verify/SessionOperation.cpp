// The compiled path as an operation under test.
#include "verify/SessionOperation.h"

#include "verify/Problem.h"

#include <algorithm>
#include <numeric>

namespace tegula {
namespace {

Shape counting(int n) {
  Shape s;
  for (int i = 0; i < n; ++i) s.push_back(i);
  return s;
}

/// The array without its repetitions: axes of stride 0 cut to extent 1.
HostArray withoutRepeats(const HostArray& a) {
  Shape shape = a.shape();
  for (int i = 0; i < shape.rank(); ++i)
    if (a.strides()[i] == 0 && shape[i] > 1) shape[i] = 1;
  return HostArray::wrap({a.dtype(), shape}, a.strides(), const_cast<void*>(a.data()), std::make_shared<HostArray>(a));
}

/// Axes in memory order, outermost first.
std::vector<int64_t> memoryOrder(const HostArray& a) {
  std::vector<int64_t> order(static_cast<size_t>(a.shape().rank()));
  std::iota(order.begin(), order.end(), int64_t{0});
  auto stride = [&](int64_t axis) { return a.strides()[static_cast<int>(axis)]; };
  std::sort(order.begin(), order.end(),
            [&](int64_t x, int64_t y) { return stride(x) != stride(y) ? stride(x) > stride(y) : x < y; });
  return order;
}

Shape inverse(const std::vector<int64_t>& order) {
  Shape result = counting(static_cast<int>(order.size()));
  for (size_t i = 0; i < order.size(); ++i) result[static_cast<int>(order[i])] = static_cast<int64_t>(i);
  return result;
}

/// A row whose elements lie `stride` apart, as a slice of the row of all elements between.
Tensor everyNth(Session& s, const HostArray& a) {
  int64_t stride = a.strides()[0], n = a.elements(), all = (n - 1) * stride + 1;
  HostArray whole =
      HostArray::wrap({a.dtype(), {all}}, {1}, const_cast<void*>(a.data()), std::make_shared<HostArray>(a));
  return call("slice", {s.input(whole.clone())}, {{"start", Shape{0}}, {"stop", Shape{all}}, {"step", Shape{stride}}});
}

StatusOr<std::vector<HostArray>> values(Session& s, std::span<const Tensor> results) {
  TG_RETURN_IF_ERROR(s.evaluate(results));
  std::vector<HostArray> arrays;
  for (const Tensor& t : results) {
    TG_ASSIGN_OR_RETURN(HostArray a, s.value(t));
    arrays.push_back(std::move(a));
  }
  return arrays;
}

struct Call {
  std::vector<Tensor> inputs, results;
};

StatusOr<Call> record(Session& s, Symbol op, std::span<const HostArray> inputs, const Attributes& attributes) {
  TG_ASSIGN_OR_RETURN(CallSignature signature, signatureOf(op, *s.library()));
  Call c;
  for (const HostArray& a : inputs) c.inputs.push_back(isPresent(a) ? recordInput(s, a) : Tensor());
  c.results = callAll(s, op, c.inputs, attributes);
  if (c.results.size() > static_cast<size_t>(signature.results))
    c.results.resize(static_cast<size_t>(signature.results));
  return c;
}

Tensor weightedSum(Session& s, std::span<const Tensor> results, std::span<const HostArray> upstream) {
  Tensor loss;
  for (size_t r = 0; r < upstream.size(); ++r) {
    if (!isPresent(upstream[r])) continue;
    Tensor weighted = results[r] * s.input(upstream[r].contiguous());
    Tensor sum = call("reduce_sum", {weighted}, {{"axes", counting(upstream[r].shape().rank())}, {"keepdim", false}});
    // Results of several types: only the derivative of the loss counts, which a cast passes on.
    loss = loss.present() ? loss + cast(sum, loss.dtype()) : sum;
  }
  return loss;
}

} // namespace

Tensor recordInput(Session& s, const HostArray& array) {
  if (array.isContiguous()) return s.input(array);
  HostArray dense = withoutRepeats(array);
  std::vector<int64_t> order = memoryOrder(dense);
  HostArray inMemory = dense.transpose(order);
  Tensor t;
  if (inMemory.isContiguous())
    t = transpose(s.input(inMemory), inverse(order));
  else if (dense.shape().rank() == 1 && dense.strides()[0] > 1 && dense.elements() > 0)
    t = everyNth(s, dense);
  else
    t = s.input(dense.clone());
  if (dense.shape() == array.shape()) return t;
  return call("broadcast", {t}, {{"shape", array.shape()}, {"axes", counting(array.shape().rank())}});
}

OperationUnderTest sessionOperation(Session& session) {
  OperationUnderTest compiled;
  compiled.forward = [&session](Symbol op, std::span<const HostArray> inputs,
                                const Attributes& attributes) -> StatusOr<std::vector<HostArray>> {
    TG_ASSIGN_OR_RETURN(Call c, record(session, op, inputs, attributes));
    return values(session, c.results);
  };
  compiled.gradient = [&session](Symbol op, std::span<const HostArray> inputs, const Attributes& attributes,
                                 std::span<const HostArray> upstream) -> StatusOr<std::vector<HostArray>> {
    // Which inputs have a gradient is asked of the same graph that the reference differentiates.
    std::vector<size_t> wrt;
    TG_RETURN_IF_ERROR(gradientGraph(session.library(), op, inputs, attributes, upstream, wrt).status());
    TG_ASSIGN_OR_RETURN(Call c, record(session, op, inputs, attributes));
    Tensor loss = weightedSum(session, c.results, upstream);
    std::vector<Tensor> differentiated;
    for (size_t i : wrt) differentiated.push_back(c.inputs[i]);
    TG_ASSIGN_OR_RETURN(std::vector<HostArray> computed, values(session, grad(loss, differentiated)));
    std::vector<HostArray> gradients(inputs.size());
    for (size_t k = 0; k < wrt.size(); ++k) gradients[wrt[k]] = computed[k];
    return gradients;
  };
  return compiled;
}

} // namespace tegula
