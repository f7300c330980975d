// Resolving a command line to a configuration and a folder.
#include "train/RunFolder.h"

#include "base/Files.h"
#include "compiler/Target.h"
#include "train/Checkpoint.h"
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <ranges>

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

/// The n of the `prefix`-<n> that there are, increasing; their numbers may have gaps.
std::vector<int64_t> numbersOf(const std::string& prefix) {
  std::string parent = fs::path(prefix).parent_path().string(), stem = fs::path(prefix).filename().string() + "-";
  std::vector<int64_t> numbers;
  StatusOr<std::vector<std::string>> names = listFolder(parent.empty() ? "." : parent);
  if (!names.ok()) return numbers; // there is no such folder yet
  for (const std::string& name : *names) {
    if (!name.starts_with(stem)) continue;
    int64_t n = 0;
    std::from_chars(name.data() + stem.size(), name.data() + name.size(), n);
    bool leavesANext = n > 0 && n < INT64_MAX;
    if (leavesANext && name == fmt::format("{}{}", stem, n)) numbers.push_back(n);
  }
  std::ranges::sort(numbers);
  return numbers;
}

/// `prefix`-<n>, later than all there are: a number is not given again while there are higher ones.
std::string nextNumbered(const std::string& prefix, int64_t from) {
  std::vector<int64_t> numbers = numbersOf(prefix);
  return fmt::format("{}-{}", prefix, numbers.empty() ? from : std::max(from, numbers.back() + 1));
}

bool hasCheckpoints(const std::string& folder) { return !listCheckpoints(folder + "/checkpoints").empty(); }

/// The highest-numbered `prefix`-<n> that has a checkpoint; empty if none has.
std::string latestNumbered(const std::string& prefix) {
  for (int64_t n : numbersOf(prefix) | std::views::reverse)
    if (std::string folder = fmt::format("{}-{}", prefix, n); hasCheckpoints(folder)) return folder;
  return {};
}

std::string withoutSlash(const std::string& path) {
  return fs::path(path).has_filename() ? path : fs::path(path).parent_path().string();
}

/// RUN of RUN/checkpoints/step-N; any other path as it is.
std::string runOf(const std::string& source) {
  fs::path path = withoutSlash(source);
  bool isCheckpoint = fileExists((path / "manifest.json").string()) && path.parent_path().filename() == "checkpoints";
  if (!isCheckpoint) return source;
  std::string run = path.parent_path().parent_path().string();
  return run.empty() ? "." : run; // of checkpoints/step-N, from inside the run
}

std::string configPathOf(const TrainRequest& request) {
  if (request.source.empty()) return {};
  return isFolder(request.source) ? runOf(request.source) + "/config.toml" : request.source;
}

/// Nothing on the command line says which run. Names those that there are.
Status whichRun() {
  std::string runs;
  StatusOr<std::vector<std::string>> names = isFolder("runs") ? listFolder("runs") : std::vector<std::string>();
  if (names.ok())
    for (const std::string& name : *names)
      if (hasCheckpoints("runs/" + name)) runs += (runs.empty() ? "runs/" : ", runs/") + name;
  return invalid("--resume: which run? {}; give it: tegula train --resume RUN",
                 runs.empty() ? "runs/ has none with a checkpoint" : "runs/ has " + runs);
}

} // namespace

Status resolveConfig(const TrainRequest& request, RunConfig& config) {
  if (request.resume && request.source.empty() && request.dataPath.empty() && request.sets.empty()) return whichRun();
  RunSchema schema(config);
  std::string errors;
  auto collect = [&](const Status& s) {
    if (!s.ok()) errors += (errors.empty() ? "" : "\n") + std::string(message(s));
  };
  if (std::string path = configPathOf(request); !path.empty()) {
    StatusOr<config::Document> document = config::readDocument(path);
    Status loaded = document.ok() ? schema->load(*document) : document.status();
    if (absl::IsInvalidArgument(document.status()) && !path.ends_with(".toml") && !path.ends_with(".json"))
      loaded = invalid("{}\nif {} is a text to train on: tegula train --data {}", message(loaded), path, path);
    collect(loaded);
  }
  if (!request.dataPath.empty()) config.data.path = request.dataPath;
  for (const std::string& set : request.sets) collect(schema->set(set));
  for (const auto& [key, value] : schema->values()) {
    size_t dot = key.find('.');
    if (schema->section(key.substr(0, dot)).given(key.substr(dot + 1))) config.given.insert(key);
  }
  collect(applyEnvironment(config));
  if (errors.empty()) collect(schema.check(configPathOf(request)));
  return errors.empty() ? OkStatus() : absl::InvalidArgumentError(errors);
}

Status checkDataLength(const Dataset& data, const RunConfig& c) {
  if (c.validation.enable) TG_RETURN_IF_ERROR(data.checkValidationLength(c.training.batch, c.training.sequence));
  return data.checkTrainLength(c.training.sequence);
}

Status takePrepared(const Dataset& prepared, RunConfig& c) {
  std::string tokenizer = prepared.tokenizer.kind() == Tokenizer::Kind::Bytes ? "byte" : "char";
  if (c.given.contains("data.tokenizer") && c.data.tokenizer != tokenizer)
    return invalid("data.tokenizer is {}, but {} was prepared with {}; leave data.tokenizer out, or prepare the text "
                   "again",
                   c.data.tokenizer, prepared.folder, tokenizer);
  int64_t train = prepared.train.size(), validation = prepared.validation.size();
  double fraction = validationFractionOf(train, validation);
  bool fractionGiven = c.given.contains("data.validation_fraction");
  if (fractionGiven && trainingTokens(train + validation, c.data.validationFraction) != train)
    return invalid(
        "data.validation_fraction is {}, but {} was prepared with {}; leave data.validation_fraction out, or "
        "prepare the text again",
        c.data.validationFraction, prepared.folder, fraction);
  c.data.tokenizer = tokenizer;
  if (!fractionGiven) c.data.validationFraction = fraction;
  return OkStatus();
}

