// Recording a GPT.
#include "models/Gpt.h"

#include <cmath>

namespace tegula {

Status GptConfig::check() const {
  struct {
    const char* name;
    int64_t value;
  } extents[] = {{"vocabulary", vocabulary}, {"layers", layers}, {"heads", heads}, {"width", width}, {"block", block}};
  for (const auto& e : extents)
    if (e.value < 1) return invalid("model: {} is {}, must be at least 1", e.name, e.value);
  if (width % heads != 0)
    return invalid("model: width {} is not a multiple of heads {}; the nearest width is {}", width, heads,
                   std::max<int64_t>(1, (width + heads / 2) / heads) * heads);
  if (hidden < 0) return invalid("model: hidden is {}, must be at least 1, or 0 for 4 times the width", hidden);
  if (gelu != "erf" && gelu != "tanh") return invalid("model: gelu is '{}', must be erf or tanh", gelu);
  if (!(normEpsilon > 0)) return invalid("model: the norm's epsilon is {}, must be above 0", normEpsilon);
  return OkStatus();
}

Gpt::Block Gpt::makeBlock(Parameters& p, const std::string& path, const GptConfig& c) {
  // GPT-2: every block adds twice to the residual, so its projections start smaller by sqrt(2 × layers).
  double projection = c.standardDeviation / std::sqrt(2.0 * static_cast<double>(c.layers));
  LayerNorm::Options norm{c.bias, c.normEpsilon};
  // One declaration after the other: parameters are listed in the order in which values pass them.
  LayerNorm normAttention(p, path + ".ln_1", c.width, norm);
  CausalSelfAttention attention(p, path + ".attn", {c.width, c.heads, c.bias, c.standardDeviation, projection});
  LayerNorm normMlp(p, path + ".ln_2", c.width, norm);
  Mlp mlp(p, path + ".mlp", {c.width, c.hiddenWidth(), c.bias, Symbol(c.gelu), c.standardDeviation, projection});
  return {normAttention, attention, normMlp, mlp};
}

Gpt::Gpt(const GptConfig& c)
    : config_(c), tokens_(parameters_, "transformer.wte", c.vocabulary, c.width, c.standardDeviation),
      positions_(parameters_, "transformer.wpe", c.block, c.width, c.standardDeviation), blocks_([&] {
        std::vector<Block> blocks;
        for (int64_t i = 0; i < c.layers; ++i)
          blocks.push_back(makeBlock(parameters_, fmt::format("transformer.h.{}", i), c));
        return blocks;
      }()),
      normFinal_(parameters_, "transformer.ln_f", c.width, {c.bias, c.normEpsilon}) {
  if (!c.tiedHead)
    head_.emplace(parameters_, "lm_head", c.width, c.vocabulary, Linear::Options{false, c.standardDeviation});
}

Tensor Gpt::hidden(ParameterValues p, const Tensor& tokens) const {
  Session& session = tokens.session();
  Tensor x = tokens_(p, tokens) + positions_.firstRows(p, tokens.dim(1));
  for (size_t i = 0; i < blocks_.size(); ++i) {
    const Block& block = blocks_[i];
    Scope scope(session, fmt::format("transformer.h.{}", i));
    {
      Scope inner(session, "attn");
      x = x + block.attention(p, block.normAttention(p, x));
    }
    Scope inner(session, "mlp");
    x = x + block.mlp(p, block.normMlp(p, x));
  }
  Scope scope(session, "transformer.ln_f");
  return normFinal_(p, x);
}

Tensor Gpt::logits(ParameterValues p, const Tensor& hidden) const {
  static const Symbol linear("linear");
  Scope scope(hidden.session(), "lm_head");
  return head_ ? (*head_)(p, hidden) : call(linear, {hidden, p[tokens_.weight()], Tensor()});
}

Tensor Gpt::loss(const Tensor& logits, const Tensor& labels, Symbol reductionName) const {
  static const Symbol crossEntropy("cross_entropy"), ignoreIndex("ignore_index"), reduction("reduction");
  Scope scope(logits.session(), "loss");
  // As they are: rows merged into one axis would come apart again at T = 1, and the graph would depend on an extent.
  return call(crossEntropy, {logits, labels}, {{ignoreIndex, kIgnoredLabel}, {reduction, reductionName}});
}

double Gpt::trainingFlopsPerToken(int64_t T) const {
  auto layers = static_cast<double>(config_.layers), width = static_cast<double>(config_.width);
  double blockMatrices = layers * (4 * width * width + 2 * width * static_cast<double>(config_.hiddenWidth()));
  double head = width * static_cast<double>(config_.vocabulary);
  return 6 * (blockMatrices + head) + 12 * layers * width * static_cast<double>(T);
}

} // namespace tegula
