// Inlined bodies and what they tell.
#include "graph/passes/Body.h"
#include "graph/Emit.h"
#include "primitives/InferRules.h"

namespace tegula {

StatusOr<Graph> bodyOf(const Graph& g, const Node& node) {
  Graph body(g.libraryPtr());
  Values inputs;
  for (size_t i = 0; i < node.inputs.size(); ++i)
    inputs.push_back(node.inputs[i].present() ? body.addInput(node.op, g.typeOf(node.inputs[i])) : Value{});
  FlatteningBuilder builder(body, node.scope);
  TG_ASSIGN_OR_RETURN(Values results, g.library().instantiate(node.op, inputs, node.attrs, builder));
  body.outputs().assign(results.begin(), results.end());
  return body;
}

std::vector<bool> productOperands(const Graph& body) {
  static const Symbol kCast = "cast";
  size_t n = body.nodes().size();
  std::vector<bool> multiplied(n, false), results;
  for (int32_t i = static_cast<int32_t>(n) - 1; i >= 0; --i) {
    const Node& node = body.node(i);
    if (node.kind != Node::Kind::Primitive) continue;
    PrimitiveKind kind = findPrimitive(node.op)->kind;
    bool passesOn = kind == PrimitiveKind::View || kind == PrimitiveKind::Broadcast || node.op == kCast;
    if (kind == PrimitiveKind::Contract || (passesOn && multiplied[i]))
      for (Value v : node.inputs) multiplied[v.node] = true;
  }
  for (const Graph::Input& in : body.inputs()) results.push_back(multiplied[in.node]);
  return results;
}

namespace {

double contractFlops(const Graph& g, const Node& n) {
  double flops = 2.0 * static_cast<double>(n.results[0].shape.elements());
  const Shape& a = g.typeOf(n.inputs[0]).shape;
  for (int64_t axis : n.attrs.getInts(attr::contractA)) flops *= static_cast<double>(a[static_cast<int>(axis)]);
  return flops;
}

double convolutionFlops(const Graph& g, const Node& n) {
  const Shape& w = g.typeOf(n.inputs[1]).shape;
  double perOutput = w[0] ? static_cast<double>(w.elements()) / static_cast<double>(w[0]) : 0;
  return 2.0 * perOutput * static_cast<double>(n.results[0].shape.elements());
}

} // namespace

double productFlops(const Graph& body) {
  static const Symbol kContract = "contract";
  double flops = 0;
  for (const Node& n : body.nodes())
    if (n.kind == Node::Kind::Primitive && findPrimitive(n.op)->kind == PrimitiveKind::Contract)
      flops += n.op == kContract ? contractFlops(body, n) : convolutionFlops(body, n);
  return flops;
}

} // namespace tegula
