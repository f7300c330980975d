// A table of vectors, one a row.
#pragma once

#include "models/Parameters.h"

namespace tegula {

class Embedding {
public:
  /// Declares `path`.weight [rows, width].
  Embedding(Parameters& p, const std::string& path, int64_t rows, int64_t width, double standardDeviation)
      : weight_(p.declare(path + ".weight", {rows, width}, Initialization::normal(standardDeviation))) {}

  /// Shape: integer indices [...] give [..., width].
  Tensor operator()(ParameterValues p, const Tensor& indices) const {
    static const Symbol embedding("embedding");
    return call(embedding, {p[weight_], indices});
  }
  /// The first `count` rows: what positions 0 … count-1 look up. A slice even of the whole table, so that the graph has
  /// the same nodes at every count.
  Tensor firstRows(ParameterValues p, int64_t count) const { return slice(p[weight_], 0, 0, count); }
  /// The index of the table among the parameters, for a tied output head.
  int32_t weight() const { return weight_; }

private:
  int32_t weight_;
};

} // namespace tegula
