// One recorded case against an operation under test.
#include "verify/RecordedCases.h"

#include <cmath>

namespace tegula {
namespace {

/// The line that names the case for people; recorded values are not seeds, so the file is part of it.
std::string label(const RecordedCase& c, DType dtype) {
  std::string text = fmt::format("case {} {}", c.id, c.op.text());
  for (size_t i = 0; i < c.inputs.size(); ++i)
    if (isPresent(c.inputs[i])) text += fmt::format(" {}={}", c.inputNames[i].text(), toString(c.inputs[i].shape()));
  return fmt::format("{} {} {}", text, name(dtype), toString(c.attributes));
}

struct Rounded {
  std::vector<HostArray> arrays;           // in the type under test
  std::vector<std::vector<double>> bounds; // of the present ones: how far rounding moved each element
  std::vector<HostArray> exact;            // of the present ones, stated type under test but unrounded values
};

void addRounded(Rounded& all, const HostArray& recorded, DType dtype) {
  if (!isPresent(recorded)) {
    all.arrays.emplace_back();
    return;
  }
  bool rounds = isFloat(recorded.dtype());
  all.arrays.push_back(rounds ? recorded.cast(dtype) : recorded);
  all.exact.push_back(recorded);
  std::vector<double> bound(static_cast<size_t>(recorded.elements()), 0.0);
  if (rounds) {
    std::vector<double> before = recorded.toVector(), after = all.arrays.back().toVector();
    for (size_t i = 0; i < bound.size(); ++i)
      if (before[i] != after[i] && !std::isnan(before[i])) bound[i] = std::fabs(before[i] - after[i]);
  }
  all.bounds.push_back(std::move(bound));
}

/// Values that were recorded, with the bounds of our analysis. For f64 the f32 graph is analysed (see Operation.h) and
/// its bounds, which are proportional to the unit roundoff, are scaled down.
BoundedArray withRecorded(BoundedArray analysed, const HostArray& recorded, DType dtype) {
  analysed.value = recorded.contiguous();
  if (!isFloat(recorded.dtype())) return analysed;
  if (dtype == DType::F64) analysed.stated = DType::F64;
  // The recorded values were computed in f64 by other formulas: 1 - y where y is nearly 1 loses what is below 2^-53.
  double largest = 0;
  for (double v : recorded.toVector())
    if (std::isfinite(v)) largest = std::max(largest, std::fabs(v));
  for (double& e : analysed.bound) e = e * (dtype == DType::F64 ? 0x1p-28 : 1) + largest * 0x1p-49;
  return analysed;
}

} // namespace

Status checkRecordedCase(const RecordedCase& c, DType dtype, const OperationUnderTest& operation,
                         std::shared_ptr<const OperatorLibrary> library, const CompareOptions& options) {
  Precision precision = dtype == DType::F64 ? Precision::Wide : Precision::AsStated;
  Rounded inputs;
  for (const HostArray& x : c.inputs) addRounded(inputs, x, dtype);
  auto report = [&](const HostArray& actual, const BoundedArray& expected, std::string_view what) -> Status {
    Comparison comparison = compare(actual, expected, options);
    return comparison.ok() ? OkStatus() : failed("{}: {}: {}", label(c, dtype), what, comparison.message);
  };

  TG_ASSIGN_OR_RETURN(Graph forward, forwardGraph(library, c.op, inputs.arrays, c.attributes, precision));
  TG_ASSIGN_OR_RETURN(auto bounded, evaluateBounded(forward, inputs.exact, inputs.bounds));
  auto results = operation.forward(c.op, inputs.arrays, c.attributes);
  if (!results.ok()) return addContext(results.status(), label(c, dtype));
  TG_RETURN_IF_ERROR(report((*results)[0], withRecorded(bounded[0], c.result, dtype), "result"));
  if (!c.upstream || !operation.gradient) return OkStatus();

  Rounded upstream;
  addRounded(upstream, *c.upstream, (*results)[0].dtype()); // a loss of bf16 inputs may be f32
  upstream.arrays.resize(results->size());                  // only the first result has one
  std::vector<size_t> wrt;
  TG_ASSIGN_OR_RETURN(Graph backward,
                      gradientGraph(library, c.op, inputs.arrays, c.attributes, upstream.arrays, wrt, precision));
  std::vector<HostArray> exact = inputs.exact;
  std::vector<std::vector<double>> bounds = inputs.bounds;
  exact.push_back(upstream.exact[0]);
  bounds.push_back(upstream.bounds[0]);
  TG_ASSIGN_OR_RETURN(auto gradientBounds, evaluateBounded(backward, exact, bounds));
  auto gradients = operation.gradient(c.op, inputs.arrays, c.attributes, upstream.arrays);
  if (!gradients.ok()) return addContext(gradients.status(), label(c, dtype));
  for (size_t k = 0; k < wrt.size(); ++k) {
    size_t i = wrt[k];
    if (!isPresent(c.gradients[i])) continue;
    TG_RETURN_IF_ERROR(report((*gradients)[i], withRecorded(gradientBounds[k], c.gradients[i], dtype),
                              fmt::format("gradient of {}", c.inputNames[i].text())));
  }
  return OkStatus();
}

} // namespace tegula
