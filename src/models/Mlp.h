// The feed-forward half of a transformer block: widen, GELU, narrow.
#pragma once

#include "models/Linear.h"

namespace tegula {

class Mlp {
public:
  struct Options {
    int64_t width = 0, hidden = 0;
    bool bias = true;
    Symbol gelu = "erf"; // or "tanh": the form of GELU
    double standardDeviation = 0.02, projectionDeviation = 0.02;
  };
  /// Declares `path`.c_fc and `path`.c_proj.
  Mlp(Parameters& p, const std::string& path, const Options& o)
      : gelu_(o.gelu), widen_(p, path + ".c_fc", o.width, o.hidden, {o.bias, o.standardDeviation}),
        narrow_(p, path + ".c_proj", o.hidden, o.width, {o.bias, o.projectionDeviation}) {}

  Tensor operator()(ParameterValues p, const Tensor& x) const {
    static const Symbol gelu("gelu"), form("form");
    return narrow_(p, call(gelu, {widen_(p, x)}, {{form, gelu_}}));
  }

private:
  Symbol gelu_;
  Linear widen_, narrow_;
};

} // namespace tegula
