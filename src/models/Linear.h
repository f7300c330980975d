// y = x · weightᵀ + bias. The weight is [out, in], as PyTorch's nn.Linear stores it.
#pragma once

#include "models/Parameters.h"

namespace tegula {

class Linear {
public:
  struct Options {
    bool bias = true;
    double standardDeviation = 0.02; // of the weight's initial values; a bias starts at zero
  };
  /// Declares `path`.weight and, if asked for, `path`.bias.
  Linear(Parameters& p, const std::string& path, int64_t in, int64_t out, const Options& o)
      : weight_(p.declare(path + ".weight", {out, in}, Initialization::normal(o.standardDeviation))),
        bias_(o.bias ? p.declare(path + ".bias", {out}, Initialization::zeros()) : -1) {}

  /// Shape: x [..., in] gives [..., out].
  Tensor operator()(ParameterValues p, const Tensor& x) const {
    static const Symbol linear("linear");
    return call(linear, {x, p[weight_], bias_ < 0 ? Tensor() : p[bias_]});
  }

private:
  int32_t weight_, bias_;
};

} // namespace tegula
