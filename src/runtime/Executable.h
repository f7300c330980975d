// What a recording becomes: something that runs again and again. A PlanExecutable is a plan on the device, a
// HostExecutable the whole graph on the reference evaluator (only where the session was told to fall back).
#pragma once

#include "graph/Evaluate.h"
#include "graph/Plan.h"
#include "runtime/Context.h"
#include "runtime/Recorder.h"

namespace tegula {

/// Where a graph input's value comes from at every run.
struct InputBinding {
  InputKind kind = InputKind::Data;
  int32_t slot = 0; // number of the data or scalar in the recording, or of the state
  TensorType type;
};

class Executable {
public:
  virtual ~Executable() = default;
  /// Takes data and scalars from the recording, runs, updates states; blocks until done.
  virtual Status run(const Recording&) = 0;
  /// Copies output `i` (row-major) to `destination`. Requires: run() was the last run of the session.
  virtual Status read(int i, void* destination) const = 0;
  virtual const TensorType& outputType(int i) const = 0;
  /// Whether output `i` is read from the buffer of a state, which storing another value there would change.
  virtual bool liesInState(int i, int32_t state) const { return false; }
  virtual const Plan* plan() const { return nullptr; }
  /// Best time of each step, see Session::stepSeconds.
  virtual StatusOr<std::vector<double>> stepSeconds(int repeats) {
    return failed("profile: the host's evaluator has no steps");
  }
};

/// Every argument of every dispatch is resolved when the list is recorded; a run copies inputs, submits one list and
/// waits. It allocates nothing and faults no page.
class PlanExecutable final : public Executable {
public:
  /// Compiles missing kernels and reserves memory. Fails: a kernel that cannot be compiled; memory that does not
  /// suffice.
  static StatusOr<std::unique_ptr<PlanExecutable>> create(Context&, Plan, std::vector<InputBinding>);
  ~PlanExecutable() override;
  Status run(const Recording&) override;
  Status read(int i, void* destination) const override;
  const TensorType& outputType(int i) const override { return plan_.outputs[i]; }
  bool liesInState(int i, int32_t state) const override;
  const Plan* plan() const override { return &plan_; }
  StatusOr<std::vector<double>> stepSeconds(int repeats) override;

private:
  PlanExecutable(Context& context, Plan plan, std::vector<InputBinding> inputs)
      : context_(context), plan_(std::move(plan)), inputs_(std::move(inputs)) {}
  Status layOut();
  Status recordList();
  /// A list of one step waits for nothing else.
  Status appendStep(CommandList&, const PlanStep&, std::span<const int32_t> waits) const;
  tg_binding resolve(const BufferRef&) const;
  Status writeInputs(const Recording&);
  Status runChecked();

  Context& context_;
  Plan plan_;
  std::vector<InputBinding> inputs_;
  std::vector<const Kernel*> kernels_;
  Buffer staging_; // data and scalar inputs, outputs with a place of their own, constants
  std::vector<int64_t> inputOffsets_, outputOffsets_, constantOffsets_;
  CommandList list_;
  uint64_t arenaVersion_ = 0; // for which list_ was recorded
};

/// The whole graph on the reference evaluator.
class HostExecutable : public Executable {
public:
  HostExecutable(Context& context, Graph graph, std::vector<InputBinding> inputs)
      : context_(context), graph_(std::move(graph)), inputs_(std::move(inputs)) {}
  Status run(const Recording&) override;
  Status read(int i, void* destination) const override;
  const TensorType& outputType(int i) const override { return outputs_[i].type(); }

protected:
  virtual StatusOr<EvaluationResult> evaluateGraph(std::span<const HostArray> inputs);
  Context& context_;
  Graph graph_;

private:
  std::vector<InputBinding> inputs_;
  std::vector<HostArray> outputs_;
};

/// For a device that takes no code but has operators of its own (`supports`): those nodes run there, each by itself,
/// with the host between them. An operator it does not support is inlined; primitives that are left run on the
/// reference evaluator where `hostAllowed`. Constants and views are made on the host either way. How a backend starts;
/// not fast.
class OperatorExecutable final : public HostExecutable {
public:
  /// Fails: without `hostAllowed`, what the device does not support, by name.
  static StatusOr<std::unique_ptr<OperatorExecutable>> create(Context&, const Graph&, std::vector<InputBinding>,
                                                              const PrecisionPolicy&, bool hostAllowed);
  ~OperatorExecutable() override;
  int64_t onDevice() const { return onDevice_; }
  int64_t onHost() const { return onHost_; }

private:
  using HostExecutable::HostExecutable;
  StatusOr<EvaluationResult> evaluateGraph(std::span<const HostArray> inputs) override;

  /// A node the device computes: a list of one dispatch over buffers of its own.
  struct DeviceCall {
    std::vector<Buffer> buffers; // operands, then results
    Kernel kernel;
    CommandList list;
  };
  StatusOr<std::unique_ptr<DeviceCall>> prepare(const Node&) const;
  void release(DeviceCall&) const;
  Status runOnDevice(const Node&, const DeviceCall&, std::span<const HostArray> operands,
                     std::vector<HostArray>& results) const;
  StatusOr<std::vector<HostArray>> runOnHost(const Node&, std::span<const HostArray> operands) const;

  std::vector<std::unique_ptr<DeviceCall>> calls_; // one a node; null: on the host
  int64_t onDevice_ = 0, onHost_ = 0;
};

/// Writes one number in type `d` to `destination` (at most 8 bytes), rounded once.
void encodeScalar(double value, DType d, void* destination);

} // namespace tegula
