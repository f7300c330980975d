// The learning rate as a function of the step: linear warm-up, then decay to a floor at the last step.
#pragma once

#include <cstdint>
#include <string>

namespace tegula {

struct LearningRate {
  double peak = 1e-3, minimumFactor = 0.1;
  int64_t warmupSteps = 100, steps = 1000;
  std::string decayType = "cosine"; // "linear", "constant"

  /// At step i, counted from 0: peak · (i+1)/(warmup+1) while i < warmup, then from peak down to peak · minimumFactor,
  /// reached at i = steps (nanoGPT's rule).
  double at(int64_t i) const;
  /// Whether some step has the peak: warm-up ends before the run does.
  bool reachesPeak() const { return warmupSteps < steps; }
  /// How it goes, in a line.
  std::string text() const;
};

} // namespace tegula
