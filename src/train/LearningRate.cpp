// Warm-up and decay.
#include "train/LearningRate.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numbers>

namespace tegula {

double LearningRate::at(int64_t i) const {
  if (i < warmupSteps) return peak * (static_cast<double>(i) + 1) / (static_cast<double>(warmupSteps) + 1);
  if (decayType == "constant") return peak;
  double floor = peak * minimumFactor;
  auto length = static_cast<double>(std::max<int64_t>(1, steps - warmupSteps));
  double done = std::min(1.0, static_cast<double>(i - warmupSteps) / length);
  double remaining = decayType == "linear" ? 1.0 - done : 0.5 * (1.0 + std::cos(std::numbers::pi * done));
  return floor + remaining * (peak - floor);
}

std::string LearningRate::text() const {
  if (!reachesPeak())
    return fmt::format("rises to {:.4g} at step {}, the last; warm-up would take {} steps to {}", at(steps - 1), steps,
                       warmupSteps, peak);
  return fmt::format("{} after {} warm-up steps, then {} to {} at step {}", peak, warmupSteps, decayType,
                     decayType == "constant" ? peak : peak * minimumFactor, steps);
}

} // namespace tegula
