// Sampling text.
#include "train/Sampler.h"

#include "base/Philox.h"
#include "base/Utf8.h"
#include "data/Text.h"
#include "train/Checkpoint.h"
#include "train/RunFolder.h"
#include <algorithm>
#include <cmath>
#include <numeric>

namespace tegula {
namespace {

constexpr uint64_t kSamplingStream = 0x73616d706c65u; // "sample"

/// A number in [0, 1) with 53 bits, of (seed, position).
double uniformAt(uint64_t seed, int64_t position) {
  PhiloxBlock bits = philoxElement(philoxKey(seed, kSamplingStream), 0, static_cast<uint64_t>(position));
  return static_cast<double>((static_cast<uint64_t>(bits[0]) << 21) ^ (bits[1] >> 11)) * 0x1p-53;
}

/// Candidates in falling order of logit, lower token first among equals.
std::vector<int32_t> candidates(std::span<const float> logits, int64_t topK) {
  std::vector<int32_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  size_t keep = topK > 0 ? std::min<size_t>(static_cast<size_t>(topK), order.size()) : order.size();
  auto before = [&](int32_t a, int32_t b) { return logits[a] != logits[b] ? logits[a] > logits[b] : a < b; };
  std::partial_sort(order.begin(), order.begin() + static_cast<ptrdiff_t>(keep), order.end(), before);
  order.resize(keep);
  return order;
}

} // namespace

StatusOr<int32_t> chooseToken(std::span<const float> logits, const SamplingOptions& o, int64_t position) {
  for (size_t i = 0; i < logits.size(); ++i)
    if (std::isnan(logits[i])) return failed("the model's logit of token {} is NaN; its weights are not usable", i);
  if (o.temperature <= 0) return static_cast<int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
  std::vector<int32_t> order = candidates(logits, o.topK);
  std::vector<double> weights;
  double top = logits[order[0]], sum = 0;
  for (int32_t token : order) weights.push_back(sum += std::exp((logits[token] - top) / o.temperature));
  double draw = uniformAt(o.seed, position) * sum;
  size_t chosen = std::upper_bound(weights.begin(), weights.end(), draw) - weights.begin();
  return order[std::min(chosen, order.size() - 1)];
}

StatusOr<std::unique_ptr<Sampler>> Sampler::load(const std::string& path, const SamplingPlace& place) {
  TG_ASSIGN_OR_RETURN(std::string folder, latestCheckpoint(path));
  TG_ASSIGN_OR_RETURN(Checkpoint checkpoint, loadCheckpoint(folder));
  TG_ASSIGN_OR_RETURN(Tokenizer tokenizer, Tokenizer::fromJson(checkpoint.tokenizerJson, folder + "/tokenizer.json"));
  TG_ASSIGN_OR_RETURN(config::Document document, config::parseToml(checkpoint.configToml, folder + "/config.toml"));
  RunConfig config;
  TG_RETURN_IF_ERROR(RunSchema(config)->load(document));
  TG_RETURN_IF_ERROR(applyEnvironment(config));
  TG_ASSIGN_OR_RETURN(GptConfig modelConfig, config.modelConfig(tokenizer.vocabulary()));
  SessionOptions used = config.sessionOptions();
  if (!place.target.empty()) used.target = place.target;
  used.threads = place.threads.value_or(used.threads);
  TG_ASSIGN_OR_RETURN(std::unique_ptr<Session> session, Session::create(used));
  auto model = std::make_unique<Gpt>(modelConfig);
  TG_RETURN_IF_ERROR(addContext(model->parameters().create(*session, checkpoint.parameters), folder));
  auto sampler = std::make_unique<Sampler>(*session, *model, std::move(tokenizer));
  sampler->ownedSession_ = std::move(session);
  sampler->ownedModel_ = std::move(model);
  return sampler;
}

StatusOr<std::vector<float>> Sampler::nextLogits(std::span<const int32_t> context) {
  static const Symbol embedding("embedding");
  int64_t block = model_->config().block, width = model_->config().width;
  if (context.empty()) return invalid("generate: the prompt is empty; give at least one character");
  if (static_cast<int64_t>(context.size()) > block) context = context.last(static_cast<size_t>(block));
  // Positions after the last are padding: attention is causal, so they change nothing before them.
  HostArray tokens = HostArray::zeros(DType::I32, {1, block}), last = HostArray::zeros(DType::I32, {1});
  std::ranges::copy(context, tokens.as<int32_t>());
  last.setInt(0, static_cast<int64_t>(context.size()) - 1);
  std::vector<Tensor> p = model_->parameters().read(*session_);
  Tensor hidden = reshape(model_->hidden(p, session_->input(tokens)), {block, width});
  Tensor logits = model_->logits(p, call(embedding, {hidden, session_->input(last)}));
  const Tensor results[] = {logits};
  TG_RETURN_IF_ERROR(session_->evaluate(results));
  TG_ASSIGN_OR_RETURN(HostArray array, session_->value(logits));
  array = array.cast(DType::F32).contiguous();
  return std::vector<float>(array.as<float>(), array.as<float>() + array.elements());
}

StatusOr<std::vector<int32_t>> Sampler::continueTokens(std::vector<int32_t> context, const SamplingOptions& o,
                                                       const std::function<void(int32_t)>& onToken) {
  std::vector<int32_t> out;
  for (int64_t i = 0; i < o.tokens; ++i) {
    TG_ASSIGN_OR_RETURN(std::vector<float> logits, nextLogits(context));
    // A vocabulary padded beyond the tokenizer's has rows that no text ever uses.
    if (tokenizer_.vocabulary() < static_cast<int64_t>(logits.size()))
      logits.resize(static_cast<size_t>(tokenizer_.vocabulary()));
    TG_ASSIGN_OR_RETURN(int32_t token, chooseToken(logits, o, i));
    context.push_back(token);
    out.push_back(token);
    if (onToken) onToken(token);
  }
  return out;
}

Status Sampler::checkPrompt(std::string_view prompt) const {
  if (prompt.empty()) return invalid("--prompt: is empty; give at least one character");
  return addContext(tokenizer_.encode(prompt).status(), "--prompt");
}

std::string Sampler::defaultPrompt() const {
  constexpr int32_t kFirst = 0;
  return tokenizer_.encode("\n").ok() ? "\n" : tokenizer_.decode({&kFirst, 1});
}

Status Sampler::generate(std::string_view prompt, const SamplingOptions& o,
                         const std::function<void(std::string_view)>& emit) {
  TG_RETURN_IF_ERROR(checkPrompt(prompt));
  TG_ASSIGN_OR_RETURN(std::vector<int32_t> context, tokenizer_.encode(prompt));
  std::string held;
  auto onToken = [&](int32_t token) {
    held += tokenizer_.decode({&token, 1});
    size_t ready = held.size() - incompleteUtf8Tail(held);
    if (ready == 0) return;
    emit(std::string_view(held).substr(0, ready));
    held.erase(0, ready);
  };
  return continueTokens(std::move(context), o, onToken).status();
}

} // namespace tegula
