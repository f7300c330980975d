// The training loop: `tegula train` without its command line.
//
//   TrainRequest request{.source = "run.toml"};
//   TG_RETURN_IF_ERROR(train(request, stdout));
//
// A run that stops, for whatever reason, resumes from its latest checkpoint and continues bit for bit: parameters,
// moments, data position, learning rate and the reproducible part of log.jsonl. Threads: one run at a time in a process
// (signal handlers). Blocks until the run ends.
#pragma once

#include "train/RunFolder.h"
#include <cstdio>

namespace tegula {

/// Starts or resumes a run and prints its progress to `out`. Returns OK also when it was interrupted and has saved, and
/// when `out` could not be written: its error indicator says so. A pipe that nobody reads any more is an interruption
/// where the process ignores SIGPIPE.
/// Fails: bad configuration or text, a plan that cannot be compiled or does not fit, a full disk, losses that stay
/// non-finite for training.max_skipped_steps steps in a row, also across a resume.
Status train(const TrainRequest&, std::FILE* out);

/// The graph of one training step of a configuration, for `graph dump`; needs no data (vocabulary 256 unless given).
StatusOr<Graph> trainingGraph(const RunConfig&, Session&);

} // namespace tegula
