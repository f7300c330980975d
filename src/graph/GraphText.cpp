// One line a node, for people: `%7 = add(%3, %5.1) {axis=1} : f32[2,3]  # layers.0`.
#include "graph/Graph.h"

namespace tegula {

namespace {

std::string reference(Value v) {
  if (!v.present()) return "_";
  return v.result == 0 ? fmt::format("%{}", v.node) : fmt::format("%{}.{}", v.node, v.result);
}

std::string_view kindName(InputKind k) {
  switch (k) {
  case InputKind::Data:
    return "data";
  case InputKind::Scalar:
    return "scalar";
  case InputKind::State:
    break;
  }
  return "state";
}

std::string list(std::span<const Value> values) {
  std::string text;
  for (Value v : values) text += (text.empty() ? "" : ", ") + reference(v);
  return text;
}

} // namespace

std::string toText(const Graph& g) {
  std::vector<std::string_view> kinds(g.nodes().size());
  for (const Graph::Input& in : g.inputs()) kinds[in.node] = kindName(in.kind);
  std::string text;
  for (int32_t i = 0; i < static_cast<int32_t>(g.nodes().size()); ++i) {
    const Node& n = g.node(i);
    std::string types;
    for (const TensorType& t : n.results) types += (types.empty() ? "" : ", ") + toString(t);
    if (n.kind == Node::Kind::Input) {
      text += fmt::format("%{} = input {} `{}` : {}\n", i, kinds[i], n.op.text(), types);
      continue;
    }
    text += fmt::format("%{} = {}({})", i, n.op.text(), list(n.inputs));
    if (!n.attrs.empty()) text += fmt::format(" {{{}}}", toString(n.attrs));
    text += " : " + types;
    if (!n.scope.empty()) text += fmt::format("  # {}", n.scope.text());
    text += '\n';
  }
  for (const Graph::Assign& a : g.assigns())
    text += fmt::format("assign `{}` = {}\n", g.node(g.inputs()[a.input].node).op.text(), reference(a.value));
  text += fmt::format("return {}\n", list(g.outputs()));
  return text;
}

} // namespace tegula
