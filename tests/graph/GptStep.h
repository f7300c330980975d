// A training step of a small GPT as a recorded graph, with random data: everything that makes plans hard (split q, k
// and v, transposed heads, a tied head, clipping by the global norm, AdamW on every parameter).
#pragma once

#include "GraphTestSupport.h"

namespace tegula::test {

struct Recorder {
  Graph g{library()};
  std::vector<HostArray> data;
  uint32_t seed = 1;

  Value input(const TensorType& t, InputKind kind = InputKind::Data, int64_t high = 4);
  Value op(Symbol name, std::initializer_list<Value> in, const Attributes& a = {});
  Values all(Symbol name, std::initializer_list<Value> in, const Attributes& a = {});
  Value primitive(Symbol name, std::initializer_list<Value> in, const Attributes& a = {});
};

struct GptSizes {
  int64_t B = 2, T = 3, C = 4, H = 2, V = 7;
  int layers = 1;
};
Recorder gptStep(const GptSizes&);

} // namespace tegula::test
