// What a run says about itself: the step line that torchtitan's users already parse, and log.jsonl.
//
//   step:  1  loss:  8.0403  grad_norm:  1.3470  memory:  1.02GiB(1.08%)  tps: 27,483  tflops: 1.97  mfu: 0.20%  lr: 1.0000e-03
//   validate step: 250  loss:  1.9035  memory:  1.02GiB(1.08%)  tps: 51,200
//
// A line of log.jsonl is an object: what the same run computes again, bit for bit, and under "measured" what it does
// not:
//   {"step":1,"loss":8.04,"grad_norm":1.34,"lr":0.001,"measured":{"seconds":0.04,"tps":27483.1,"tflops":1.97,"mfu":0.2,"memory_bytes":1095216660}}
//   {"validate_step":250,"loss":1.9035,"predictions":111539,"measured":{…}}   (no tflops and mfu: they count a backward pass)
#pragma once

#include "base/Status.h"
#include <cstdint>
#include <string>

namespace tegula {

struct Throughput {
  double seconds = 0, tokensPerSecond = 0;
  double flopsPerToken = 0, peakFlops = 0; // 0: unknown
  int64_t memoryBytes = 0, totalMemoryBytes = 0;
  double flops() const { return tokensPerSecond * flopsPerToken; }
  double utilization() const { return peakFlops > 0 ? flops() / peakFlops : 0; }
};

struct StepMetrics {
  int64_t step = 0; // counted from 1
  double loss = 0, gradientNorm = 0, learningRate = 0;
  bool applied = true;
};

/// Escape sequences are used only where `colour` is true (a terminal, and NO_COLOR unset).
std::string stepLine(const StepMetrics&, const Throughput&, bool colour);
std::string validationLine(int64_t step, double loss, const Throughput&, bool colour);
std::string stepJson(const StepMetrics&, const Throughput&);
std::string validationJson(int64_t step, double loss, int64_t predictions, const Throughput&);

/// Removes from a log.jsonl every line of a later step than `step`, and a torn last line. A missing file is fine.
Status truncateLog(const std::string& path, int64_t step);

/// Physical memory of the machine.
int64_t totalMemoryBytes();

} // namespace tegula
