// Shared by the graph's tests: the library, random arrays, a target that takes every group, and an interpreter that
// runs a plan on real buffers (inputs, outputs, one poisoned arena) by evaluating each group's body.
#pragma once

#include "graph/Emit.h"
#include "graph/Evaluate.h"
#include "graph/Plan.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>

namespace tegula::test {

std::shared_ptr<const OperatorLibrary> library();

/// Values in [-1, 1) (floats) or [0, high) (integers), the same for the same seed.
HostArray randomArray(const TensorType&, uint32_t seed, int64_t high = 8);

/// Takes elementwise groups with reductions at their ends, keeps operators with tile kernels, reads and writes any
/// strides.
struct TestTarget : TargetModel {
  bool keepOperators = true, fuseLoops = true, fuseEpilogues = true, anyStrides = true;
  bool twoDispatches = false; // every group computes into temporaries, and a second dispatch copies them to the outputs
  mutable std::vector<std::shared_ptr<const Group>> groups; // what was scheduled

  bool keepsWhole(const Graph&, const Node&) const override;
  std::string whyNotFuse(const Graph&, std::span<const int32_t>) const override;
  bool acceptsStrides(const Graph&, int32_t, int, const Shape&, const Shape&) const override { return anyStrides; }
  bool writesStrides(const Graph&, int32_t, int, const Shape&, const Shape&) const override { return anyStrides; }
  Layout preferredLayout(const Graph&, int32_t, int) const override { return {}; }
  StatusOr<GroupSchedule> schedule(const Group&) const override;
  bool fastBf16Dot() const override { return true; }
};

struct PlanRun {
  std::vector<HostArray> outputs; // read from their places
  std::vector<HostArray> inputs;  // after the run: states as they were assigned
};
/// Runs every segment of every step, in the plan's order or the one given. The arena and the outputs are filled with NaN
/// bytes first.
StatusOr<PlanRun> interpret(const Plan&, const TestTarget&, std::span<const HostArray> inputs,
                            std::span<const int32_t> order = {});
/// An order of the steps that their waits allow: at each point the latest step that is ready (seed 0), or any.
std::vector<int32_t> anotherOrder(const Plan&, uint32_t seed);

/// Largest |a - b| / (1 + |b|); infinity where one is NaN and the other is not.
double difference(const HostArray& a, const HostArray& b);

#define TG_EXPECT_OK(expr)                                                                                             \
  do {                                                                                                                 \
    ::tegula::Status tgS_ = (expr);                                                                                    \
    EXPECT_TRUE(tgS_.ok()) << ::tegula::message(tgS_);                                                                 \
  } while (0)

/// The value, or a failure of the test that ends it.
template <typename T> T valueOf(StatusOr<T> v) {
  if (!v.ok()) throw std::runtime_error(std::string(message(v.status())));
  return *std::move(v);
}

} // namespace tegula::test
