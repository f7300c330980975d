// Warm-up and decay.
#include "train/LearningRate.h"

#include <algorithm>
#include <cmath>
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

} // namespace tegula
