// A one-operator kernel for tests: y[i] = f(x[i]) over vectors, with the device ABI.
#pragma once

#include "compiler/Target.h"
#include "compiler/codegen/Image.h"
#include <functional>

namespace tegula {

struct ElementwiseKernel {
  std::string function; // of emitMath, or "pow", which reads x and y as pairs (2i, 2i+1), or "copy"
  bool f64 = false;
  int64_t lanes = 8; // work items are vectors of this many elements
};

StatusOr<CodeImage> compileElementwise(const ElementwiseKernel&, const Target&, struct StageTexts* = nullptr);

/// Runs on `x`, whose size is a multiple of the lanes (twice that for pow). T is float or double.
template <typename T> std::vector<T> runElementwise(const CodeImage&, const ElementwiseKernel&, std::vector<T> x);

} // namespace tegula
