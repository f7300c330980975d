// Derivative rules of the primitives (vector-Jacobian products), one file per family of rules. A rule writes nodes; it
// looks at types and attributes, never at values.
#pragma once

#include "graph/Emit.h"

namespace tegula {

/// One use of a rule: d(inputs) from d(outputs). A rule sets `gradients[i]` only where `needed[i]`; what it leaves
/// absent is zero. Each gradient has the type of its input.
struct RuleCall {
  Emit& e;
  const Node& node;
  Values outputs;         // the values that `node` computed
  Values outputGradients; // absent: nothing flows into that result
  absl::InlinedVector<bool, 4> needed;
  Values gradients; // one per input, absent to begin with

  Value in(int i) const { return node.inputs[i]; }
  Value out() const { return outputs[0]; }
  Value dy() const { return outputGradients[0]; }
  /// `make` only runs, and only writes nodes, where the gradient is needed.
  template <typename F> void set(int i, F&& make) {
    if (needed[i]) gradients[i] = make();
  }
};

struct Rule {
  Symbol primitive;
  void (*apply)(RuleCall&);
};

std::span<const Rule> elementwiseRules();
std::span<const Rule> movementRules();    // broadcast, views, pad, concatenate
std::span<const Rule> reductionRules();   // reduce_*, scan, sort
std::span<const Rule> contractionRules(); // contract
std::span<const Rule> convolutionRules();
std::span<const Rule> indexingRules(); // gather, scatter

/// Null if the primitive has no derivative.
const Rule* findRule(Symbol primitive);
/// Primitives whose derivative is zero wherever it exists (floor, sign, stop_gradient): nothing flows through them.
bool stopsGradient(Symbol primitive);

} // namespace tegula
