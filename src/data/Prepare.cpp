// From text to a prepared data set.
#include "data/Dataset.h"

#include "base/Files.h"
#include <algorithm>
#include <cmath>

namespace tegula {

bool isPreparedDataset(const std::string& path) { return isFolder(path) && fileExists(path + "/train.tokens"); }

int64_t trainingTokens(int64_t tokens, double validationFraction) {
  return static_cast<int64_t>(std::floor(static_cast<double>(tokens) * (1.0 - validationFraction)));
}

double validationFractionOf(int64_t trainTokens, int64_t validationTokens) {
  int64_t tokens = trainTokens + validationTokens;
  double exact = static_cast<double>(validationTokens) / static_cast<double>(std::max<int64_t>(1, tokens));
  for (double scale = 10; scale < 1e16; scale *= 10) {
    double rounded = std::round(exact * scale) / scale;
    if (rounded > 0 && trainingTokens(tokens, rounded) == trainTokens) return rounded;
  }
  return exact;
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
  auto trainCount = static_cast<size_t>(trainingTokens(static_cast<int64_t>(tokens.size()), o.validationFraction));
  if (trainCount < 2)
    return invalid(
        "the text has {} token{}, of which a validation fraction of {} leaves {} for training; give a longer "
        "text",
        tokens.size(), tokens.size() == 1 ? "" : "s", o.validationFraction, trainCount);
  TG_RETURN_IF_ERROR(makeFolders(folder));
  std::span<const int32_t> all = tokens;
  TG_RETURN_IF_ERROR(tokenizer.save(folder + "/tokenizer.json"));
  TG_RETURN_IF_ERROR(TokenFile::write(folder + "/validation.tokens", all.subspan(trainCount), tokenizer.vocabulary()));
  TG_RETURN_IF_ERROR(TokenFile::write(folder + "/train.tokens", all.first(trainCount), tokenizer.vocabulary()));
  return PrepareReport{static_cast<int64_t>(views.size()), text.sizeBytes(), static_cast<int64_t>(trainCount),
                       static_cast<int64_t>(tokens.size() - trainCount), tokenizer.vocabulary()};
}

} // namespace tegula
