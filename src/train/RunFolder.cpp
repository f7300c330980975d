// Resolving a command line to a configuration and a folder.
#include "train/RunFolder.h"

#include "base/Files.h"
#include "train/Checkpoint.h"
#include <filesystem>

namespace tegula {
namespace fs = std::filesystem;
namespace {

/// What runs are called: the stem of the config file, else of the data.
std::string runName(const TrainRequest& request, const RunConfig& config) {
  fs::path from = request.source.empty() ? fs::path(config.data.path) : fs::path(request.source);
  if (!from.has_filename()) from = from.parent_path(); // "folder/"
  std::string stem = from.stem().string();
  return stem.empty() || stem == "." ? "run" : stem;
}

std::string firstFree(const std::string& prefix, int64_t from) {
  int64_t n = from;
  while (fileExists(fmt::format("{}-{}", prefix, n)) || isFolder(fmt::format("{}-{}", prefix, n))) ++n;
  return fmt::format("{}-{}", prefix, n);
}

/// The highest-numbered runs/<name>-<n> that has a checkpoint; empty if none has.
std::string latestNumbered(const std::string& prefix) {
  std::string last;
  for (int64_t n = 1; isFolder(fmt::format("{}-{}", prefix, n)); ++n) {
    std::string folder = fmt::format("{}-{}", prefix, n);
    if (!listCheckpoints(folder + "/checkpoints").empty()) last = folder;
  }
  return last;
}

bool hasCheckpoints(const std::string& folder) { return !listCheckpoints(folder + "/checkpoints").empty(); }

std::string configPathOf(const TrainRequest& request) {
  if (request.source.empty()) return {};
  return isFolder(request.source) ? request.source + "/config.toml" : request.source;
}

} // namespace

Status resolveConfig(const TrainRequest& request, RunConfig& config) {
  RunSchema schema(config);
  std::string errors;
  auto collect = [&](const Status& s) {
    if (!s.ok()) errors += (errors.empty() ? "" : "\n") + std::string(message(s));
  };
  if (std::string path = configPathOf(request); !path.empty()) {
    StatusOr<config::Document> document = config::readDocument(path);
    collect(document.ok() ? schema->load(*document) : document.status());
  }
  if (!request.dataPath.empty()) config.data.path = request.dataPath;
  for (const std::string& set : request.sets) collect(schema->set(set));
  collect(applyEnvironment(config));
  if (errors.empty()) collect(config.check());
  return errors.empty() ? OkStatus() : absl::InvalidArgumentError(errors);
}

StatusOr<RunFolder> chooseRunFolder(const TrainRequest& request, RunConfig& config) {
  std::string& folder = config.job.dumpFolder;
  std::string prefix = "runs/" + runName(request, config);
  if (request.resume) {
    if (isFolder(request.source))
      folder =
          fs::path(request.source).has_filename() ? request.source : fs::path(request.source).parent_path().string();
    else if (folder.empty())
      folder = latestNumbered(prefix);
    if (folder.empty())
      return notFound("--resume: found no {}-<n> with checkpoints; name the run: tegula train --resume RUN", prefix);
    if (!hasCheckpoints(folder))
      return notFound("--resume: {} has no complete checkpoint in {}/checkpoints; start it without --resume", folder,
                      folder);
    return RunFolder{folder};
  }
  if (folder.empty()) folder = firstFree(prefix, 1);
  if (!hasCheckpoints(folder)) return RunFolder{folder};
  if (!request.fresh)
    return failed("{} already has checkpoints up to step {}; go on with: tegula train --resume {}, or start a new run "
                  "beside it with --new",
                  folder, listCheckpoints(folder + "/checkpoints").back(), folder);
  folder = firstFree(folder, 2);
  return RunFolder{folder};
}

StatusOr<std::string> latestCheckpoint(const std::string& path) {
  if (fileExists(path + "/manifest.json")) return path;
  std::vector<int64_t> steps = listCheckpoints(path + "/checkpoints");
  if (!isFolder(path))
    return notFound("{}: no such run folder; runs are in runs/ unless [job] dump_folder says otherwise", path);
  if (steps.empty()) return notFound("{}: has no complete checkpoint; train it first: tegula train", path);
  return checkpointFolder(path + "/checkpoints", steps.back());
}

} // namespace tegula
