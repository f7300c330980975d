// Central differences with Richardson's extrapolation.
#include "verify/FiniteDifference.h"

#include "base/Random.h"
#include <cmath>

namespace tegula {
namespace {

struct Objective {
  const OperationUnderTest& operation;
  Symbol op;
  std::vector<HostArray> inputs;
  const Attributes& attributes;
  std::span<const HostArray> upstream;

  /// sum(results * upstream), and the sum of magnitudes that its rounding errors are relative to.
  StatusOr<std::pair<double, double>> at(size_t input, const std::vector<double>& values) {
    inputs[input] = HostArray::fromValues(inputs[input].dtype(), inputs[input].shape(), values);
    TG_ASSIGN_OR_RETURN(std::vector<HostArray> results, operation.forward(op, inputs, attributes));
    double sum = 0, magnitude = 0;
    for (size_t r = 0; r < upstream.size(); ++r) {
      if (!isPresent(upstream[r])) continue;
      std::vector<double> y = results[r].toVector(), weights = upstream[r].toVector();
      for (size_t i = 0; i < y.size(); ++i) {
        sum += y[i] * weights[i];
        magnitude += std::fabs(y[i] * weights[i]);
      }
    }
    return std::pair(sum, magnitude);
  }
};

struct Derivative {
  double value, tolerance;
};

/// Along `direction` from `base`, by `step / shrink` and half of it.
StatusOr<Derivative> differentiate(Objective& f, size_t input, const std::vector<double>& base,
                                   const std::vector<double>& direction, double step, double shrink) {
  double coarse = 0, fine = 0, magnitude = 0;
  for (double h : {step / shrink, step / shrink / 2}) {
    double ends[2];
    for (int side = 0; side < 2; ++side) {
      std::vector<double> moved = base;
      for (size_t i = 0; i < moved.size(); ++i) moved[i] += (side ? h : -h) * direction[i];
      TG_ASSIGN_OR_RETURN(auto value, f.at(input, moved));
      ends[side] = value.first;
      magnitude = std::max(magnitude, value.second);
    }
    (h == step / shrink ? coarse : fine) = (ends[1] - ends[0]) / (2 * h);
  }
  double value = fine + (fine - coarse) / 3;
  // The error of `fine` is about (fine - coarse) / 3, at any step. What rounding adds, of the results (the f64 unit
  // times some operations) and of the inputs that were moved, is divided by the step: it grows as that shrinks.
  double rounding = 64 * 0x1p-53 * magnitude / step + 1e-12 + 1e-11 * std::fabs(value);
  return Derivative{value, 2 * std::fabs(fine - coarse) + rounding * shrink};
}

/// A step may cross a kink: elements of a sort change places, a maximum changes hands. Smaller steps may not, while a
/// wrong gradient stays wrong at every step. The smallest are 2^-12 of the first, about 2^-26 of an element, so that
/// half the digits of an input still move. Their wider tolerance lets nothing pass that the first step should see: with
/// a quarter of `apart`, what the first step was off by, a smooth function's gradient that is wrong by w and agrees has
/// w <= 2·tolerance <= apart / 2 <= (w + first tolerance) / 2, so w is within the first tolerance.
StatusOr<bool> agreesInSmallerSteps(Objective& f, size_t input, const std::vector<double>& base,
                                    const std::vector<double>& direction, double step, double analytic, double apart) {
  for (double shrink : {0x1p4, 0x1p8, 0x1p12}) {
    TG_ASSIGN_OR_RETURN(Derivative numeric, differentiate(f, input, base, direction, step, shrink));
    bool seesAsMuch = numeric.tolerance <= apart / 4;
    if (seesAsMuch && std::fabs(analytic - numeric.value) <= numeric.tolerance) return true;
  }
  return false;
}

Status checkDirection(Objective& f, size_t input, const std::vector<double>& base, const std::vector<double>& gradient,
                      const std::vector<double>& direction, double step, std::string_view where) {
  double analytic = 0;
  for (size_t i = 0; i < gradient.size(); ++i)
    if (direction[i] != 0) analytic += gradient[i] * direction[i];
  TG_ASSIGN_OR_RETURN(Derivative numeric, differentiate(f, input, base, direction, step, 1));
  double apart = std::fabs(analytic - numeric.value);
  if (apart <= numeric.tolerance) return OkStatus();
  TG_ASSIGN_OR_RETURN(bool agrees, agreesInSmallerSteps(f, input, base, direction, step, analytic, apart));
  if (agrees) return OkStatus();
  return failed("gradient of {} is {:.12g} but differences give {:.12g} within {:.3g}", where, analytic, numeric.value,
                numeric.tolerance);
}

} // namespace

StatusOr<std::vector<HostArray>> makeUpstream(std::span<const HostArray> results, uint64_t seed) {
  std::vector<HostArray> upstream;
  for (size_t r = 0; r < results.size(); ++r) {
    upstream.emplace_back();
    if (!isFloat(results[r].dtype())) continue;
    RandomStream random(seed, 0x7570 + r);
    upstream.back() = HostArray(results[r].type());
    for (int64_t i = 0; i < results[r].elements(); ++i) upstream.back().set(i, random.normal());
  }
  return upstream;
}

Status checkGradient(const OperationUnderTest& operation, Symbol op, std::span<const HostArray> inputs,
                     const Attributes& attributes, std::span<const HostArray> upstream,
                     const FiniteDifferenceOptions& options) {
  TG_ASSIGN_OR_RETURN(std::vector<HostArray> gradients, operation.gradient(op, inputs, attributes, upstream));
  RandomStream random(options.seed, 0x6664);
  for (size_t k = 0; k < inputs.size(); ++k) {
    if (!isPresent(gradients[k])) continue;
    Objective f{operation, op, {inputs.begin(), inputs.end()}, attributes, upstream};
    std::string name = k < options.names.size() ? std::string(options.names[k].text()) : fmt::format("input {}", k);
    std::vector<double> base = inputs[k].toVector(), gradient = gradients[k].toVector();
    if (base.size() != gradient.size())
      return failed("{}: input {} is {} but its gradient is {}", op.text(), k, toString(inputs[k].type()),
                    toString(gradients[k].type()));
    if (inputs[k].elements() <= options.elementLimit)
      for (size_t i = 0; i < base.size(); ++i) {
        std::vector<double> unit(base.size(), 0.0);
        unit[i] = 1;
        double step = options.step * std::max(std::fabs(base[i]), 0.125);
        TG_RETURN_IF_ERROR(checkDirection(f, k, base, gradient, unit, step, fmt::format("{} at element {}", name, i)));
      }
    for (int d = 0; d < options.randomDirections && !base.empty(); ++d) {
      std::vector<double> direction(base.size());
      for (size_t i = 0; i < base.size(); ++i) direction[i] = random.normal() * std::max(std::fabs(base[i]), 0.125);
      TG_RETURN_IF_ERROR(checkDirection(f, k, base, gradient, direction, options.step,
                                        fmt::format("{} along random direction {} (seed {})", name, d, options.seed)));
    }
  }
  return OkStatus();
}

} // namespace tegula
