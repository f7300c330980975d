// The thing under test, as a function: an operator call and its gradient. The reference evaluator, a session's compiled
// path, or anything else plugs in here.
#pragma once

#include "graph/Evaluate.h"
#include <functional>

namespace tegula {

/// Results (without residuals) of `op` on one array per declared input; an absent optional input is a default
/// HostArray.
using ForwardFunction =
    std::function<StatusOr<std::vector<HostArray>>(Symbol op, std::span<const HostArray> inputs, const Attributes&)>;

/// Gradients of sum(results * upstream), one per input; a default HostArray where the input has none. `upstream` holds
/// one array per result, in the result's type (default: that result does not count).
using GradientFunction = std::function<StatusOr<std::vector<HostArray>>(
    Symbol op, std::span<const HostArray> inputs, const Attributes&, std::span<const HostArray> upstream)>;

struct OperationUnderTest {
  ForwardFunction forward;
  GradientFunction gradient; // may be empty
};

/// The graph's walk by the reference evaluator. Wide evaluation takes f64 arrays for inputs of any `stated` float type:
/// it is that graph, with its casts and residuals, whose meaning is wanted without rounding.
OperationUnderTest referenceOperation(std::shared_ptr<const OperatorLibrary>, Precision,
                                      std::vector<DType> stated = {});

/// The call as a graph: its inputs are the present inputs in order, outputs the results. `stated` holds the type of
/// each input, present or not; empty: what the arrays are, and with Precision::Wide f32 for f64 arrays.
StatusOr<Graph> forwardGraph(std::shared_ptr<const OperatorLibrary>, Symbol op, std::span<const HostArray> inputs,
                             const Attributes&, Precision = Precision::AsStated, std::span<const DType> stated = {});
/// The gradient as a graph: its inputs are the present inputs, then the present upstream arrays; outputs the gradients
/// of the differentiable present inputs (`wrt` receives which inputs those are).
StatusOr<Graph> gradientGraph(std::shared_ptr<const OperatorLibrary>, Symbol op, std::span<const HostArray> inputs,
                              const Attributes&, std::span<const HostArray> upstream, std::vector<size_t>& wrt,
                              Precision = Precision::AsStated, std::span<const DType> stated = {});

/// Whether the array stands for an input that is there.
inline bool isPresent(const HostArray& a) { return a.data() != nullptr; }
std::vector<HostArray> presentOnly(std::span<const HostArray> first, std::span<const HostArray> second = {});

} // namespace tegula
