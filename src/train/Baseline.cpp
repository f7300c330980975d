// Counting models beside a run's validation loss.
#include "train/Baseline.h"

#include "base/Files.h"
#include "data/NGram.h"
#include "data/Text.h"
#include "data/Tokenizer.h"
#include <cmath>
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
    if (j.is_object() && j.contains("validate_step") && j["loss"].is_number()) last = {j["loss"], j["predictions"]};
    begin = end + 1;
  }
  if (!last) return notFound("{}: holds no validation; train with validation.enable=true", path);
  return *last;
}

} // namespace

StatusOr<Baseline> measureBaseline(const std::string& textPath, double validationFraction, const std::string& run) {
  TG_ASSIGN_OR_RETURN(TextDocuments documents, readTextDocuments(textPath));
  std::string all;
  for (const auto& d : documents.documents) all += d.text;
  std::span<const uint8_t> bytes(reinterpret_cast<const uint8_t*>(all.data()), all.size());
  auto split = static_cast<size_t>(std::floor(static_cast<double>(all.size()) * (1.0 - validationFraction)));
  Baseline out;
  TG_ASSIGN_OR_RETURN(out.threeGram, nGramLoss(bytes.first(split), bytes.subspan(split), 3));
  TG_ASSIGN_OR_RETURN(out.fourGram, nGramLoss(bytes.first(split), bytes.subspan(split), 4));
  if (run.empty()) return out;
  TG_ASSIGN_OR_RETURN(LastValidation last, lastValidation(run));
  TG_ASSIGN_OR_RETURN(Tokenizer tokenizer, Tokenizer::load(run + "/tokenizer.json"));
  // A character may take several bytes: the loss a byte is the sum over characters, spread over their bytes.
  double bytesPerToken = 1;
  if (tokenizer.kind() == Tokenizer::Kind::Characters)
    bytesPerToken = static_cast<double>(all.size() - split) / static_cast<double>(last.predictions + 1);
  out.lossPerByte = last.loss / bytesPerToken;
  return out;
}

} // namespace tegula
