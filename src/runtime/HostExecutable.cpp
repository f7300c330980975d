// The honest fallback: inputs to host arrays, the reference evaluator, states written back.
#include "runtime/Executable.h"

#include <cstring>

namespace tegula {

Status HostExecutable::run(const Recording& r) {
  std::vector<HostArray> inputs;
  for (const InputBinding& in : inputs_) {
    switch (in.kind) {
    case InputKind::Data:
      inputs.push_back(r.data[in.slot]);
      break;
    case InputKind::Scalar:
      inputs.push_back(HostArray::scalar(in.type.dtype, r.scalars[in.slot].first));
      break;
    case InputKind::State: {
      HostArray value(in.type);
      TG_RETURN_IF_ERROR(context_.states[in.slot].buffer.read(0, value.data(), in.type.sizeBytes()));
      inputs.push_back(std::move(value));
      break;
    }
    }
  }
  TG_ASSIGN_OR_RETURN(EvaluationResult result, evaluateGraph(inputs));
  for (size_t i = 0; i < graph_.assigns().size(); ++i) {
    HostArray value = result.assigned[i].contiguous();
    const State& state = context_.states[inputs_[graph_.assigns()[i].input].slot];
    TG_RETURN_IF_ERROR(state.buffer.write(0, value.data(), state.type.sizeBytes()));
  }
  outputs_.clear();
  for (HostArray& o : result.outputs) outputs_.push_back(o.clone()); // it may be the caller's array
  return OkStatus();
}

StatusOr<EvaluationResult> HostExecutable::evaluateGraph(std::span<const HostArray> inputs) {
  return tegula::evaluate(graph_, inputs);
}

Status HostExecutable::read(int i, void* destination) const {
  if (int64_t bytes = outputs_[i].type().sizeBytes()) std::memcpy(destination, outputs_[i].data(), bytes);
  return OkStatus();
}

} // namespace tegula
