// Saving, finding and loading checkpoints.
#include "train/Checkpoint.h"

#include "base/Files.h"
#include "base/Hash.h"
#include "base/Log.h"
#include "tensor/Safetensors.h"
#include "train/JsonCount.h"
#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

namespace tegula {
namespace {

constexpr std::string_view kFormat = "tegula-checkpoint-1";
constexpr const char* kFiles[] = {"model.safetensors", "optimizer.safetensors", "config.toml", "tokenizer.json"};

StatusOr<std::string> fileHash(const std::string& path) {
  TG_ASSIGN_OR_RETURN(std::shared_ptr<const MappedFile> file, MappedFile::open(path));
  return toHex(hash64(file->bytes()));
}

std::string manifestOf(const Checkpoint& c, const nlohmann::ordered_json& files) {
  nlohmann::ordered_json j;
  j["format"] = kFormat;
  j["step"] = c.step;
  j["updates"] = c.updates;
  j["samples"] = c.samples;
  j["skipped"] = c.skipped;
  j["skipped_in_a_row"] = c.skippedInARow;
  j["data_checksum"] = toHex(c.dataChecksum);
  j["target"] = c.target;
  j["files"] = files;
  return j.dump(1) + "\n";
}

Status writeContents(const std::string& folder, const Checkpoint& c) {
  TG_RETURN_IF_ERROR(makeFolders(folder));
  TG_RETURN_IF_ERROR(writeSafetensors(folder + "/model.safetensors", {c.parameters, {{"format", "pt"}}}));
  TG_RETURN_IF_ERROR(writeSafetensors(folder + "/optimizer.safetensors", {c.moments, {}}));
  TG_RETURN_IF_ERROR(writeFileAtomically(folder + "/config.toml", c.configToml));
  TG_RETURN_IF_ERROR(writeFileAtomically(folder + "/tokenizer.json", c.tokenizerJson));
  nlohmann::ordered_json files;
  for (const char* name : kFiles) {
    std::string path = folder + "/" + name;
    TG_ASSIGN_OR_RETURN(int64_t size, fileSizeBytes(path));
    TG_ASSIGN_OR_RETURN(std::string hash, fileHash(path));
    files[name] = {{"bytes", size}, {"xxh3_64", hash}};
  }
  TG_RETURN_IF_ERROR(writeFileAtomically(folder + "/manifest.json", manifestOf(c, files)));
  return syncPath(folder);
}

/// The step that a folder's name says, or -1. A name that says it in another way, step-02, is not of a checkpoint.
int64_t stepOfName(std::string_view name) {
  constexpr std::string_view prefix = "step-";
  if (!name.starts_with(prefix)) return -1;
  int64_t step = -1;
  std::from_chars(name.data() + prefix.size(), name.data() + name.size(), step);
  return step >= 0 && name == fmt::format("{}{}", prefix, step) ? step : -1;
}

struct StepFolder {
  int64_t step;
  std::string path;
  bool complete; // it has its manifest
};

/// The step-N below `root`; none if there is no such folder.
std::vector<StepFolder> stepFolders(const std::string& root) {
  std::vector<StepFolder> folders;
  if (!isFolder(root)) return folders;
  StatusOr<std::vector<std::string>> names = listFolder(root);
  if (!names.ok()) return folders;
  for (const std::string& name : *names)
    if (int64_t step = stepOfName(name); step >= 0) {
      std::string path = fmt::format("{}/{}", root, name);
      bool complete = fileExists(path + "/manifest.json");
      folders.push_back({step, std::move(path), complete});
    }
  return folders;
}

void removeOld(const std::string& root, int64_t justSaved, int64_t keepLatest) {
  std::vector<int64_t> steps = listCheckpoints(root);
  std::erase(steps, justSaved);
  while (keepLatest > 0 && static_cast<int64_t>(steps.size()) > keepLatest - 1) {
    if (Status s = removeAll(checkpointFolder(root, steps.front())); !s.ok()) logWarning("checkpoint: {}", message(s));
    steps.erase(steps.begin());
  }
}

/// Folders that a crash left half-written. Every other name is somebody's own, such as a copy of a checkpoint.
void removeLeftovers(const std::string& root) {
  StatusOr<std::vector<std::string>> names = listFolder(root);
  if (!names.ok()) return;
  for (const std::string& name : *names)
    if (stepOfName(baseOfTemporaryName(name)) >= 0) (void)removeAll(root + "/" + name);
}

constexpr std::string_view kDamaged = "the checkpoint is damaged; delete its folder to go on from the one before";

Status damaged(const std::string& path, const std::string& found, const std::string& stated) {
  return invalid("{}: has {}, the manifest says {}; {}", path, found, stated, kDamaged);
}

/// What `key` of a manifest is, where it is not `expected`.
Status wrongKey(std::string_view path, const nlohmann::json& object, const char* key, std::string_view expected) {
  auto found = object.find(key);
  bool isShort = found != object.end() && found->is_primitive(); // others may be nested too deeply to be printed
  return invalid("{}: {} is {}; expected {}; {}", path, key,
                 found == object.end() ? "missing"
                 : isShort             ? found->dump()
                                       : found->type_name(),
                 expected, kDamaged);
}

/// A manifest that is being read: an object of its file, and where that is, for messages.
struct ManifestPart {
  const nlohmann::json& object;
  std::string place;

