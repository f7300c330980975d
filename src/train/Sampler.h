// Text from a trained model: one token at a time, from a context of fixed length, so that one plan serves every token
// and nothing is compiled after the first.
//
//   TG_ASSIGN_OR_RETURN(std::unique_ptr<Sampler> sampler, Sampler::load("runs/kjv-1", {}));
//   TG_RETURN_IF_ERROR(sampler->generate("In the beginning", {.tokens = 200}, [](std::string_view piece) { … }));
#pragma once

#include "data/Tokenizer.h"
#include "models/Gpt.h"
#include <functional>
#include <memory>
#include <optional>

namespace tegula {

struct SamplingOptions {
  int64_t tokens = 200;
  double temperature = 1.0; // 0: the likeliest token, first of equals
  int64_t topK = 0;         // 0: all tokens
  uint64_t seed = 0;
};

/// Where to compute, over what the run says.
struct SamplingPlace {
  std::string target;         // empty: the run's
  std::optional<int> threads; // 0: as in SessionOptions; absent: the run's
};

/// The token chosen from logits at position `position`: a pure function of its arguments. Candidates are scaled by the
/// temperature; the draw is Philox with key `seed` and counter `position`. NaN logits are refused.
StatusOr<int32_t> chooseToken(std::span<const float> logits, const SamplingOptions&, int64_t position);

/// Tokens after `context` with a given way to choose; used by generate() and by tests.
class Sampler {
public:
  /// From a run folder (its latest checkpoint) or a checkpoint folder.
  static StatusOr<std::unique_ptr<Sampler>> load(const std::string& path, const SamplingPlace&);
  /// From a model with states in a session; both must outlive the sampler.
  Sampler(Session& session, const Gpt& model, Tokenizer tokenizer)
      : session_(&session), model_(&model), tokenizer_(std::move(tokenizer)) {}

  /// Logits of the token after the last of `context` (its last `block` tokens). Requires: at least one token.
  StatusOr<std::vector<float>> nextLogits(std::span<const int32_t> context);
  StatusOr<std::vector<int32_t>> continueTokens(std::vector<int32_t> context, const SamplingOptions&,
                                                const std::function<void(int32_t)>& onToken = {});
  /// Fails: an empty prompt, characters outside the vocabulary.
  Status checkPrompt(std::string_view prompt) const;
  /// What begins a text for want of a prompt: a line break or, where the vocabulary has none, its first character.
  std::string defaultPrompt() const;
  /// Streams the continuation of `prompt` (the prompt itself is not repeated). Bytes that are the beginning of a UTF-8
  /// character are held back until it is complete. Fails: as checkPrompt().
  Status generate(std::string_view prompt, const SamplingOptions&, const std::function<void(std::string_view)>& emit);
  const Tokenizer& tokenizer() const { return tokenizer_; }
  Session& session() { return *session_; }

private:
  std::unique_ptr<Session> ownedSession_;
  std::unique_ptr<Gpt> ownedModel_;
  Session* session_;
  const Gpt* model_;
  Tokenizer tokenizer_;
};

} // namespace tegula