Status checkSurroundings(RunConfig& c) {
  std::string errors;
  auto collect = [&](const Status& s, std::string_view key) {
    if (!s.ok()) errors += fmt::format("{}{}: {}", errors.empty() ? "" : "\n", key, message(s));
  };
  auto data = [&]() -> Status {
    if (!isPreparedDataset(c.data.path)) return checkTextPath(c.data.path);
    TG_ASSIGN_OR_RETURN(Dataset dataset, Dataset::open(c.data.path));
    TG_RETURN_IF_ERROR(c.modelConfig(dataset.tokenizer.vocabulary()).status());
    TG_RETURN_IF_ERROR(takePrepared(dataset, c));
    return checkDataLength(dataset, c);
  };
  collect(data(), "[data] path");
  if (!c.hardware.target.empty()) collect(targetByName(c.hardware.target).status(), "[hardware] target");
  return errors.empty() ? OkStatus() : absl::InvalidArgumentError(errors);
}

namespace {

/// What may stand before "-<n>" for a folder beside `folder`: "runs/a" of "runs/a/", the full path of ".".
std::string numberable(const std::string& folder) {
  fs::path path = withoutSlash(fs::path(folder).lexically_normal().string());
  bool named = path.has_filename() && path.filename() != "." && path.filename() != "..";
  std::error_code error;
  fs::path full = named ? path : fs::weakly_canonical(path, error);
  return error ? path.string() : full.string();
}

constexpr std::string_view kOtherFolder =
    "give job.dump_folder another folder, or start a new run beside it with --new";

/// Fails: a file that the run is made from is one of those that it would write.
Status checkSourcesStay(const TrainRequest& request, const RunConfig& config, const RunFolder& run) {
  for (const std::string& source : {request.source, config.data.path})
    for (const std::string& written : {run.config(), run.log(), run.tokenizer()}) {
      std::error_code missing;
      if (fs::equivalent(source, written, missing) && !missing)
        return failed("{}: a run there would write over {}, which it starts from; {}", run.path, source, kOtherFolder);
    }
  return OkStatus();
}

/// Fails: a folder with files that are no run's. One that has a run's lock belongs to a run that was never saved: its
/// files are written again.
Status checkNobodyElses(const RunFolder& run) {
  if (!isFolder(run.path) || fileExists(run.lock())) return OkStatus();
  TG_ASSIGN_OR_RETURN(std::vector<std::string> names, listFolder(run.path));
  if (names.empty()) return OkStatus();
  std::string more = names.size() > 1 ? fmt::format(" and {} more", names.size() - 1) : "";
  return failed("{}: holds {}{} and is no run's folder; {}", run.path, names.front(), more, kOtherFolder);
}

Status checkIsFree(const TrainRequest& request, const RunConfig& config, const RunFolder& run) {
  if (std::vector<int64_t> steps = listCheckpoints(run.checkpoints()); !steps.empty())
    return failed("{} already has checkpoints up to step {}; go on with: tegula train --resume {}, or start a new run "
                  "beside it with --new",
                  run.path, steps.back(), run.path);
  TG_RETURN_IF_ERROR(checkSourcesStay(request, config, run));
  return checkNobodyElses(run);
}

} // namespace

StatusOr<RunFolder> chooseRunFolder(const TrainRequest& request, RunConfig& config) {
  std::string& folder = config.job.dumpFolder;
  std::string prefix = "runs/" + runName(request, config);
  if (request.resume) {
    if (isFolder(request.source))
      folder = withoutSlash(runOf(request.source));
    else if (folder.empty())
      folder = latestNumbered(prefix);
    if (folder.empty())
      return notFound("--resume: found no {}-<n> with checkpoints; name the run: tegula train --resume RUN", prefix);
    if (!hasCheckpoints(folder))
      return notFound("--resume: {} has no complete checkpoint in {}/checkpoints; start it without --resume", folder,
                      folder);
    warnOfIncompleteCheckpoints(folder + "/checkpoints");
    std::string latest = checkpointFolder(folder + "/checkpoints", listCheckpoints(folder + "/checkpoints").back());
    if (runOf(request.source) != request.source && !fs::equivalent(request.source, latest))
      return failed("--resume {}: the run has a later checkpoint, {}; resume the run, or delete what came later",
                    request.source, latest);
    return RunFolder{folder};
  }
  if (folder.empty()) folder = nextNumbered(prefix, 1);
  Status isFree = checkIsFree(request, config, RunFolder{folder});
  if (!isFree.ok() && !request.fresh) return isFree;
  if (!isFree.ok()) folder = nextNumbered(numberable(folder), 2);
  return RunFolder{folder};
}

StatusOr<std::string> latestCheckpoint(const std::string& path) {
  if (fileExists(path + "/manifest.json")) return path;
  std::vector<int64_t> steps = listCheckpoints(path + "/checkpoints");
  if (!isFolder(path))
    return notFound("{}: no such run folder; runs are in runs/ unless [job] dump_folder says otherwise", path);
  warnOfIncompleteCheckpoints(path + "/checkpoints");
  if (steps.empty()) return notFound("{}: has no complete checkpoint; train it first: tegula train", path);
  return checkpointFolder(path + "/checkpoints", steps.back());
}

} // namespace tegula
