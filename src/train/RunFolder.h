// Where a run lives, and which run a command line means.
//
//   runs/shakespeare-1/
//     config.toml  log.jsonl  tokenizer.json  data/ (tokens)  checkpoints/step-N/
//     lock    held while a process trains the run; its presence says that the folder is a run's
#pragma once

#include "base/Status.h"
#include "data/Dataset.h"
#include "train/RunConfig.h"
#include <optional>
#include <string>
#include <vector>

namespace tegula {

struct RunFolder {
  std::string path;
  std::string config() const { return path + "/config.toml"; }
  std::string log() const { return path + "/log.jsonl"; }
  std::string tokenizer() const { return path + "/tokenizer.json"; }
  std::string lock() const { return path + "/lock"; }
  std::string data() const { return path + "/data"; }
  std::string checkpoints() const { return path + "/checkpoints"; }
};

/// What `tegula train` was asked for.
struct TrainRequest {
  std::string source;                 // a config file or, with resume, a run or its latest checkpoint; may be empty
  std::string dataPath;               // --data
  std::vector<std::string> sets;      // --set section.key=value
  bool resume = false, fresh = false; // --resume, --new
  std::optional<int64_t> stopAt;      // --stop-at: pause after this step
};

/// Reads config file, --data, --set and environment, in that order. Fails: with every error at once.
Status resolveConfig(const TrainRequest&, RunConfig&);

/// What `tegula config check` adds: is the data there, long enough if it is prepared already, and the target known?
/// Texts are not read; what a prepared folder was made with is filled in. Fails: with every error at once.
Status checkSurroundings(RunConfig&);

/// Fails: a text too short for a training sample or, where validation is enabled, for a validation batch.
Status checkDataLength(const Dataset&, const RunConfig&);

/// Fills in what a prepared folder was made with. Fails: another tokenizer or validation fraction was given.
Status takePrepared(const Dataset&, RunConfig&);

/// The run's folder: with `resume` one that has checkpoints; else a new or empty one, or that of a run which was never
/// saved, whose files are written again. A default name is runs/<config>-<n>: the highest n that has checkpoints, or
/// for a new run one more than the highest there is.
/// Fails: nothing to resume; without --new, a folder that has checkpoints, that holds files and is no run's, or where
/// the run's files would replace the configuration or the text that it starts from.
StatusOr<RunFolder> chooseRunFolder(const TrainRequest&, RunConfig&);

/// The latest checkpoint of a run folder; a checkpoint folder is taken as it is. Fails: none there.
StatusOr<std::string> latestCheckpoint(const std::string& runOrCheckpoint);

} // namespace tegula
