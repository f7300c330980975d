// Recording nodes. The hash is a chain over everything that was appended, so the key of a recording is ready when it
// ends.
#include "runtime/Recorder.h"

#include "tensor/Element.h"
#include <bit>
#include <cassert>

namespace tegula {
namespace {

constexpr int32_t kPoisoned = -2; // node number of a handle that carries an error

uint64_t mix(uint64_t h, uint64_t x) {
  __uint128_t product = static_cast<__uint128_t>(h ^ x) * 0x9e3779b97f4a7c15ull;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}
uint64_t pack(int32_t a, int32_t b) { return uint64_t(uint32_t(a)) << 32 | uint32_t(b); }

const TensorType kPoisonedType{DType::F32, {}};

} // namespace

void Recording::clear() {
  nodes.clear();
  operands.clear();
  assigns.clear();
  scopes.clear();
  data.clear();
  scalars.clear();
  hash = 0x243f6a8885a308d3ull;
  error = OkStatus();
}

int32_t Recorder::append(int32_t operation, int32_t slot) {
  Recording& r = recording();
  RecordedNode node{operation, static_cast<int32_t>(r.operands.size()), static_cast<int32_t>(operands_.size()), slot};
  uint64_t h = mix(mix(r.hash, pack(operation, slot)), operands_.size());
  for (Value v : operands_) {
    h = mix(h, pack(v.node, v.result));
    r.operands.push_back(v);
  }
  r.hash = h;
  r.nodes.push_back(node);
  r.scopes.push_back(scope());
  return static_cast<int32_t>(r.nodes.size()) - 1;
}

Tensor Recorder::poison(Status error) {
  Recording& r = recording();
  if (r.error.ok()) {
    std::string_view where = scope().text();
    r.error = where.empty() ? std::move(error) : addContext(error, where);
  }
  return handle(kPoisoned, 0);
}

Tensor Recorder::data(const HostArray& array) {
  operands_.clear();
  Recording& r = recording();
  int32_t slot = static_cast<int32_t>(r.data.size());
  r.data.push_back(array);
  return handle(append(operations_.input(InputKind::Data, operations_.typeId(array.type())), slot), 0);
}

namespace {

/// Whether the type has such an element. Floats round, and any number is true or false.
bool holds(DType d, double value) {
  constexpr double kPastI64 = 0x1p63;
  return !isInteger(d) || (roundedTo(d, value) == value && value < kPastI64);
}

} // namespace

Tensor Recorder::number(double value, DType dtype) {
  static const Symbol constant("constant"), valueName("value"), dtypeName("dtype");
  if (!holds(dtype, value)) return poison(invalid("constant: {} has no element {}", name(dtype), value));
  AttrValue attribute = value;
  if (dtype == DType::Bool)
    attribute = value != 0;
  else if (isInteger(dtype))
    attribute = static_cast<int64_t>(value);
  return apply(NameSpace::Primitives, constant, {}, {{valueName, attribute}, {dtypeName, dtype}});
}

Tensor Recorder::scalar(double value, DType dtype) {
  if (!holds(dtype, value)) return poison(invalid("scalar: {} has no element {}", name(dtype), value));
  operands_.clear();
  Recording& r = recording();
  int32_t slot = static_cast<int32_t>(r.scalars.size());
  r.scalars.emplace_back(value, dtype);
  return handle(append(operations_.input(InputKind::Scalar, operations_.typeId({dtype, {}})), slot), 0);
}

StatusOr<Value> Recorder::valueOf(const Tensor& t, std::string_view user, int operand) const {
  if (!t.present()) return invalid("{}: operand {} is absent", user, operand);
  if (t.session_ != session_) return invalid("{}: operand {} belongs to another session", user, operand);
  if (t.node_ == kPoisoned) return invalid("{}: operand {} carries an earlier error", user, operand);
  if (t.recording_ != static_cast<uint16_t>(number_))
    return invalid("{}: operand {} was recorded before the last evaluate(): record it again, or read its value and "
                   "give it as input",
                   user, operand);
  return rawValue(t);
}

bool Recorder::gather(Symbol op, std::span<const Tensor> inputs) {
  operands_.clear();
  types_.clear();
  const Recording& r = recording();
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& t = inputs[i];
    if (!t.present()) {
      operands_.push_back(Value{});
      types_.push_back(kAbsentType);
      continue;
    }
    bool usable = t.session_ == session_ && t.node_ >= 0 && t.recording_ == static_cast<uint16_t>(number_);
    if (!usable) {
      poison(valueOf(t, op.text(), static_cast<int>(i)).status());
      return false;
    }
    operands_.push_back(rawValue(t));
    types_.push_back(operations_[r.nodes[t.node_].operation].results[t.result_]);
  }
  return true;
}

