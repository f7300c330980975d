// The loss on the held-out text, evaluated whole with the session that trains (its own plan, the same weights).
#pragma once

#include "data/Dataset.h"
#include "models/Gpt.h"

namespace tegula {

struct Evaluation {
  double loss = 0; // mean over all predictions, nats a token
  int64_t predictions = 0;
};

/// Sums over batches of B windows of T tokens in double; every prediction counts once.
StatusOr<Evaluation> evaluateValidation(Session&, const Gpt&, const Dataset&, int64_t B, int64_t T);

} // namespace tegula
