// Counting models beside a run's validation loss.
#include "train/Baseline.h"

#include "base/Files.h"
#include "data/Dataset.h"
#include "data/NGram.h"
#include "data/Text.h"
#include "data/Tokenizer.h"
#include "train/JsonCount.h"
#include "train/RunConfig.h"
#include <algorithm>
#include <nlohmann/json.hpp>

namespace tegula {
namespace {

struct LastValidation {
  double loss = 0;
  int64_t predictions = 0;
};

StatusOr<LastValidation> lastValidation(const std::string& run) {
  std::string path = run + "/log.jsonl";
  TG_ASSIGN_OR_RETURN(std::string text, readFile(path));
  std::optional<LastValidation> last;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(text.find('\n', begin), text.size());
    nlohmann::json j = nlohmann::json::parse(text.substr(begin, end - begin), nullptr, false);
    std::optional<int64_t> predictions = jsonCount(j, "predictions");
    if (jsonCount(j, "validate_step") && predictions && j.contains("loss") && j["loss"].is_number())
      last = {j["loss"], *predictions};
    begin = end + 1;
  }
  if (!last) return notFound("{}: holds no validation; train with validation.enable=true", path);
  return *last;
}

/// Where a run splits the text, in bytes: data/Prepare splits tokens, of which a document boundary is one without bytes.
size_t splitInBytes(const TextDocuments& text, bool characters, double validationFraction) {
  auto beginsToken = [&](char c) { return !characters || (static_cast<unsigned char>(c) & 0xC0) != 0x80; };
  int64_t tokens = static_cast<int64_t>(text.documents.size()) - 1;
  for (const auto& d : text.documents) tokens += std::ranges::count_if(d.text, beginsToken);
  int64_t left = trainingTokens(tokens, validationFraction);
  size_t bytes = 0;
  for (const auto& d : text.documents) {
    for (char c : d.text) {
      if (beginsToken(c) && left-- == 0) return bytes;
      ++bytes;
    }
    if (left-- == 0) return bytes; // the boundary
  }
  return bytes;
}

/// [data] validation_fraction of the run.
StatusOr<double> fractionOf(const std::string& run) {
  TG_ASSIGN_OR_RETURN(config::Document document, config::readDocument(run + "/config.toml"));
  RunConfig config;
  TG_RETURN_IF_ERROR(RunSchema(config)->load(document));
  return config.data.validationFraction;
}

} // namespace

StatusOr<Baseline> measureBaseline(const std::string& textPath, std::optional<double> validationFraction,
                                   const std::string& run) {
  bool characters = false;
  double fraction = validationFraction.value_or(RunConfig().data.validationFraction);
  std::optional<Tokenizer> tokenizer;
  if (!run.empty()) {
    TG_ASSIGN_OR_RETURN(tokenizer, Tokenizer::load(run + "/tokenizer.json"));
    characters = tokenizer->kind() == Tokenizer::Kind::Characters;
    TG_ASSIGN_OR_RETURN(double ofRun, fractionOf(run));
    if (validationFraction && *validationFraction != ofRun)
      return invalid("--validation {} was given, but {} held out {}; leave it out", *validationFraction, run, ofRun);
    fraction = ofRun;
  }
  TG_ASSIGN_OR_RETURN(TextDocuments documents, readTextDocuments(textPath));
  std::string all;
  for (const auto& d : documents.documents) all += d.text;
  std::span<const uint8_t> bytes(reinterpret_cast<const uint8_t*>(all.data()), all.size());
  size_t split = splitInBytes(documents, characters, fraction);
  Baseline out;
  TG_ASSIGN_OR_RETURN(out.threeGram, nGramLoss(bytes.first(split), bytes.subspan(split), 3));
  TG_ASSIGN_OR_RETURN(out.fourGram, nGramLoss(bytes.first(split), bytes.subspan(split), 4));
  if (run.empty()) return out;
  TG_ASSIGN_OR_RETURN(LastValidation last, lastValidation(run));
  // A character may take several bytes: the loss a byte is the sum over characters, spread over their bytes.
  double bytesPerToken = 1;
  if (characters) bytesPerToken = static_cast<double>(all.size() - split) / static_cast<double>(last.predictions + 1);
  out.lossPerByte = last.loss / bytesPerToken;
  return out;
}

} // namespace tegula