int32_t Recorder::applyNode(NameSpace space, Symbol op, std::span<const Tensor> inputs, const Attributes& attrs) {
  if (!gather(op, inputs)) return kPoisoned;
  auto operation = operations_.apply(space, op, {types_.data(), types_.size()}, attrs);
  if (operation.ok()) return append(*operation, -1);
  poison(operation.status());
  return kPoisoned;
}

Tensor Recorder::apply(NameSpace space, Symbol op, std::span<const Tensor> inputs, const Attributes& attrs) {
  return handle(applyNode(space, op, inputs, attrs), 0);
}

Tensor Recorder::numberLike(const Tensor& t, double value) {
  static const Symbol constant("constant"), broadcast("broadcast"), shapeName("shape"), axesName("axes");
  if (!gather(constant, {&t, 1})) return handle(kPoisoned, 0);
  if (types_[0] == kAbsentType) return poison(invalid("constant: there is no tensor to take the type from"));
  TypeId wanted = types_[0];
  StateValue& known = numbers_[{std::bit_cast<uint64_t>(value), wanted}];
  if (known.number == number_) return handle(known.value.node, known.value.result);
  const TensorType& type = operations_.type(wanted);
  Tensor result = number(value, type.dtype);
  if (result.node_ >= 0 && type.shape.rank() > 0)
    result = apply(NameSpace::Primitives, broadcast, {&result, 1}, {{shapeName, type.shape}, {axesName, Shape{}}});
  if (result.node_ >= 0) known = {number_, rawValue(result)};
  return result;
}

void Recorder::applyAll(Symbol op, std::span<const Tensor> inputs, const Attributes& attrs,
                        std::vector<Tensor>& results) {
  results.clear();
  int32_t node = applyNode(NameSpace::Library, op, inputs, attrs);
  size_t count = 1;
  if (const OperatorInfo* info = library_->find(op))
    count = info->results; // residuals are for its @grad only
  else if (node >= 0)
    count = operations_[recording().nodes[node].operation].results.size();
  for (size_t i = 0; i < count; ++i) results.push_back(handle(node, node < 0 ? 0 : static_cast<int>(i)));
}

void Recorder::gradient(const Tensor& loss, std::span<const Tensor> wrt, std::vector<Tensor>& results) {
  static const Symbol name("grad");
  results.assign(wrt.size(), handle(kPoisoned, 0));
  if (!gather(name, {&loss, 1})) return;
  Value lossValue = operands_[0];
  TypeId lossType = types_[0];
  if (lossType == kAbsentType || type(recording(), lossValue).shape.rank() != 0) {
    poison(invalid("grad: the loss has shape {}, its gradient needs a single number: reduce it first",
                   toString(lossType == kAbsentType ? Shape{} : type(recording(), lossValue).shape)));
    return;
  }
  if (!gather(name, wrt)) return;
  operands_.insert(operands_.begin(), lossValue);
  types_.insert(types_.begin(), lossType);
  for (TypeId t : types_)
    if (t == kAbsentType) {
      poison(invalid("grad: an absent tensor was asked for"));
      return;
    }
  int32_t node = append(operations_.gradient({types_.data(), types_.size()}), -1);
  for (size_t i = 0; i < wrt.size(); ++i) results[i] = handle(node, static_cast<int>(i));
}

Tensor Recorder::read(int32_t state, const TensorType& type, std::string_view name) {
  if (static_cast<size_t>(state) >= states_.size()) states_.resize(state + 1);
  StateValue& s = states_[state];
  if (s.number != number_) {
    operands_.clear();
    s = {number_, {append(operations_.input(InputKind::State, operations_.typeId(type)), state), 0}};
  }
  return handle(s.value.node, s.value.result);
}

void Recorder::assign(int32_t state, const TensorType& wanted, std::string_view name, const Tensor& value) {
  auto v = valueOf(value, "assign", 0);
  if (!v.ok()) {
    poison(addContext(v.status(), name));
    return;
  }
  if (type(recording(), *v) != wanted) {
    poison(
        invalid("assign {}: the value is {}, the state {}", name, toString(type(recording(), *v)), toString(wanted)));
    return;
  }
  read(state, wanted, name); // an assigned state is an input of the graph, read or not
  states_[state].value = *v;
  for (RecordedAssign& a : recording().assigns)
    if (a.state == state) {
      a.value = *v;
      return;
    }
  recording().assigns.push_back({state, *v});
}

