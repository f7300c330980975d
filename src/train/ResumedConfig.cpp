// The rules of the table in the header.
#include "train/ResumedConfig.h"

#include "base/Log.h"
#include <algorithm>

namespace tegula {
namespace {

constexpr std::string_view kFixed[] = {"training.seq_len", "training.local_batch_size", "data.tokenizer",
                                       "data.validation_fraction"};

bool isFixed(std::string_view key) {
  return key.starts_with("model.") || std::ranges::find(kFixed, key) != std::end(kFixed);
}

/// What a change of `key` does to the rest of the run; empty if it does what it says.
std::string_view consequence(std::string_view key) {
  if (key == "training.seed") return "the data comes in another order: some of this epoch twice, some of it not at all";
  if (key == "training.dtype") return "it continues correctly, but not bit for bit";
  return {};
}

/// A value that nobody gave, a default, cannot be left out.
std::string refusal(std::string_view key, std::string_view old, std::string_view value, bool given) {
  std::string out = given ? fmt::format("leave {}={} out, or ", key, value) : std::string();
  std::string is = given ? std::string() : fmt::format(" and is {} where nothing is given", value);
  return fmt::format("{0} was {1} when this run began{2}; it cannot change on resume: {3}give {0}={1}, or start a run "
                     "of its own",
                     key, old, is, out);
}

std::vector<std::pair<std::string, std::string>> valuesOf(RunConfig config) { return RunSchema(config)->values(); }

} // namespace

Status checkResumedConfig(const RunConfig& before, const RunConfig& now) {
  std::vector<std::pair<std::string, std::string>> then = valuesOf(before), today = valuesOf(now);
  std::string errors;
  for (size_t i = 0; i < then.size(); ++i) {
    const auto& [key, old] = then[i];
    const std::string& value = today[i].second;
    if (old == value) continue;
    if (isFixed(key))
      errors += (errors.empty() ? "" : "\n") + refusal(key, old, value, now.given.contains(key));
    else if (std::string_view what = consequence(key); !what.empty())
      logWarning("resume: {} was {} and is {} now: {}", key, old, value, what);
  }
  return errors.empty() ? OkStatus() : absl::FailedPreconditionError(errors);
}

} // namespace tegula
