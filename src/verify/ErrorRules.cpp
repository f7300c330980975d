// What rules share, and the choice of the rule.
#include "verify/ErrorRules.h"

#include <algorithm>
#include <cmath>

namespace tegula {

bool ErrorRuleCall::inputsExact() const {
  for (const BoundedArray& input : inputs)
    if (std::any_of(input.bound.begin(), input.bound.end(), [](double e) { return e != 0; })) return false;
  return true;
}

StatusOr<std::vector<double>> ErrorRuleCall::apply(std::span<const HostArray> arrays) const {
  std::vector<HostArray> out;
  for (const TensorType& t : results) out.emplace_back(TensorType{DType::F64, t.shape});
  TG_RETURN_IF_ERROR(primitive.evaluate(arrays, attributes, out));
  return out[0].toVector();
}

double roundedBound(double value, double bound, DType d, double ulps) {
  if (!isFloat(d)) return bound;
  if (!std::isfinite(value)) return bound; // no rounding
  double magnitude = std::fabs(value) + bound;
  if (!(magnitude <= largestFinite(d))) return kUndecided; // may be infinite in the type, or the bound is not finite
  // In f64 every number is representable, but the reference rounded too: only short numbers are taken as exact there.
  if (bound == 0 && ulps == 0 && isRepresentable(value, d == DType::F64 ? DType::F32 : d)) return 0;
  DType computed = d == DType::F64 ? DType::F64 : DType::F32; // functions are computed in f32 and rounded again
  double result = bound + magnitude * (unitRoundoff(d) + 2 * ulps * unitRoundoff(computed)) + subnormalRoundoff(d) +
                  2 * ulps * subnormalRoundoff(computed);
  return result;
}

namespace {

/// Infinities and NaN stay what they are under any finite error.
void dropBoundsOfNonFinite(ErrorRuleCall& call) {
  for (size_t r = 0; r < call.bounds.size(); ++r) {
    if (!isFloat(call.results[r].dtype)) continue;
    std::vector<double> values = call.outputs[r].toVector();
    for (size_t i = 0; i < values.size(); ++i)
      if (!std::isfinite(values[i]) && call.bounds[r][i] < kUndecided) call.bounds[r][i] = 0;
  }
}

} // namespace

Status applyErrorRule(ErrorRuleCall& call) {
  call.bounds.clear();
  for (const TensorType& t : call.results) call.bounds.emplace_back(static_cast<size_t>(t.shape.elements()), 0.0);
  for (auto* family : {elementwiseErrorRule, foldErrorRule, moveErrorRule}) {
    TG_ASSIGN_OR_RETURN(bool applied, family(call));
    if (!applied) continue;
    for (auto& bounds : call.bounds)
      for (double& e : bounds)
        if (std::isnan(e)) e = kUndecided;
    dropBoundsOfNonFinite(call);
    return OkStatus();
  }
  if (!call.inputsExact())
    for (auto& bounds : call.bounds) std::fill(bounds.begin(), bounds.end(), kUndecided);
  return OkStatus();
}

HostArray boundsArray(const BoundedArray& a) { return HostArray::fromValues(DType::F64, a.value.shape(), a.bound); }

HostArray magnitudes(const BoundedArray& a, bool withBound) {
  std::vector<double> values = a.value.toVector();
  for (size_t i = 0; i < values.size(); ++i) values[i] = std::fabs(values[i]) + (withBound ? a.bound[i] : 0);
  return HostArray::fromValues(DType::F64, a.value.shape(), values);
}

} // namespace tegula
