// The named parameters of a model: declared by its modules, then given values and turned into states of a session.
// A module keeps the index of each of its parameters; values travel beside the activations, so that a parameter used
// twice (a tied head) is read once and gets one gradient.
//
//   Parameters parameters;
//   Linear layer(parameters, "layer", 8, 4, {.bias = true});
//   TG_RETURN_IF_ERROR(parameters.create(session, seed));
//   std::vector<Tensor> values = parameters.read(session);
//   Tensor y = layer(values, x);
#pragma once

#include "runtime/Session.h"
#include "tensor/Safetensors.h"
#include <string>
#include <vector>

namespace tegula {

/// How a parameter starts. Normal draws come from the operator `normal`, with a seed made from the run's seed and the
/// parameter's name: they depend neither on threads nor on the order of declaration.
struct Initialization {
  enum class Kind : uint8_t { Zeros, Ones, Normal } kind = Kind::Zeros;
  double standardDeviation = 0;
  static Initialization zeros() { return {}; }
  static Initialization ones() { return {Kind::Ones, 0}; }
  static Initialization normal(double deviation) { return {Kind::Normal, deviation}; }
};

struct Parameter {
  std::string name; // "transformer.h.0.attn.c_attn.weight"
  Shape shape;
  Initialization initialization;
  int32_t state = -1; // of the session, once created
};

/// One tensor for each parameter, in order of declaration, read in the step being recorded.
using ParameterValues = std::span<const Tensor>;

class Parameters {
public:
  /// Requires: the name is new. Returns the parameter's index.
  int32_t declare(std::string name, Shape shape, Initialization);
  const std::vector<Parameter>& list() const { return list_; }
  size_t size() const { return list_.size(); }
  int64_t elements() const;

  /// Makes an f32 state of every parameter, with its initial values, computed by the session: a plan of its own.
  /// Requires: nothing is recorded and not yet evaluated. Fails: as Session::evaluate().
  Status create(Session&, uint64_t seed);
  /// The same from arrays by name. Fails: a missing name, another shape, or a name that no parameter has; all at once.
  Status create(Session&, const std::map<std::string, HostArray>& arrays);
  /// Stores arrays into states that exist. Fails as create().
  Status store(Session&, const std::map<std::string, HostArray>& arrays) const;
  /// The values of all states by name.
  StatusOr<std::map<std::string, HostArray>> fetch(Session&) const;

  /// Records a read of every parameter.
  std::vector<Tensor> read(Session&) const;
  /// The same into `values`, whose memory a caller keeps from step to step.
  void read(Session&, std::vector<Tensor>& values) const;

private:
  Status check(const std::map<std::string, HostArray>& arrays) const;
  std::vector<Parameter> list_;
};

} // namespace tegula
