// A plan: one recorded graph made executable. Steps in order, each with a wait set; every temporary placed
// in one arena. Immutable after makePlan.
#pragma once

#include "graph/TargetModel.h"
#include <functional>

namespace tegula {

/// A place in memory: `offsetBytes` into a slot.
struct BufferRef {
  enum class Space : uint8_t {
    Input,   // index = graph input (data, scalar or state buffer)
    Output,  // index = graph output
    Arena,   // the plan's arena; index 0
    Constant // index = Plan::constants
  };
  Space space = Space::Arena;
  int32_t index = 0;
  int64_t offsetBytes = 0;
};

/// One set of arguments of a kernel; a step runs `items` work items of each of its segments as one dispatch.
struct Segment {
  std::vector<BufferRef> bindings;
  std::vector<int64_t> scalars;
  int64_t items = 0;
};

struct PlanStep {
  int32_t kernel = 0; // index into Plan::kernels
  std::vector<Segment> segments;
  int64_t scratchBytes = 0;
  double flops = 0, bytes = 0;
  std::vector<int32_t> waits; // indices of earlier steps that must have finished
  std::string label;
};

struct Plan {
  std::vector<KernelRef> kernels; // distinct, in order of first use
  std::vector<PlanStep> steps;
  int64_t arenaBytes = 0;
  std::vector<TensorType> inputs, outputs;
  /// Where each output's value is: its own Output buffer, or an alias of an input / another output.
  std::vector<BufferRef> outputPlaces;
  std::vector<HostArray> constants;
  struct Placement {
    std::string value;
    int64_t offsetBytes, sizeBytes;
    int32_t firstStep, lastStep;
  };
  std::vector<Placement> placements; // of the arena, for printing and checking
  double flops = 0;                  // of matrix products, per run
  std::string text() const;          // the printed memory plan and step list
};

/// Mixed-precision policy: the type in which matrix products and attention compute. f32 keeps everything as recorded.
struct PrecisionPolicy {
  DType compute = DType::F32;
};

struct PlanOptions {
  PrecisionPolicy precision;
  /// Called after every named pass with the graph as it is then (graph dump --after PASS); may be null.
  std::function<void(std::string_view pass, const Graph&)> observe;
};

/// Runs every pass, left and right of the bar. Fails if anything would need the reference evaluator, naming the
/// operator.
StatusOr<Plan> makePlan(const Graph&, const TargetModel&, const PlanOptions& = {});
/// Names of the passes in order.
std::vector<std::string> passNames();

} // namespace tegula
