// A checkpoint: a folder that is complete in itself and is there whole or not at all.
//
//   step-1000/
//     manifest.json            what it is, and the size and XXH3-64 of every other file
//     model.safetensors        parameters by name, f32
//     optimizer.safetensors    NAME.exp_avg and NAME.exp_avg_sq, f32
//     config.toml              the resolved configuration of the run
//     tokenizer.json
//
// It is written as step-1000.tmp-PID-N beside its place, every file is made durable, and the folder is renamed: a crash
// at any moment leaves the earlier checkpoints and perhaps a folder of rubbish that the next save removes. Other names
// in the folder, such as step-1000-keep, are left alone.
#pragma once

#include "base/Status.h"
#include "tensor/HostArray.h"
#include <map>
#include <string>
#include <vector>

namespace tegula {

struct Checkpoint {
  int64_t step = 0;          // steps done
  int64_t updates = 0;       // of the optimizer: steps that were applied
  int64_t samples = 0;       // position in the data: samples seen since the run began
  int64_t skipped = 0;       // steps that were not applied
  int64_t skippedInARow = 0; // of these, the last ones; 0 in manifests that do not say it
  uint64_t dataChecksum = 0;
  std::string target; // and how it computed: what the bits of a step depend on
  std::string configToml, tokenizerJson;
  std::map<std::string, HostArray> parameters, moments;
};

/// Writes `root`/step-N and returns its path; then deletes the lowest-numbered others until `keepLatest` are left
/// (0: all are kept), never the one just written. Fails: full disk, no permission; the earlier ones are untouched then.
/// Requires: nobody else saves below `root` (a run holds its folder's lock).
StatusOr<std::string> saveCheckpoint(const std::string& root, const Checkpoint&, int64_t keepLatest);
/// Reads and verifies a checkpoint folder. Fails: a missing, short or changed file, named.
StatusOr<Checkpoint> loadCheckpoint(const std::string& folder);
/// Steps of the complete checkpoints below `root`, increasing; empty if there is no such folder.
std::vector<int64_t> listCheckpoints(const std::string& root);
/// A log line for each step-N below `root` that lacks its manifest, which listCheckpoints leaves out.
void warnOfIncompleteCheckpoints(const std::string& root);
std::string checkpointFolder(const std::string& root, int64_t step);

} // namespace tegula
