// The graph: nodes in topological order, each a primitive or a library operator applied to earlier values.
// Extents are concrete in a graph (a plan is made per set of extents); kernels are not: they take extents and strides
// as run-time arguments, so that other extents mean another plan but no new kernel (docs/decisions).
#pragma once

#include "lang/Builder.h"
#include "lang/OperatorLibrary.h"
#include "primitives/Primitive.h"
#include <string>
#include <vector>

namespace tegula {

/// What an input of a graph is. State lives in buffers of its own and is the only thing `assigns` may update.
enum class InputKind : uint8_t { Data, Scalar, State };

struct Node {
  enum class Kind : uint8_t { Input, Primitive, Operator, Gradient };
  Kind kind = Kind::Primitive;
  Symbol op; // of Input: its name
  Values inputs;
  Attributes attrs;
  TensorTypes results;
  Symbol scope; // module path where it was recorded ("layers.0.attention"), for labels and random streams
};

class Graph {
public:
  struct Input {
    int32_t node;
    InputKind kind;
  };
  /// `state[input] = value` after everything has been read.
  struct Assign {
    int32_t input; // index into inputs()
    Value value;
  };

  explicit Graph(std::shared_ptr<const OperatorLibrary> lib) : library_(std::move(lib)) {}

  Value addInput(Symbol name, TensorType, InputKind = InputKind::Data);
  /// Appends a node after checking and inferring its types.
  StatusOr<Values> addPrimitive(Symbol op, std::span<const Value> inputs, const Attributes&, Symbol scope = {});
  StatusOr<Values> addOperator(Symbol op, std::span<const Value> inputs, const Attributes&, Symbol scope = {});
  /// d(loss)/d(wrt...): one node, expanded by the pass `differentiate`. Results have the types of `wrt`.
  StatusOr<Values> addGradient(Value loss, std::span<const Value> wrt);
  /// Appends a node whose types are already known (passes).
  int32_t append(Node);

  const std::vector<Node>& nodes() const { return nodes_; }
  const Node& node(int32_t i) const { return nodes_[i]; }
  const TensorType& typeOf(Value v) const { return nodes_[v.node].results[v.result]; }
  const std::vector<Input>& inputs() const { return inputs_; }
  std::vector<Value>& outputs() { return outputs_; }
  const std::vector<Value>& outputs() const { return outputs_; }
  std::vector<Assign>& assigns() { return assigns_; }
  const std::vector<Assign>& assigns() const { return assigns_; }
  const OperatorLibrary& library() const { return *library_; }
  const std::shared_ptr<const OperatorLibrary>& libraryPtr() const { return library_; }

  /// Checks the invariants (topological order, types, indices); for tests and after every pass in debug runs.
  Status verify() const;

private:
  std::shared_ptr<const OperatorLibrary> library_;
  std::vector<Node> nodes_;
  std::vector<Input> inputs_;
  std::vector<Value> outputs_;
  std::vector<Assign> assigns_;
};

/// A Builder that appends to a graph.
class GraphBuilder final : public Builder {
public:
  explicit GraphBuilder(Graph& g, Symbol scope = {}) : graph_(g), scope_(scope) {}
  TensorType typeOf(Value v) const override { return graph_.typeOf(v); }
  StatusOr<Values> primitive(Symbol name, std::span<const Value> in, const Attributes& a) override {
    return graph_.addPrimitive(name, in, a, scope_);
  }
  StatusOr<Values> call(Symbol op, std::span<const Value> in, const Attributes& a) override {
    return graph_.addOperator(op, in, a, scope_);
  }

private:
  Graph& graph_;
  Symbol scope_;
};

/// JSON form `compute_graph` (spec/compute-graph.md) and back.
std::string toJson(const Graph&);
StatusOr<Graph> graphFromJson(std::string_view json, std::shared_ptr<const OperatorLibrary>);
/// One line a node, for people.
std::string toText(const Graph&);

} // namespace tegula
