// Recording causal self-attention.
#include "models/Attention.h"

namespace tegula {

Tensor CausalSelfAttention::operator()(ParameterValues p, const Tensor& x) const {
  static const Symbol attention("attention"), causal("causal");
  int64_t B = x.dim(0), T = x.dim(1);
  // q, k and v as three groups of heads: then each is a view of the projection's result.
  Tensor qkv = reshape(projectIn_(p, x), {B, T, 3 * heads_, headWidth_});
  auto group = [&](int64_t i) { return transpose(slice(qkv, 2, i * heads_, (i + 1) * heads_), {0, 2, 1, 3}); };
  Tensor y = call(attention, {group(0), group(1), group(2)}, {{causal, true}}); // [B, H, T, D]
  return projectOut_(p, reshape(transpose(y, {0, 2, 1, 3}), {B, T, heads_ * headWidth_}));
}

} // namespace tegula
