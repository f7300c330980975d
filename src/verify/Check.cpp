// Problems against bounds, and derivatives against differences.
#include "verify/Check.h"

#include "verify/FiniteDifference.h"
#include "verify/GuardedBuffer.h"
#include <cmath>

namespace tegula {
namespace {

std::vector<HostArray> guarded(std::span<const HostArray> arrays, GuardedBuffer::Side side) {
  std::vector<HostArray> copies;
  for (const HostArray& a : arrays) copies.push_back(isPresent(a) ? guardedCopy(a, side) : HostArray());
  return copies;
}

bool anyDifferentiable(const Problem& problem, const CallSignature& signature) {
  for (const ProblemInput& input : problem.inputs)
    for (const CallSignature::Input& declared : signature.inputs)
      if (declared.name == input.name && declared.differentiable && input.present && isFloat(input.type.dtype))
        return true;
  return false;
}

Status note(CheckReport& report, const HostArray& actual, const BoundedArray& expected, const std::string& what,
            const Problem& problem, const CompareOptions& options) {
  TG_RETURN_IF_ERROR(requireClose(actual, expected, what, toString(problem), options));
  Comparison comparison = compare(actual, expected, options);
  ++report.comparisons;
  report.worstRatio = std::max(report.worstRatio, comparison.worstRatio);
  report.undecided += comparison.undecided;
  return OkStatus();
}

} // namespace

StatusOr<CheckReport> checkProblem(const Problem& problem, const OperationUnderTest& operation,
                                   std::shared_ptr<const OperatorLibrary> library, const CheckOptions& options) {
  CheckReport report;
  std::vector<HostArray> inputs = makeInputs(problem);
  TG_ASSIGN_OR_RETURN(Graph forward, forwardGraph(library, problem.op, inputs, problem.attributes));
  TG_ASSIGN_OR_RETURN(auto expected, evaluateBounded(forward, presentOnly(inputs)));
  std::vector<HostArray> results;
  for (GuardedBuffer::Side side : {GuardedBuffer::Side::End, GuardedBuffer::Side::Begin}) {
    TG_ASSIGN_OR_RETURN(results, operation.forward(problem.op, guarded(inputs, side), problem.attributes));
    for (size_t r = 0; r < expected.size(); ++r)
      TG_RETURN_IF_ERROR(note(report, results[r], expected[r], fmt::format("result {}", r), problem, options.compare));
  }
  TG_ASSIGN_OR_RETURN(CallSignature signature, signatureOf(problem.op, *library));
  const OperatorInfo* info = library->find(problem.op);
  if (info && !info->differentiable) return report;
  if (!options.gradients || !operation.gradient || !anyDifferentiable(problem, signature)) return report;
  TG_ASSIGN_OR_RETURN(std::vector<HostArray> upstream, makeUpstream(results, problem.seed));
  if (presentOnly(upstream).empty()) return report; // no result is a float
  std::vector<size_t> wrt;
  auto backward = gradientGraph(library, problem.op, inputs, problem.attributes, upstream, wrt);
  if (!backward.ok()) return backward.status();
  TG_ASSIGN_OR_RETURN(auto expectedGradients, evaluateBounded(*backward, presentOnly(inputs, upstream)));
  TG_ASSIGN_OR_RETURN(auto gradients,
                      operation.gradient(problem.op, guarded(inputs, GuardedBuffer::Side::End), problem.attributes,
                                         guarded(upstream, GuardedBuffer::Side::End)));
  for (size_t k = 0; k < wrt.size(); ++k)
    TG_RETURN_IF_ERROR(note(report, gradients[wrt[k]], expectedGradients[k],
                            fmt::format("gradient of {}", problem.inputs[wrt[k]].name.text()), problem,
                            options.compare));
  return report;
}

namespace {

/// Larger problems are compared along random directions, two evaluations each, by the reference evaluator.
constexpr int64_t kMostDifferences = 1 << 18;

/// The values of a problem without rounding: its arrays are f64. The graph keeps the types that were stated, which
/// headers may ask for.
Problem inF64(const Problem& stated) {
  Problem problem = stated;
  for (ProblemInput& input : problem.inputs)
    if (isFloat(input.type.dtype)) input.type.dtype = DType::F64;
  return problem;
}

OperationUnderTest wideReference(std::shared_ptr<const OperatorLibrary> library, const Problem& stated) {
  std::vector<DType> types;
  for (const ProblemInput& input : stated.inputs) types.push_back(input.type.dtype);
  return referenceOperation(std::move(library), Precision::Wide, std::move(types));
}

} // namespace

StatusOr<std::string> whyNoDifferences(const Problem& stated, std::shared_ptr<const OperatorLibrary> library) {
  Problem problem = inF64(stated);
  const OperatorInfo* info = library->find(problem.op);
  if (info && !info->differentiable) return "it is declared without one";
  TG_ASSIGN_OR_RETURN(CallSignature signature, signatureOf(problem.op, *library));
  if (!anyDifferentiable(problem, signature)) return "no input is a float with a gradient";
  if (info && library->sourceOf(problem.op).find("stop_gradient") != std::string::npos)
    return "stop_gradient is in its definition";
  for (const auto& [name, value] : problem.attributes)
    if (const auto* d = std::get_if<DType>(&value); d && *d != DType::F64)
      return fmt::format("attribute {} asks for less than f64", name.text());
  int64_t elements = 0;
  for (const ProblemInput& input : problem.inputs)
    if (input.present && isFloat(input.type.dtype)) elements += input.type.shape.elements();
  if (elements == 0) return "no input has an element";
  if (elements > kMostDifferences) return fmt::format("{} elements, at most {}", elements, kMostDifferences);
  OperationUnderTest reference = wideReference(library, stated);
  TG_ASSIGN_OR_RETURN(auto results, reference.forward(problem.op, makeInputs(problem), problem.attributes));
  if (std::ranges::none_of(results, [](const HostArray& r) { return isPresent(r) && isFloat(r.dtype()); }))
    return "no result is a float";
  for (const HostArray& result : presentOnly(results))
    for (int64_t i = 0; isFloat(result.dtype()) && i < result.elements(); ++i)
      if (!std::isfinite(result.get(i)))
        return "a result is not finite there; give the input a range, as in x=3,17:0.1..2";
  return "";
}

Status checkDerivative(const Problem& stated, std::shared_ptr<const OperatorLibrary> library) {
  Problem problem = inF64(stated);
  TG_ASSIGN_OR_RETURN(CallSignature signature, signatureOf(problem.op, *library));
  if (!anyDifferentiable(problem, signature)) return OkStatus();
  std::vector<HostArray> inputs = makeInputs(problem);
  OperationUnderTest reference = wideReference(library, stated);
  TG_ASSIGN_OR_RETURN(auto results, reference.forward(problem.op, inputs, problem.attributes));
  TG_ASSIGN_OR_RETURN(auto upstream, makeUpstream(results, problem.seed));
  if (presentOnly(upstream).empty()) return OkStatus();
  FiniteDifferenceOptions options;
  for (const ProblemInput& input : problem.inputs) options.names.push_back(input.name);
  Status status = checkGradient(reference, problem.op, inputs, problem.attributes, upstream, options);
  return status.ok() ? status : addContext(status, toString(stated));
}

} // namespace tegula
