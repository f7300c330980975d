// Node by node: the device's own operators where it supports them, the reference evaluator elsewhere.
#include "runtime/Executable.h"

#include "graph/layout/StridedView.h"
#include "graph/passes/Passes.h"
#include <algorithm>
#include <fmt/ranges.h>
#include <iterator>
#include <set>

namespace tegula {
namespace {

/// A node as the interface states it: operands, then results, all row-major.
class NodeProblem {
public:
  NodeProblem(const Graph& g, const Node& n) : op_(n.op.text()), attributes_(toString(n.attrs)) {
    for (Value v : n.inputs)
      if (v.present()) types_.push_back(g.typeOf(v));
    types_.insert(types_.end(), n.results.begin(), n.results.end());
    for (const TensorType& t : types_) strides_.push_back(rowMajorStrides(t.shape));
    for (size_t i = 0; i < types_.size(); ++i)
      operands_.push_back(
          {toInterface(types_[i].dtype), types_[i].shape.rank(), types_[i].shape.begin(), strides_[i].begin()});
    problem_.size = sizeof(problem_);
    problem_.op = op_.c_str();
    problem_.attributes = attributes_.c_str();
    problem_.operands = operands_.data();
    problem_.operand_count = static_cast<int32_t>(operands_.size());
    problem_.result_count = static_cast<int32_t>(n.results.size());
  }
  NodeProblem(const NodeProblem&) = delete;
  const tg_problem& problem() const { return problem_; }
  const std::vector<TensorType>& types() const { return types_; }
  /// "softmax(f32[4,1000], axis=-1)"
  std::string text() const {
    std::string out = op_ + "(";
    for (size_t i = 0; i + problem_.result_count < types_.size(); ++i) out += (i ? ", " : "") + toString(types_[i]);
    return out + (attributes_.empty() ? "" : ", " + attributes_) + ")";
  }

private:
  std::string op_, attributes_;
  std::vector<TensorType> types_;
  std::vector<Shape> strides_;
  std::vector<tg_tensor> operands_;
  tg_problem problem_{};
};

bool deviceSupports(const Device& device, const Graph& g, const Node& n) {
  for (Value v : n.inputs)
    if (!v.present()) return false; // the interface has no absent operands
  return device.supports(NodeProblem(g, n).problem());
}

/// Data that the host only lays out: nothing is computed.
bool computesNothing(const Node& n) {
  static const Symbol constant("constant");
  return n.kind == Node::Kind::Input || n.op == constant || isView(n);
}

/// The graph in terms of what the device supports, as far as inlining gets there.
StatusOr<Graph> lower(const Device& device, const Graph& recorded, const PrecisionPolicy& precision) {
  TG_ASSIGN_OR_RETURN(Graph g, differentiate(recorded)); // a gradient is no node that anybody computes
  TG_ASSIGN_OR_RETURN(g, applyPrecision(g, precision));
  TG_ASSIGN_OR_RETURN(g, decompose(g, [&](const Graph& in, const Node& n) { return deviceSupports(device, in, n); }));
  TG_ASSIGN_OR_RETURN(g, simplify(g));
  TG_ASSIGN_OR_RETURN(g, mergeCommonSubexpressions(g));
  return removeDeadCode(g);
}

constexpr size_t kMostNamed = 4;

} // namespace

StatusOr<std::unique_ptr<OperatorExecutable>> OperatorExecutable::create(Context& context, const Graph& recorded,
                                                                         std::vector<InputBinding> inputs,
                                                                         const PrecisionPolicy& precision,
                                                                         bool hostAllowed) {
  const Device& device = *context.device;
  TG_ASSIGN_OR_RETURN(Graph graph, lower(device, recorded, precision));
  std::vector<bool> onDevice;
  std::set<std::string> missing;
  int64_t onHost = 0;
  for (const Node& n : graph.nodes()) {
    onDevice.push_back(n.kind != Node::Kind::Input && deviceSupports(device, graph, n));
    if (onDevice.back() || computesNothing(n)) continue;
    ++onHost;
    missing.insert(NodeProblem(graph, n).text());
  }
  if (!missing.empty() && !hostAllowed) {
    std::vector<std::string> named(missing.begin(), std::next(missing.begin(), std::min(missing.size(), kMostNamed)));
    return unsupported("device {}: it does not support {}{}: run with fallback = \"host\" or choose another device",
                       device.backend().name(), fmt::join(named, ", "),
                       missing.size() > kMostNamed ? fmt::format(" and {} more", missing.size() - kMostNamed) : "");
  }
  std::unique_ptr<OperatorExecutable> e(new OperatorExecutable(context, std::move(graph), std::move(inputs)));
  e->onHost_ = onHost;
  for (size_t i = 0; i < onDevice.size(); ++i) {
    e->calls_.push_back(nullptr);
    if (!onDevice[i]) continue;
    TG_ASSIGN_OR_RETURN(e->calls_.back(), e->prepare(e->graph_.nodes()[i]));
    ++e->onDevice_;
  }
  return e;
}

OperatorExecutable::~OperatorExecutable() {
  for (auto& call : calls_)
    if (call) release(*call);
}

void OperatorExecutable::release(DeviceCall& call) const {
  call.list = CommandList(); // before what it uses
  for (Buffer& buffer : call.buffers) context_.release(buffer);
}

StatusOr<std::unique_ptr<OperatorExecutable::DeviceCall>> OperatorExecutable::prepare(const Node& n) const {
  NodeProblem p(graph_, n);
  const Device& device = *context_.device;
  auto call = std::make_unique<DeviceCall>();
  int64_t scratchBytes = 0;
  TG_ASSIGN_OR_RETURN(call->kernel, device.loadOperator(p.problem(), scratchBytes));
  std::vector<tg_binding> bindings;
  Status status;
  for (const TensorType& t : p.types()) {
    auto buffer = context_.allocate(t.sizeBytes(), p.text());
    status = buffer.status();
    if (!status.ok()) break;
    bindings.push_back({buffer->handle(), 0});
    call->buffers.push_back(std::move(*buffer));
  }
  auto record = [&]() -> Status {
    TG_ASSIGN_OR_RETURN(call->list, device.createList());
    tg_segment segment{bindings.data(), nullptr, static_cast<int32_t>(bindings.size()), 0, 1};
    tg_dispatch d{};
    d.size = sizeof(d);
    d.kernel = call->kernel.handle();
    d.segments = &segment;
    d.segment_count = 1;
    d.scratch_bytes = scratchBytes;
    d.label = p.problem().op;
    TG_RETURN_IF_ERROR(call->list.append(d));
    return call->list.finish();
  };
  if (status.ok()) status = record();
  if (status.ok()) return call;
  release(*call);
  return addContext(status, p.text());
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
