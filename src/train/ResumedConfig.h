// Which keys of a run may change when it goes on.
//
//   | keys                                                          | on resume                                  |
//   |---------------------------------------------------------------|--------------------------------------------|
//   | model.*, training.seq_len, training.local_batch_size          | refused: shapes, and the data's position   |
//   | data.tokenizer, data.validation_fraction                      | refused: the run keeps the tokens it made  |
//   | training.seed, training.dtype                                 | a warning: what follows differs            |
//   | every other, such as training.steps, optimizer.*, checkpoint.* | taken                                      |
//
// data.path is the loop's own rule (Trainer.cpp): it says where the text lies, not what it is. A prepared folder says
// itself what it was made with; its checksum is compared instead of the keys.
#pragma once

#include "train/RunConfig.h"

namespace tegula {

/// Compares the configuration a run goes on with to that of its latest checkpoint. Logs a warning for each change that
/// makes the rest differ. Fails: with every key that cannot change, its value then and the way out.
Status checkResumedConfig(const RunConfig& before, const RunConfig& now);

} // namespace tegula
