// Operator calls and their gradients as graphs, and the reference evaluator's answer to them.
#include "verify/Operation.h"

#include "graph/Emit.h"
#include "verify/Problem.h"

namespace tegula {
namespace {

struct Call {
  Values inputs, results;
};

TensorType statedType(const HostArray& a, Precision precision) {
  bool narrow = precision == Precision::Wide && a.dtype() == DType::F64;
  return {narrow ? DType::F32 : a.dtype(), a.shape()};
}

/// Weights of a result. Wide, the arrays are f64 whatever the result states.
TensorType upstreamType(const HostArray& a, DType result, Precision precision) {
  return {precision == Precision::Wide ? result : a.dtype(), a.shape()};
}

StatusOr<Call> addCall(Graph& g, Symbol op, std::span<const HostArray> inputs, const Attributes& attributes,
                       const CallSignature& signature, Precision precision, std::span<const DType> stated) {
  Call call;
  for (size_t i = 0; i < inputs.size(); ++i) {
    call.inputs.emplace_back();
    if (!isPresent(inputs[i])) continue;
    TensorType type = statedType(inputs[i], precision);
    if (!stated.empty()) type.dtype = stated[i];
    call.inputs.back() = g.addInput(Symbol(fmt::format("in{}", i)), type);
  }
  if (signature.isPrimitive) {
    TG_ASSIGN_OR_RETURN(call.results, g.addPrimitive(op, call.inputs, attributes));
  } else {
    TG_ASSIGN_OR_RETURN(Attributes complete, g.library().completeAttributes(op, attributes));
    TG_ASSIGN_OR_RETURN(call.results, g.addOperator(op, call.inputs, complete));
  }
  call.results.resize(static_cast<size_t>(signature.results)); // without residuals
  return call;
}

/// Which declared input each array belongs to: a variadic input takes what the others leave.
bool isDifferentiable(const CallSignature& signature, size_t index, size_t count) {
  size_t at = 0;
  for (const CallSignature::Input& input : signature.inputs) {
    size_t taken = input.variadic ? count + 1 - signature.inputs.size() : 1;
    if (index < at + taken) return input.differentiable;
    at += taken;
  }
  return false;
}

} // namespace

std::vector<HostArray> presentOnly(std::span<const HostArray> first, std::span<const HostArray> second) {
  std::vector<HostArray> present;
  for (std::span<const HostArray> part : {first, second})
    for (const HostArray& a : part)
      if (isPresent(a)) present.push_back(a);
  return present;
}

StatusOr<Graph> forwardGraph(std::shared_ptr<const OperatorLibrary> library, Symbol op,
                             std::span<const HostArray> inputs, const Attributes& attributes, Precision precision,
                             std::span<const DType> stated) {
  TG_ASSIGN_OR_RETURN(CallSignature signature, signatureOf(op, *library));
  Graph g(std::move(library));
  TG_ASSIGN_OR_RETURN(Call call, addCall(g, op, inputs, attributes, signature, precision, stated));
  g.outputs().assign(call.results.begin(), call.results.end());
  return g;
}

StatusOr<Graph> gradientGraph(std::shared_ptr<const OperatorLibrary> library, Symbol op,
                              std::span<const HostArray> inputs, const Attributes& attributes,
                              std::span<const HostArray> upstream, std::vector<size_t>& wrt, Precision precision,
                              std::span<const DType> stated) {
  TG_ASSIGN_OR_RETURN(CallSignature signature, signatureOf(op, *library));
  Graph g(std::move(library));
  TG_ASSIGN_OR_RETURN(Call call, addCall(g, op, inputs, attributes, signature, precision, stated));
  Values seeds;
  for (size_t r = 0; r < upstream.size(); ++r)
    seeds.push_back(isPresent(upstream[r])
                        ? g.addInput(Symbol(fmt::format("upstream{}", r)),
                                     upstreamType(upstream[r], g.typeOf(call.results[r]).dtype, precision))
                        : Value{});
  Emit emit(g);
  Value loss;
  for (size_t r = 0; r < upstream.size(); ++r) {
    if (!seeds[r].present()) continue;
    Value weighted = emit.mul(call.results[r], seeds[r]);
    TG_RETURN_IF_ERROR(emit.status());
    Value sum = emit.reduceSum(weighted, countingShape(emit.shapeOf(weighted).rank()));
    // Results of several types: only the derivative of the loss counts, which a cast passes on.
    loss = loss.present() ? emit.add(loss, emit.cast(sum, emit.dtypeOf(loss))) : sum;
  }
  TG_RETURN_IF_ERROR(emit.status());
  if (!loss.present()) return invalid("{}: no result has an upstream gradient", op.text());
  wrt.clear();
  Values differentiated;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (isPresent(inputs[i]) && isFloat(inputs[i].dtype()) && isDifferentiable(signature, i, inputs.size())) {
      wrt.push_back(i);
      differentiated.push_back(call.inputs[i]);
    }
  if (wrt.empty()) return invalid("{}: no input is differentiable", op.text());
  TG_ASSIGN_OR_RETURN(Values gradients, g.addGradient(loss, differentiated));
  g.outputs().assign(gradients.begin(), gradients.end());
  return g;
}

OperationUnderTest referenceOperation(std::shared_ptr<const OperatorLibrary> library, Precision precision,
                                      std::vector<DType> stated) {
  OperationUnderTest reference;
  reference.forward = [library, precision, stated](Symbol op, std::span<const HostArray> inputs,
                                                   const Attributes& attributes) -> StatusOr<std::vector<HostArray>> {
    TG_ASSIGN_OR_RETURN(Graph g, forwardGraph(library, op, inputs, attributes, precision, stated));
    TG_ASSIGN_OR_RETURN(EvaluationResult result, evaluate(g, presentOnly(inputs), precision));
    return std::move(result.outputs);
  };
  reference.gradient = [library, precision,
                        stated](Symbol op, std::span<const HostArray> inputs, const Attributes& attributes,
                                std::span<const HostArray> upstream) -> StatusOr<std::vector<HostArray>> {
    std::vector<size_t> wrt;
    TG_ASSIGN_OR_RETURN(Graph g, gradientGraph(library, op, inputs, attributes, upstream, wrt, precision, stated));
    TG_ASSIGN_OR_RETURN(EvaluationResult result, evaluate(g, presentOnly(inputs, upstream), precision));
    std::vector<HostArray> gradients(inputs.size());
    for (size_t k = 0; k < wrt.size(); ++k) gradients[wrt[k]] = result.outputs[k];
    return gradients;
  };
  return reference;
}

} // namespace tegula
