// Runs a group of primitives: scheduled, compiled for a target and called on guarded, poisoned memory.
#pragma once

#include "compiler/Target.h"
#include "compiler/loop/AxisMemory.h"
#include "graph/Evaluate.h"
#include "graph/Group.h"
#include <functional>
#include <gtest/gtest.h>

namespace tegula::test {

/// How the work items of a dispatch are called, and at which end of its pages an operand lies.
enum class Calls : uint8_t { Whole, OneByOneBackwards };

/// A group whose body `build` makes: inputs are declared from the arrays (their types and strides), outputs are what it
/// returns.
struct LoopCase {
  std::vector<HostArray> inputs;
  std::function<std::vector<Value>(GraphBuilder&, std::span<const Value>)> build;
  std::vector<int> inPlace; // per output: the input whose memory it is, or -1; empty: none
};

Group makeGroup(const LoopCase&);
/// Results, as bytes in row-major arrays.
StatusOr<std::vector<HostArray>> runLoops(const LoopCase&, const Target&, Calls = Calls::Whole,
                                          loop::AxisMemory* = nullptr);

/// The same for a body that relayouts: its packed result of `elements` elements, padding included.
StatusOr<HostArray> runRelayout(const LoopCase&, const Target&, int64_t elements);
/// Key of the first kernel; all calls share one memory of axes.
std::string keyAt(const LoopCase&, const Target&);

/// Compares every target, both ways to call, with the reference in f64: |got - want| <= relative * max(1, |want|) (NaN
/// equals NaN, integers exactly), and the two ways with each other bit for bit. relative = 0: equal to the reference in
/// stated types.
void expectLoops(const LoopCase&, double relative, std::string_view line);

/// x-86-64-v3 and -v4 as far as this machine runs them.
const std::vector<Target>& loopTargets();

/// Values in [-2, 2) (floats) or [low, high) (integers), the same for the same seed.
HostArray randomArray(DType, const Shape&, uint32_t seed, int64_t low = 0, int64_t high = 8);

Value call(GraphBuilder&, Symbol op, std::initializer_list<Value> inputs, const Attributes& = {});
Value broadcastTo(GraphBuilder&, Value, const Shape&, const Shape& axes);

/// Unit roundoff of a type.
double roundoff(DType);

} // namespace tegula::test
