// From text to a prepared data set.
#include "data/Dataset.h"

#include "base/Files.h"
#include <algorithm>
#include <cmath>

namespace tegula {
namespace {

constexpr const char* kTrain = "train.tokens";
constexpr const char* kAside = "prepare"; // what temporaryName() makes a folder's name of
/// In the order in which they come to their place: train.tokens last, because it says that they are complete.
constexpr const char* kFiles[] = {"tokenizer.json", "validation.tokens", kTrain};

std::string pathIn(const std::string& folder, std::string_view name) { return fmt::format("{}/{}", folder, name); }

/// What preparations left that were killed. Requires: the folder's lock is held, so that none goes on.
Status removeLeftovers(const std::string& folder) {
  TG_ASSIGN_OR_RETURN(std::vector<std::string> names, listFolder(folder));
  for (const std::string& name : names) {
    std::string_view base = baseOfTemporaryName(name);
    bool isLeftover = base == kAside || std::ranges::find(kFiles, base) != std::end(kFiles);
    if (isLeftover) TG_RETURN_IF_ERROR(removeAll(pathIn(folder, name)));
  }
  return OkStatus();
}

Status writeFiles(const std::string& folder, std::span<const int32_t> train, std::span<const int32_t> validation,
                  const Tokenizer& tokenizer) {
  TG_RETURN_IF_ERROR(makeFolders(folder));
  TG_RETURN_IF_ERROR(tokenizer.save(folder + "/tokenizer.json"));
  std::string held = folder + "/validation.tokens";
  TG_RETURN_IF_ERROR(TokenFile::write(held, validation, tokenizer.vocabulary()));
  TG_ASSIGN_OR_RETURN(TokenFile written, TokenFile::open(held));
  return TokenFile::write(pathIn(folder, kTrain), train, tokenizer.vocabulary(), sealOf(written, tokenizer));
}

/// Puts the files of `aside` into `folder`. A crash on the way leaves no train.tokens there.
Status replaceFiles(const std::string& aside, const std::string& folder) {
  if (std::string old = pathIn(folder, kTrain); fileExists(old)) {
    TG_RETURN_IF_ERROR(removeFile(old));
    TG_RETURN_IF_ERROR(syncPath(folder));
  }
  for (const char* name : kFiles) TG_RETURN_IF_ERROR(renameDurably(pathIn(aside, name), pathIn(folder, name)));
  return removeAll(aside);
}

Status writeDataset(const std::string& folder, std::span<const int32_t> train, std::span<const int32_t> validation,
                    const Tokenizer& tokenizer) {
  TG_RETURN_IF_ERROR(makeFolders(folder));
  StatusOr<FileLock> lock = FileLock::tryAcquire(folder + "/lock");
  if (absl::IsUnavailable(lock.status()))
    return failed("{}: another process is preparing this folder; wait for it or stop it", folder);
  TG_RETURN_IF_ERROR(lock.status());
  TG_RETURN_IF_ERROR(removeLeftovers(folder));
  std::string aside = temporaryName(pathIn(folder, kAside));
  Status status = writeFiles(aside, train, validation, tokenizer);
  if (status.ok()) status = replaceFiles(aside, folder);
  if (!status.ok()) (void)removeAll(aside);
  return status;
}

/// Whether a text of `tokens` can be split with this fraction.
Status checkSplit(int64_t tokens, int64_t train, double fraction) {
  if (train < 2)
    return invalid("the text has {} token{}, of which a validation fraction of {} leaves {} for training; give a "
                   "longer text",
                   tokens, tokens == 1 ? "" : "s", fraction, train);
  if (train == tokens)
    return invalid("a validation fraction of {} holds out none of the text's {} tokens; give at least {}", fraction,
                   tokens, validationFractionOf(tokens - 1, 1));
  return OkStatus();
}

} // namespace

bool isPreparedDataset(const std::string& path) { return isFolder(path) && fileExists(pathIn(path, kTrain)); }

int64_t trainingTokens(int64_t tokens, double validationFraction) {
  return static_cast<int64_t>(std::floor(static_cast<double>(tokens) * (1.0 - validationFraction)));
}

double validationFractionOf(int64_t trainTokens, int64_t validationTokens) {
  int64_t tokens = trainTokens + validationTokens;
  double exact = static_cast<double>(validationTokens) / static_cast<double>(tokens);
  constexpr int kDigits = 15; // that every double has
  for (int digits = 1; digits <= kDigits; ++digits) {
    double scale = std::pow(10.0, digits);
    // Rounded up it may be more than splits so; rounded down it is within one token for some number of digits.
    for (double numerator : {std::round(exact * scale), std::floor(exact * scale)})
      if (numerator > 0 && trainingTokens(tokens, numerator / scale) == trainTokens) return numerator / scale;
  }
  // Half a token below, where no rounding changes the split.
  return (static_cast<double>(validationTokens) - 0.5) / static_cast<double>(tokens);
}

StatusOr<PrepareReport> prepareDataset(const std::string& textPath, const std::string& folder,
                                       const PrepareOptions& o) {
  TG_ASSIGN_OR_RETURN(TextDocuments text, readTextDocuments(textPath));
  return prepareDataset(text, folder, o);
}

StatusOr<PrepareReport> prepareDataset(const TextDocuments& text, const std::string& folder, const PrepareOptions& o) {
  bool several = text.documents.size() > 1;
  std::vector<std::string_view> views;
  for (const auto& d : text.documents) views.push_back(d.text);
  Tokenizer tokenizer = o.tokenizer == "char" ? Tokenizer::characters(views, several) : Tokenizer::bytes(several);

  std::vector<int32_t> tokens;
  tokens.reserve(static_cast<size_t>(text.sizeBytes()) + views.size());
  for (size_t i = 0; i < views.size(); ++i) {
    if (i > 0) tokens.push_back(tokenizer.boundary());
    TG_ASSIGN_OR_RETURN(std::vector<int32_t> part, tokenizer.encode(views[i]));
    tokens.insert(tokens.end(), part.begin(), part.end());
  }
  auto total = static_cast<int64_t>(tokens.size());
  int64_t train = trainingTokens(total, o.validationFraction);
  TG_RETURN_IF_ERROR(checkSplit(total, train, o.validationFraction));
  std::span<const int32_t> all = tokens;
  auto split = static_cast<size_t>(train);
  TG_RETURN_IF_ERROR(writeDataset(folder, all.first(split), all.subspan(split), tokenizer));
  return PrepareReport{static_cast<int64_t>(views.size()), text.sizeBytes(), train, total - train,
                       tokenizer.vocabulary()};
}

} // namespace tegula
