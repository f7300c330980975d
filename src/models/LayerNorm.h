// Layer normalisation over the last axis, with a weight and an optional bias.
// Source: Ba, Kiros, Hinton 2016, "Layer normalization".
#pragma once

#include "models/Parameters.h"

namespace tegula {

class LayerNorm {
public:
  struct Options {
    bool bias = true;
    double epsilon = 1e-5;
  };
  /// Declares `path`.weight (ones) and, if asked for, `path`.bias (zeros).
  LayerNorm(Parameters& p, const std::string& path, int64_t width, const Options& o)
      : weight_(p.declare(path + ".weight", {width}, Initialization::ones())),
        bias_(o.bias ? p.declare(path + ".bias", {width}, Initialization::zeros()) : -1), epsilon_(o.epsilon) {}

  Tensor operator()(ParameterValues p, const Tensor& x) const {
    static const Symbol layerNorm("layer_norm"), eps("eps");
    return call(layerNorm, {x, p[weight_], bias_ < 0 ? Tensor() : p[bias_]}, {{eps, epsilon_}});
  }

private:
  int32_t weight_, bias_;
  double epsilon_;
};

} // namespace tegula
