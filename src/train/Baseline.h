// What a run's loss is worth: counting models of the same text, on the same split.
#pragma once

#include "base/Status.h"
#include <optional>
#include <string>

namespace tegula {

struct Baseline {
  double threeGram = 0, fourGram = 0; // nats a byte on the held-out part (data/NGram.h)
  std::optional<double> lossPerByte;  // of the run's last validation
};

/// Counts on the first 1 - fraction of the text's bytes and evaluates on the rest. `run` may be empty.
/// Fails: a text that cannot be read; a run without a validation line in log.jsonl.
StatusOr<Baseline> measureBaseline(const std::string& textPath, double validationFraction, const std::string& run);

} // namespace tegula
