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

/// Counts on the part of the text that the run trained on and evaluates on what it held out. `run` may be empty: then
/// the text's bytes are split by the fraction, 0.1 if there is none.
/// Fails: a text that cannot be read; a fraction that is not the run's; a run without a validation line in log.jsonl.
StatusOr<Baseline> measureBaseline(const std::string& textPath, std::optional<double> validationFraction,
                                   const std::string& run);

} // namespace tegula
