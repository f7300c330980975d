// Causal multi-head self-attention with one projection for q, k and v, as GPT-2 has it.
// Source: Radford et al. 2019, "Language models are unsupervised multitask learners"; names of its released code.
#pragma once

#include "models/Linear.h"

namespace tegula {

class CausalSelfAttention {
public:
  struct Options {
    int64_t width = 0, heads = 0; // Requires: heads divides width
    bool bias = true;
    double standardDeviation = 0.02, projectionDeviation = 0.02;
  };
  /// Declares `path`.c_attn (q, k, v side by side) and `path`.c_proj.
  CausalSelfAttention(Parameters& p, const std::string& path, const Options& o)
      : heads_(o.heads), headWidth_(o.width / o.heads),
        projectIn_(p, path + ".c_attn", o.width, 3 * o.width, {o.bias, o.standardDeviation}),
        projectOut_(p, path + ".c_proj", o.width, o.width, {o.bias, o.projectionDeviation}) {}

  /// Shape: x [B, T, C] gives [B, T, C].
  Tensor operator()(ParameterValues p, const Tensor& x) const;

private:
  int64_t heads_, headWidth_;
  Linear projectIn_, projectOut_;
};

} // namespace tegula
