// The arrays of a problem: values from its seed, memory order from its layouts.
#include "base/Hash.h"
#include "base/Random.h"
#include "verify/Problem.h"

#include <cmath>
#include <numeric>

namespace tegula {
namespace {

double draw(const ProblemInput& input, RandomStream& random) {
  DType d = input.type.dtype;
  if (!input.range && isFloat(d)) return random.normal();
  auto [low, high] = input.range.value_or(d == DType::Bool ? std::pair(0.0, 2.0) : std::pair(0.0, 4.0));
  double value = low + (high - low) * random.uniform();
  return isFloat(d) ? value : std::floor(value);
}

HostArray everyOther(const HostArray& values) {
  TensorType wide{values.dtype(), {2 * values.shape()[0]}};
  HostArray memory(wide);
  HostArray view = HostArray::wrap(values.type(), {2}, memory.data(), std::make_shared<HostArray>(memory));
  view.copyFrom(values);
  return view;
}

} // namespace

HostArray arrange(const HostArray& values, InputLayout layout) {
  int rank = values.shape().rank();
  if (layout == InputLayout::Contiguous || rank == 0) return values.contiguous();
  if (layout == InputLayout::Expanded) {
    Shape slice = values.shape();
    if (slice[0] == 0) return values.contiguous();
    slice[0] = 1;
    return HostArray::wrap({values.dtype(), slice}, values.strides(), const_cast<void*>(values.data()),
                           std::make_shared<HostArray>(values))
        .clone()
        .expand(values.shape());
  }
  if (rank == 1) return everyOther(values);
  std::vector<int64_t> reversed(static_cast<size_t>(rank));
  std::iota(reversed.rbegin(), reversed.rend(), int64_t{0});
  return values.transpose(reversed).clone().transpose(reversed);
}

std::vector<HostArray> makeInputs(const Problem& problem) {
  std::vector<HostArray> arrays;
  for (size_t i = 0; i < problem.inputs.size(); ++i) {
    const ProblemInput& input = problem.inputs[i];
    arrays.emplace_back();
    if (!input.present) continue;
    RandomStream random(problem.seed, hash64(input.name.text()) + i);
    HostArray values(input.type);
    for (int64_t k = 0; k < values.elements(); ++k) values.set(k, draw(input, random));
    arrays.back() = arrange(values, input.layout);
  }
  return arrays;
}

} // namespace tegula