  StatusOr<int64_t> count(const char* key) const {
    std::optional<int64_t> value = jsonCount(object, key);
    return value ? StatusOr<int64_t>(*value) : wrongKey(place, object, key, "a count");
  }
  StatusOr<std::string> text(const char* key) const {
    auto found = object.find(key);
    if (found == object.end() || !found->is_string()) return wrongKey(place, object, key, "a text");
    return found->get<std::string>();
  }
  StatusOr<ManifestPart> part(const char* key) const {
    auto found = object.find(key);
    if (found == object.end() || !found->is_object()) return wrongKey(place, object, key, "an object");
    return ManifestPart{*found, fmt::format("{}: {}", place, key)};
  }
};

Status verifyFile(const std::string& path, const ManifestPart& entry) {
  TG_ASSIGN_OR_RETURN(int64_t statedSize, entry.count("bytes"));
  TG_ASSIGN_OR_RETURN(std::string statedHash, entry.text("xxh3_64"));
  TG_ASSIGN_OR_RETURN(int64_t size, fileSizeBytes(path));
  if (size != statedSize) return damaged(path, fmt::format("{} bytes", size), fmt::format("{}", statedSize));
  TG_ASSIGN_OR_RETURN(std::string hash, fileHash(path));
  return hash == statedHash ? OkStatus() : damaged(path, fmt::format("checksum {}", hash), statedHash);
}

Status verifyFiles(const std::string& folder, const ManifestPart& manifest) {
  TG_ASSIGN_OR_RETURN(ManifestPart files, manifest.part("files"));
  for (const char* name : kFiles) {
    TG_ASSIGN_OR_RETURN(ManifestPart entry, files.part(name));
    TG_RETURN_IF_ERROR(verifyFile(fmt::format("{}/{}", folder, name), entry));
  }
  return OkStatus();
}

StatusOr<nlohmann::json> readManifest(const std::string& path) {
  TG_ASSIGN_OR_RETURN(std::string text, readFile(path));
  nlohmann::json j = nlohmann::json::parse(text, nullptr, false);
  bool known = j.is_object() && j.value("format", nlohmann::json()) == kFormat;
  if (!known) return invalid("{}: is not a manifest of format {}", path, kFormat);
  return j;
}

Status readNumbers(const ManifestPart& manifest, Checkpoint& c) {
  TG_ASSIGN_OR_RETURN(c.step, manifest.count("step"));
  TG_ASSIGN_OR_RETURN(c.samples, manifest.count("samples"));
  auto stepsDone = [&](const char* key) -> StatusOr<int64_t> {
    TG_ASSIGN_OR_RETURN(int64_t steps, manifest.count(key));
    if (steps <= c.step) return steps;
    return wrongKey(manifest.place, manifest.object, key, fmt::format("at most step, {}", c.step));
  };
  TG_ASSIGN_OR_RETURN(c.updates, stepsDone("updates"));
  TG_ASSIGN_OR_RETURN(c.skipped, stepsDone("skipped"));
  if (manifest.object.contains("skipped_in_a_row")) { // not in the manifests of earlier builds
    TG_ASSIGN_OR_RETURN(c.skippedInARow, stepsDone("skipped_in_a_row"));
  }
  TG_ASSIGN_OR_RETURN(std::string checksum, manifest.text("data_checksum"));
  const char* last = checksum.data() + checksum.size();
  auto [end, error] = std::from_chars(checksum.data(), last, c.dataChecksum, 16);
  if (error != std::errc() || end != last)
    return wrongKey(manifest.place, manifest.object, "data_checksum", "hexadecimal digits");
  return OkStatus();
}

} // namespace

std::string checkpointFolder(const std::string& root, int64_t step) { return fmt::format("{}/step-{}", root, step); }

std::vector<int64_t> listCheckpoints(const std::string& root) {
  std::vector<int64_t> steps;
  for (const StepFolder& f : stepFolders(root))
    if (f.complete) steps.push_back(f.step);
  std::ranges::sort(steps);
  return steps;
}

void warnOfIncompleteCheckpoints(const std::string& root) {
  for (const StepFolder& f : stepFolders(root))
    if (!f.complete) logWarning("{}: has no manifest.json, so it is not complete; it is left out", f.path);
}

StatusOr<std::string> saveCheckpoint(const std::string& root, const Checkpoint& c, int64_t keepLatest) {
  std::string place = checkpointFolder(root, c.step);
  TG_RETURN_IF_ERROR(makeFolders(root));
  removeLeftovers(root);
  std::string aside = temporaryName(place);
  if (Status s = writeContents(aside, c); !s.ok()) {
    (void)removeAll(aside);
    return addContext(s, "checkpoint");
  }
  if (isFolder(place)) { // the same step again: one of the two is there at every moment
    TG_RETURN_IF_ERROR(exchangeDurably(aside, place));
    TG_RETURN_IF_ERROR(removeAll(aside));
  } else {
    TG_RETURN_IF_ERROR(renameDurably(aside, place));
  }
  removeOld(root, c.step, keepLatest);
  return place;
}

StatusOr<Checkpoint> loadCheckpoint(const std::string& folder) {
  std::string path = folder + "/manifest.json";
  TG_ASSIGN_OR_RETURN(nlohmann::json json, readManifest(path));
  ManifestPart manifest{json, path};
  TG_RETURN_IF_ERROR(verifyFiles(folder, manifest));
  Checkpoint c;
  TG_RETURN_IF_ERROR(readNumbers(manifest, c));
  TG_ASSIGN_OR_RETURN(c.target, manifest.text("target"));
  TG_ASSIGN_OR_RETURN(c.configToml, readFile(folder + "/config.toml"));
  TG_ASSIGN_OR_RETURN(c.tokenizerJson, readFile(folder + "/tokenizer.json"));
  TG_ASSIGN_OR_RETURN(Safetensors model, readSafetensors(folder + "/model.safetensors"));
  TG_ASSIGN_OR_RETURN(Safetensors optimizer, readSafetensors(folder + "/optimizer.safetensors"));
  c.parameters = std::move(model.tensors);
  c.moments = std::move(optimizer.tensors);
  return c;
}

} // namespace tegula
