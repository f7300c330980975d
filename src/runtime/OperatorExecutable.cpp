// Node by node: the device's own operators where it supports them, the reference evaluator elsewhere.
#include "runtime/Executable.h"

#include "graph/passes/Passes.h"

namespace tegula {
namespace {

/// The types a device call sees: operands, then results, all row-major.
std::vector<TensorType> operandTypes(const Graph& g, const Node& n) {
  std::vector<TensorType> types;
  for (Value v : n.inputs) types.push_back(g.typeOf(v));
  types.insert(types.end(), n.results.begin(), n.results.end());
  return types;
}

bool hasAbsentOperand(const Node& n) {
  for (Value v : n.inputs)
    if (!v.present()) return true;
  return false;
}

} // namespace

StatusOr<std::unique_ptr<OperatorExecutable>> OperatorExecutable::create(Context& context, const Graph& recorded,
                                                                         std::vector<InputBinding> inputs) {
  TG_ASSIGN_OR_RETURN(Graph graph, differentiate(recorded)); // a gradient is no node that anybody computes
  std::unique_ptr<OperatorExecutable> e(new OperatorExecutable(context, std::move(graph), std::move(inputs)));
  for (const Node& n : e->graph_.nodes()) {
    std::unique_ptr<DeviceCall> call;
    if (n.kind != Node::Kind::Input && !hasAbsentOperand(n)) {
      TG_ASSIGN_OR_RETURN(call, e->prepare(n));
    }
    if (n.kind != Node::Kind::Input) ++(call ? e->onDevice_ : e->onHost_);
    e->calls_.push_back(std::move(call));
  }
  return e;
}

StatusOr<std::unique_ptr<OperatorExecutable::DeviceCall>> OperatorExecutable::prepare(const Node& n) const {
  std::vector<TensorType> types = operandTypes(graph_, n);
  std::vector<Shape> strides;
  for (const TensorType& t : types) strides.push_back(rowMajorStrides(t.shape));
  std::vector<tg_tensor> operands;
  for (size_t i = 0; i < types.size(); ++i)
    operands.push_back(
        {toInterface(types[i].dtype), types[i].shape.rank(), types[i].shape.begin(), strides[i].begin()});
  std::string op(n.op.text()), attributes = toString(n.attrs);
  tg_problem problem{};
  problem.size = sizeof(problem);
  problem.op = op.c_str();
  problem.attributes = attributes.c_str();
  problem.operands = operands.data();
  problem.operand_count = static_cast<int32_t>(operands.size());
  problem.result_count = static_cast<int32_t>(n.results.size());
  const Device& device = *context_.device;
  if (!device.supports(problem)) return std::unique_ptr<DeviceCall>();

  auto call = std::make_unique<DeviceCall>();
  int64_t scratchBytes = 0;
  TG_ASSIGN_OR_RETURN(call->kernel, device.loadOperator(problem, scratchBytes));
  std::vector<tg_binding> bindings;
  for (const TensorType& t : types) {
    TG_ASSIGN_OR_RETURN(Buffer buffer, device.allocate(t.sizeBytes()));
    bindings.push_back({buffer.handle(), 0});
    call->buffers.push_back(std::move(buffer));
  }
  TG_ASSIGN_OR_RETURN(call->list, device.createList());
  tg_segment segment{bindings.data(), nullptr, static_cast<int32_t>(bindings.size()), 0, 1};
  tg_dispatch d{};
  d.size = sizeof(d);
  d.kernel = call->kernel.handle();
  d.segments = &segment;
  d.segment_count = 1;
  d.scratch_bytes = scratchBytes;
  d.label = op.c_str();
  TG_RETURN_IF_ERROR(call->list.append(d));
  TG_RETURN_IF_ERROR(call->list.finish());
  return call;
}

Status OperatorExecutable::runOnDevice(const Node& n, const DeviceCall& call, std::span<const HostArray> operands,
                                       std::vector<HostArray>& results) const {
  for (size_t i = 0; i < operands.size(); ++i) {
    HostArray value = operands[i].contiguous();
    TG_RETURN_IF_ERROR(call.buffers[i].write(0, value.data(), value.type().sizeBytes()));
  }
  TG_RETURN_IF_ERROR(context_.queue.execute(call.list));
  TG_RETURN_IF_ERROR(context_.queue.wait());
  for (size_t i = 0; i < n.results.size(); ++i) {
    HostArray value(n.results[i]);
    TG_RETURN_IF_ERROR(call.buffers[operands.size() + i].read(0, value.data(), value.type().sizeBytes()));
    results.push_back(std::move(value));
  }
  return OkStatus();
}

/// A graph of this one node, evaluated.
StatusOr<std::vector<HostArray>> OperatorExecutable::runOnHost(const Node& n,
                                                               std::span<const HostArray> operands) const {
  Graph one(graph_.libraryPtr());
  Node copy = n;
  std::vector<HostArray> present;
  for (size_t i = 0; i < n.inputs.size(); ++i) {
    if (!n.inputs[i].present()) continue;
    copy.inputs[i] = one.addInput(Symbol(fmt::format("operand{}", i)), operands[i].type());
    present.push_back(operands[i]);
  }
  int32_t node = one.append(std::move(copy));
  for (size_t i = 0; i < n.results.size(); ++i) one.outputs().push_back({node, static_cast<int32_t>(i)});
  TG_ASSIGN_OR_RETURN(EvaluationResult result, tegula::evaluate(one, present));
  return std::move(result.outputs);
}

StatusOr<EvaluationResult> OperatorExecutable::evaluateGraph(std::span<const HostArray> inputs) {
  std::vector<std::vector<HostArray>> values(graph_.nodes().size());
  for (size_t i = 0; i < inputs.size(); ++i) values[graph_.inputs()[i].node] = {inputs[i]};
  for (size_t i = 0; i < graph_.nodes().size(); ++i) {
    const Node& n = graph_.nodes()[i];
    if (n.kind == Node::Kind::Input) continue;
    std::vector<HostArray> operands;
    for (Value v : n.inputs) operands.push_back(v.present() ? values[v.node][v.result] : HostArray());
    if (calls_[i]) {
      TG_RETURN_IF_ERROR(runOnDevice(n, *calls_[i], operands, values[i]));
    } else {
      TG_ASSIGN_OR_RETURN(values[i], runOnHost(n, operands));
    }
  }
  EvaluationResult result;
  for (Value v : graph_.outputs()) result.outputs.push_back(values[v.node][v.result]);
  for (const Graph::Assign& a : graph_.assigns()) result.assigned.push_back(values[a.value.node][a.value.result]);
  return result;
}

} // namespace tegula
