// The JSON form of a graph, `compute_graph`. Specified in spec/compute-graph.md.
#include "graph/Graph.h"
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace tegula {

namespace {

using Json = nlohmann::ordered_json;
constexpr int kFormat = 1;

// ---- writing

Json valueJson(Value v) {
  if (!v.present()) return nullptr;
  return Json::array({v.node, v.result});
}

struct AttributeWriter {
  Json operator()(std::monostate) const { return nullptr; }
  Json operator()(bool b) const { return b; }
  Json operator()(int64_t i) const { return i; }
  Json operator()(double d) const {
    if (std::isfinite(d)) return d;
    return Json{{"float", std::isnan(d) ? "nan" : d > 0 ? "inf" : "-inf"}};
  }
  Json operator()(const Shape& s) const {
    Json list = Json::array();
    for (int64_t d : s) list.push_back(d);
    return list;
  }
  Json operator()(DType d) const { return Json{{"dtype", std::string(name(d))}}; }
  Json operator()(Symbol s) const { return std::string(s.text()); }
};

std::string_view kindText(Node::Kind k) {
  switch (k) {
  case Node::Kind::Input:
    return "input";
  case Node::Kind::Primitive:
    return "primitive";
  case Node::Kind::Operator:
    return "operator";
  case Node::Kind::Gradient:
    break;
  }
  return "gradient";
}

std::string_view inputKindText(InputKind k) {
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

Json nodeJson(const Node& n, std::string_view inputKind) {
  Json inputs = Json::array(), results = Json::array(), attributes = Json::object();
  for (Value v : n.inputs) inputs.push_back(valueJson(v));
  for (const TensorType& t : n.results) results.push_back(toString(t));
  for (const auto& [key, value] : n.attrs) attributes[std::string(key.text())] = std::visit(AttributeWriter{}, value);
  Json node = {{"kind", std::string(kindText(n.kind))}, {"operation", std::string(n.op.text())}};
  if (n.kind == Node::Kind::Input) node["input_kind"] = std::string(inputKind);
  node["inputs"] = std::move(inputs);
  node["attributes"] = std::move(attributes);
  node["results"] = std::move(results);
  if (!n.scope.empty()) node["scope"] = std::string(n.scope.text());
  return node;
}

// ---- reading

Status wrong(std::string_view where, std::string_view what) { return invalid("compute_graph: {}: {}", where, what); }

StatusOr<const Json*> member(const Json& object, const char* key, std::string_view where) {
  if (!object.is_object()) return wrong(where, "is not an object");
  auto it = object.find(key);
  if (it == object.end()) return wrong(where, fmt::format("has no `{}`", key));
  return &*it;
}

StatusOr<std::string> textMember(const Json& object, const char* key, std::string_view where) {
  TG_ASSIGN_OR_RETURN(const Json* value, member(object, key, where));
  if (!value->is_string()) return wrong(where, fmt::format("`{}` is not a string", key));
  return value->get<std::string>();
}

StatusOr<const Json*> listMember(const Json& object, const char* key, std::string_view where) {
  TG_ASSIGN_OR_RETURN(const Json* value, member(object, key, where));
  if (!value->is_array()) return wrong(where, fmt::format("`{}` is not a list", key));
  return value;
}

StatusOr<TensorType> readType(const std::string& text, std::string_view where) {
  size_t open = text.find('[');
  auto dtype = parseDType(std::string_view(text).substr(0, open));
  if (open == std::string::npos || text.back() != ']' || !dtype)
    return wrong(where, fmt::format("`{}` is not a type such as f32[2,3]", text));
  TensorType type{*dtype, {}};
  std::string_view rest(text.data() + open + 1, text.size() - open - 2);
  while (!rest.empty()) {
    std::string_view digits = rest.substr(0, rest.find(','));
    bool good =
        !digits.empty() && digits.size() < 19 && digits.find_first_not_of("0123456789") == std::string_view::npos;
    if (!good || type.shape.rank() == kMaxRank) return wrong(where, fmt::format("bad shape in `{}`", text));
    type.shape.push_back(std::stoll(std::string(digits)));
    rest.remove_prefix(std::min(rest.size(), digits.size() + 1));
  }
  if (!checkedElements(type.shape, sizeBytes(*dtype))) return wrong(where, fmt::format("`{}` is too large", text));
  return type;
}

StatusOr<Value> readValue(const Json& j, std::string_view where) {
  if (j.is_null()) return Value{};
  if (!j.is_array() || j.size() != 2 || !j[0].is_number_integer() || !j[1].is_number_integer())
    return wrong(where, "a value is not [node, result]");
  int64_t node = j[0].get<int64_t>(), result = j[1].get<int64_t>();
  if (node < 0 || node > INT32_MAX || result < 0 || result > INT32_MAX) return wrong(where, "a value is out of range");
  return Value{static_cast<int32_t>(node), static_cast<int32_t>(result)};
}

StatusOr<Values> readValues(const Json& list, std::string_view where) {
  Values values;
  for (const Json& j : list) {
    TG_ASSIGN_OR_RETURN(Value v, readValue(j, where));
    values.push_back(v);
  }
  return values;
}

StatusOr<AttrValue> readTagged(const Json& j, std::string_view where) {
  if (j.size() == 1 && j.contains("dtype") && j["dtype"].is_string())
    if (auto d = parseDType(j["dtype"].get<std::string>())) return AttrValue(*d);
  if (j.size() == 1 && j.contains("float") && j["float"].is_string()) {
    std::string text = j["float"].get<std::string>();
    if (text == "inf") return AttrValue(INFINITY);
    if (text == "-inf") return AttrValue(-INFINITY);
    if (text == "nan") return AttrValue(double(NAN));
  }
  return wrong(where, fmt::format("attribute value {} is not known", j.dump()));
}

StatusOr<AttrValue> readAttribute(const Json& j, std::string_view where) {
  if (j.is_null()) return AttrValue();
  if (j.is_boolean()) return AttrValue(j.get<bool>());
  if (j.is_number_integer()) return AttrValue(j.get<int64_t>());
  if (j.is_number_float()) return AttrValue(j.get<double>());
  if (j.is_string()) return AttrValue(Symbol(std::string_view(j.get_ref<const std::string&>())));
  if (j.is_object()) return readTagged(j, where);
  if (j.size() > static_cast<size_t>(kMaxRank))
    return wrong(where, "an attribute list is longer than the largest rank");
  Shape list;
  for (const Json& item : j) {
    if (!item.is_number_integer()) return wrong(where, "an attribute list holds something that is not an integer");
    list.push_back(item.get<int64_t>());
  }
  return AttrValue(list);
}

Status readInputNode(const Json& j, const std::string& operation, Graph& g, std::string_view where) {
  TG_ASSIGN_OR_RETURN(std::string kind, textMember(j, "input_kind", where));
  TG_ASSIGN_OR_RETURN(const Json* results, listMember(j, "results", where));
  if (results->size() != 1 || !(*results)[0].is_string()) return wrong(where, "an input has one result type");
  TG_ASSIGN_OR_RETURN(TensorType type, readType((*results)[0].get<std::string>(), where));
  for (InputKind k : {InputKind::Data, InputKind::Scalar, InputKind::State})
    if (kind == inputKindText(k)) {
      g.addInput(Symbol(std::string_view(operation)), type, k);
      return OkStatus();
    }
  return wrong(where, fmt::format("`input_kind` is `{}`, but data, scalar or state was expected", kind));
}

Status readNode(const Json& j, Graph& g, std::string_view where) {
  TG_ASSIGN_OR_RETURN(std::string kind, textMember(j, "kind", where));
  TG_ASSIGN_OR_RETURN(std::string operation, textMember(j, "operation", where));
  if (kind == "input") return readInputNode(j, operation, g, where);
  TG_ASSIGN_OR_RETURN(const Json* inputList, listMember(j, "inputs", where));
  TG_ASSIGN_OR_RETURN(Values inputs, readValues(*inputList, where));
  TG_ASSIGN_OR_RETURN(const Json* attributes, member(j, "attributes", where));
  if (!attributes->is_object()) return wrong(where, "`attributes` is not an object");
  Attributes attrs;
  for (const auto& [key, value] : attributes->items()) {
    TG_ASSIGN_OR_RETURN(AttrValue a, readAttribute(value, where));
    attrs.set(Symbol(std::string_view(key)), a);
  }
  Symbol op{std::string_view(operation)}, scope;
  if (j.contains("scope") && j["scope"].is_string())
    scope = Symbol(std::string_view(j["scope"].get_ref<const std::string&>()));
  StatusOr<Values> results = wrong(where, fmt::format("`kind` is `{}`, which is not known", kind));
  if (kind == "primitive") results = g.addPrimitive(op, inputs, attrs, scope);
  if (kind == "operator") results = g.addOperator(op, inputs, attrs, scope);
  if (kind == "gradient") {
    if (inputs.empty()) return wrong(where, "a gradient has no loss");
    results = g.addGradient(inputs[0], std::span(inputs).subspan(1));
  }
  if (!results.ok()) return addContext(results.status(), where);
  TG_ASSIGN_OR_RETURN(const Json* stated, listMember(j, "results", where));
  if (stated->size() != results->size())
    return wrong(where, "the number of results differs from what the operation gives");
  for (size_t r = 0; r < results->size(); ++r)
    if (std::string found = toString(g.typeOf((*results)[r])); !(*stated)[r].is_string() || (*stated)[r] != found)
      return wrong(where,
                   fmt::format("result {} is stated as {} but the operation gives {}", r, (*stated)[r].dump(), found));
  return OkStatus();
}

Status readEnds(const Json& body, Graph& g) {
  TG_ASSIGN_OR_RETURN(const Json* outputs, listMember(body, "outputs", "graph"));
  TG_ASSIGN_OR_RETURN(Values values, readValues(*outputs, "outputs"));
  g.outputs().assign(values.begin(), values.end());
  TG_ASSIGN_OR_RETURN(const Json* assigns, listMember(body, "assigns", "graph"));
  for (const Json& a : *assigns) {
    TG_ASSIGN_OR_RETURN(const Json* input, member(a, "input", "assigns"));
    TG_ASSIGN_OR_RETURN(const Json* value, member(a, "value", "assigns"));
    if (!input->is_number_integer()) return wrong("assigns", "`input` is not an integer");
    if (input->get<int64_t>() < 0 || input->get<int64_t>() > std::numeric_limits<int32_t>::max())
      return wrong("assigns", "`input` is not the number of an input");
    TG_ASSIGN_OR_RETURN(Value v, readValue(*value, "assigns"));
    g.assigns().push_back({input->get<int32_t>(), v});
  }
  return OkStatus();
}

} // namespace

std::string toJson(const Graph& g) {
  std::vector<std::string_view> inputKinds(g.nodes().size());
  for (const Graph::Input& in : g.inputs()) inputKinds[in.node] = inputKindText(in.kind);
  Json nodes = Json::array(), outputs = Json::array(), assigns = Json::array();
  for (size_t i = 0; i < g.nodes().size(); ++i) nodes.push_back(nodeJson(g.nodes()[i], inputKinds[i]));
  for (Value v : g.outputs()) outputs.push_back(valueJson(v));
  for (const Graph::Assign& a : g.assigns()) assigns.push_back({{"input", a.input}, {"value", valueJson(a.value)}});
  Json body = {{"format", kFormat},
               {"nodes", std::move(nodes)},
               {"outputs", std::move(outputs)},
               {"assigns", std::move(assigns)}};
  return Json{{"compute_graph", std::move(body)}}.dump(1);
}

StatusOr<Graph> graphFromJson(std::string_view text, std::shared_ptr<const OperatorLibrary> library) {
  Json root = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (root.is_discarded()) return invalid("compute_graph: the text is not JSON");
  TG_ASSIGN_OR_RETURN(const Json* body, member(root, "compute_graph", "file"));
  TG_ASSIGN_OR_RETURN(const Json* format, member(*body, "format", "graph"));
  if (*format != kFormat)
    return invalid("compute_graph: format {} was found, this build reads {}", format->dump(), kFormat);
  TG_ASSIGN_OR_RETURN(const Json* nodes, listMember(*body, "nodes", "graph"));
  Graph g(std::move(library));
  for (size_t i = 0; i < nodes->size(); ++i) TG_RETURN_IF_ERROR(readNode((*nodes)[i], g, fmt::format("node {}", i)));
  TG_RETURN_IF_ERROR(readEnds(*body, g));
  TG_RETURN_IF_ERROR(g.verify());
  return g;
}

} // namespace tegula
