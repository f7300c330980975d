// The recording behind lazy tensors: nodes in a reused arena and a structural hash that grows with them.
//
// A recorded node is four integers and its operands; equal programs give equal integers, so looking a plan up is
// comparing two arrays. Inputs are numbered in order of first use; data, host scalars and addresses are never part of
// the key, states are by number. evaluate() ends a recording; the one before it is kept, so that its results can still
// be read.
//
// Steady state: once the arrays have grown to a program's size, recording it allocates nothing.
#pragma once

#include "runtime/Operations.h"
#include "runtime/Tensor.h"
#include <string>
#include <vector>

namespace tegula {

struct RecordedNode {
  int32_t operation = 0; // number in Operations
  int32_t firstOperand = 0, operandCount = 0;
  int32_t slot = -1; // of inputs: number of the data, scalar or state
  friend bool operator==(const RecordedNode&, const RecordedNode&) = default;
};

struct RecordedAssign {
  int32_t state = 0;
  Value value;
  friend bool operator==(const RecordedAssign&, const RecordedAssign&) = default;
};

/// One recording: what is hashed and compared, and the values its inputs take this time.
struct Recording {
  std::vector<RecordedNode> nodes;
  std::vector<Value> operands;
  std::vector<RecordedAssign> assigns; // one a state at most
  std::vector<Symbol> scopes;          // one a node; for labels, not part of the key
  std::vector<HostArray> data;
  std::vector<std::pair<double, DType>> scalars;
  uint64_t hash = 0; // of nodes and operands, in order
  Status error;      // the first, with its scope
  void clear();
};

class Recorder {
public:
  Recorder(Session* session, std::shared_ptr<const OperatorLibrary> library)
      : session_(session), library_(library), operations_(std::move(library)) {
    recording().clear();
  }

  Tensor data(const HostArray&);
  /// Poisoned, as number() is, where the type is one of integers and has no such element.
  Tensor scalar(double value, DType);
  Tensor number(double value, DType);
  Tensor apply(NameSpace, Symbol op, std::span<const Tensor> inputs, const Attributes&);
  /// `value` in every element of a tensor like `t`; the same number and type is recorded once.
  Tensor numberLike(const Tensor& t, double value);
  /// All results of an operator without its residuals; on an error all poisoned.
  void applyAll(Symbol op, std::span<const Tensor> inputs, const Attributes&, std::vector<Tensor>& results);
  void gradient(const Tensor& loss, std::span<const Tensor> wrt, std::vector<Tensor>& results);
  /// The value of a state at this point of the program: what was assigned last, else what it held before.
  Tensor read(int32_t state, const TensorType&, std::string_view name);
  void assign(int32_t state, const TensorType&, std::string_view name, const Tensor& value);

  void pushScope(std::string_view name);
  void popScope();
  Symbol scope() const { return scopeTree_[scope_].path; }

  const Recording& current() const { return recordings_[number_ & 1]; }
  /// The recorded value of a handle of the current recording, or what is wrong with it.
  StatusOr<Value> valueOf(const Tensor&, std::string_view user, int operand) const;
  /// Whether it is a handle of this session's last recording.
  bool isLast(const Tensor& t) const {
    return t.session_ == session_ && t.recording_ == static_cast<uint16_t>(number_ - 1);
  }
  static Value rawValue(const Tensor& t) { return {t.node_, t.result_}; }
  const TensorType& type(const Tensor&) const;
  const TensorType& type(const Recording& r, Value v) const {
    return operations_.type(operations_[r.nodes[v.node].operation].results[v.result]);
  }
  /// Ends the current recording and starts an empty one.
  void next();
  Tensor poison(Status);

  /// The graph that computes `results` and the recording's assignments, without what neither needs. inputs[i] of the
  /// graph is recorded node inputNodes[i].
  StatusOr<Graph> graph(const Recording&, std::span<const Value> results, std::span<const std::string> stateNames,
                        std::vector<int32_t>& inputNodes) const;
  Operations& operations() { return operations_; }
  const Operations& operations() const { return operations_; }

private:
  Recording& recording() { return recordings_[number_ & 1]; }
  Tensor handle(int32_t node, int result) const {
    return {session_, node, static_cast<int16_t>(result), static_cast<uint16_t>(number_)};
  }
  /// Appends operands_ as a node.
  int32_t append(int32_t operation, int32_t slot);
  /// Fills operands_ and types_ from handles; false if one is unusable (and an error was recorded).
  bool gather(Symbol op, std::span<const Tensor> inputs);
  int32_t applyNode(NameSpace, Symbol op, std::span<const Tensor> inputs, const Attributes&);

  struct ScopeNode {
    Symbol path;
    int32_t parent;
    std::vector<std::pair<std::string, int32_t>> children;
  };
  struct StateValue {
    uint64_t number = 0; // recording in which `value` holds; none is 0
    Value value;
  };

  Session* session_;
  std::shared_ptr<const OperatorLibrary> library_;
  Operations operations_;
  Recording recordings_[2];
  uint64_t number_ = 1; // of the current recording; its parity picks the arena
  std::vector<StateValue> states_;
  absl::flat_hash_map<std::pair<uint64_t, TypeId>, StateValue> numbers_; // by bits and type
  std::vector<ScopeNode> scopeTree_{{Symbol(), -1, {}}};
  int32_t scope_ = 0;
  std::vector<Value> operands_; // of the node being made; clear() keeps the memory, which InlinedVector gives back
  std::vector<TypeId> types_;
};

} // namespace tegula
