// A GPT-2 style decoder: learned positions, pre-LayerNorm blocks of causal attention and a GELU feed-forward layer, a
// final LayerNorm and an output head that is the token table transposed (tied) or a matrix of its own.
// Parameter names are those of GPT-2's released code and nanoGPT: transformer.wte.weight,
// transformer.h.0.attn.c_attn.weight …
//
//   Gpt model({.vocabulary = 65, .layers = 4, .heads = 4, .width = 128, .block = 64});
//   TG_RETURN_IF_ERROR(model.parameters().create(session, seed));
//   std::vector<Tensor> p = model.parameters().read(session);
//   Tensor loss = model.loss(model.logits(p, model.hidden(p, tokens)), labels);
#pragma once

#include "models/Attention.h"
#include "models/Embedding.h"
#include "models/LayerNorm.h"
#include "models/Mlp.h"
#include <optional>

namespace tegula {

struct GptConfig {
  int64_t vocabulary = 0, layers = 0, heads = 0, width = 0;
  int64_t block = 0;        // the longest sequence
  int64_t hidden = 0;       // of the feed-forward layer; 0 means 4 × width
  bool bias = true;         // in linear layers and LayerNorms
  std::string gelu = "erf"; // or "tanh"
  double normEpsilon = 1e-5;
  bool tiedHead = true;
  double standardDeviation = 0.02; // projections back into the residual get this / sqrt(2 × layers)

  /// Fails: extents below 1, heads that do not divide the width, an unknown form of GELU.
  Status check() const;
  int64_t hiddenWidth() const { return hidden ? hidden : 4 * width; }
};

/// A label that does not count in the loss.
constexpr int64_t kIgnoredLabel = -100;

class Gpt {
public:
  /// Requires: config.check() is OK.
  explicit Gpt(const GptConfig& config);
  const GptConfig& config() const { return config_; }
  Parameters& parameters() { return parameters_; }
  const Parameters& parameters() const { return parameters_; }

  /// Shape: i32 tokens [B, T], T <= block, give the normalised activations [B, T, C] that the head reads.
  Tensor hidden(ParameterValues p, const Tensor& tokens) const;
  /// Shape: [..., C] gives [..., V].
  Tensor logits(ParameterValues p, const Tensor& hidden) const;
  /// Cross-entropy in nats over the labels [B, T] that are not kIgnoredLabel; `reduction` is "mean" or "sum".
  Tensor loss(const Tensor& logits, const Tensor& labels, Symbol reduction = "mean") const;

  /// Floating-point operations of one training step's matrix products, for MFU: 6 per parameter of a matrix and token
  /// (forward 2, backward 4), plus 12 · layers · width · T per token for attention's two products.
  /// Source: Chowdhery et al. 2022, "PaLM", appendix B; the position table and norms do no products.
  double trainingFlopsPerToken(int64_t T) const;

private:
  struct Block {
    LayerNorm normAttention;
    CausalSelfAttention attention;
    LayerNorm normMlp;
    Mlp mlp;
  };
  static Block makeBlock(Parameters&, const std::string& path, const GptConfig&);

  GptConfig config_;
  Parameters parameters_;
  Embedding tokens_, positions_;
  std::vector<Block> blocks_;
  LayerNorm normFinal_;
  std::optional<Linear> head_; // absent where tied
};

} // namespace tegula