void Recorder::pushScope(std::string_view name) {
  for (auto& [child, index] : scopeTree_[scope_].children)
    if (child == name) {
      scope_ = index;
      return;
    }
  int32_t index = static_cast<int32_t>(scopeTree_.size());
  std::string_view parent = scopeTree_[scope_].path.text();
  std::string path = parent.empty() ? std::string(name) : fmt::format("{}.{}", parent, name);
  scopeTree_[scope_].children.emplace_back(name, index);
  scopeTree_.push_back({Symbol(path), scope_, {}});
  scope_ = index;
}

void Recorder::popScope() {
  assert(scope_ != 0 && "popScope without pushScope");
  scope_ = scopeTree_[scope_].parent;
}

const TensorType& Recorder::type(const Tensor& t) const {
  if (t.node_ < 0) return kPoisonedType;
  const Recording& r = recordings_[t.recording_ & 1];
  bool known = t.recording_ == static_cast<uint16_t>(number_) || isLast(t);
  return known ? type(r, rawValue(t)) : kPoisonedType;
}

void Recorder::next() {
  ++number_;
  recording().clear();
}

StatusOr<Graph> Recorder::graph(const Recording& r, std::span<const Value> results,
                                std::span<const std::string> stateNames, std::vector<int32_t>& inputNodes) const {
  std::vector<bool> needed(r.nodes.size());
  for (Value v : results) needed[v.node] = true;
  for (const RecordedAssign& a : r.assigns) needed[a.value.node] = true;
  for (size_t i = r.nodes.size(); i-- > 0;) {
    if (!needed[i]) continue;
    for (int32_t k = 0; k < r.nodes[i].operandCount; ++k)
      if (Value v = r.operands[r.nodes[i].firstOperand + k]; v.present()) needed[v.node] = true;
  }
  // An assigned state is an input even if nothing reads it.
  std::vector<int32_t> inputOfState(stateNames.size(), -1);
  for (const RecordedAssign& a : r.assigns) inputOfState[a.state] = -2;
  for (size_t i = 0; i < r.nodes.size(); ++i) {
    const Operation& o = operations_[r.nodes[i].operation];
    if (o.kind == Node::Kind::Input && o.input == InputKind::State && inputOfState[r.nodes[i].slot] == -2)
      needed[i] = true;
  }

  Graph g(library_);
  std::vector<Values> values(r.nodes.size());
  inputNodes.clear();
  for (size_t i = 0; i < r.nodes.size(); ++i) {
    if (!needed[i]) continue;
    const RecordedNode& n = r.nodes[i];
    const Operation& o = operations_[n.operation];
    Values in;
    for (int32_t k = 0; k < n.operandCount; ++k) {
      Value v = r.operands[n.firstOperand + k];
      in.push_back(v.present() ? values[v.node][v.result] : Value{});
    }
    std::span<const Value> operands(in.data(), in.size());
    switch (o.kind) {
    case Node::Kind::Input: {
      bool state = o.input == InputKind::State;
      if (state) inputOfState[n.slot] = static_cast<int32_t>(inputNodes.size());
      std::string_view kind = o.input == InputKind::Data ? "data" : "scalar";
      std::string name = state ? stateNames[n.slot] : fmt::format("{}{}", kind, n.slot);
      values[i] = {g.addInput(Symbol(name), operations_.type(o.results[0]), o.input)};
      inputNodes.push_back(static_cast<int32_t>(i));
      break;
    }
    case Node::Kind::Primitive: {
      TG_ASSIGN_OR_RETURN(values[i], g.addPrimitive(o.op, operands, o.complete, r.scopes[i]));
      break;
    }
    case Node::Kind::Operator: {
      TG_ASSIGN_OR_RETURN(values[i], g.addOperator(o.op, operands, o.complete, r.scopes[i]));
      break;
    }
    case Node::Kind::Gradient: {
      TG_ASSIGN_OR_RETURN(values[i], g.addGradient(operands[0], operands.subspan(1)));
      break;
    }
    }
  }
  for (Value v : results) g.outputs().push_back(values[v.node][v.result]);
  for (const RecordedAssign& a : r.assigns)
    g.assigns().push_back({inputOfState[a.state], values[a.value.node][a.value.result]});
  return g;
}

} // namespace tegula
