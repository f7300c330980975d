// Finding rules and what they ask about values.
#include "graph/passes/simplify/Simplifier.h"
#include "primitives/InferRules.h"
#include "tensor/Element.h"
#include <bit>

namespace tegula {

namespace {

const Symbol kBroadcast = "broadcast", kConstant = "constant";

using RuleTable = absl::flat_hash_map<Symbol, std::vector<SimplifyRule>>;

const RuleTable& ruleTable() {
  static const auto* table = [] {
    auto* t = new RuleTable;
    for (auto family : {arithmeticSimplifications(), castSimplifications(), viewSimplifications()})
      for (const NamedRule& r : family) (*t)[r.op].push_back(r.rule);
    for (const Primitive* p : allPrimitives())
      if (p->kind == PrimitiveKind::Elementwise) {
        (*t)[p->name].push_back(foldConstants);
        (*t)[p->name].push_back(hoistAboveBroadcast);
      }
    return t;
  }();
  return *table;
}

} // namespace

Value Simplifier::trySimplify(Symbol op, std::span<const Value> inputs, const Attributes& attrs) {
  auto it = ruleTable().find(op);
  if (it == ruleTable().end()) return {};
  for (SimplifyRule rule : it->second)
    if (Value v = rule(*this, op, inputs, attrs); v.present() || !status_.ok()) return v;
  return {};
}

Value Simplifier::make(Symbol op, std::span<const Value> inputs, const Attributes& attrs) {
  if (!status_.ok()) return {};
  if (Value v = trySimplify(op, inputs, attrs); v.present() || !status_.ok()) return v;
  auto results = graph_.addPrimitive(op, inputs, attrs, scope_);
  if (results.ok()) return (*results)[0];
  status_ = results.status();
  return {};
}

const Node* Simplifier::producer(Value v, Symbol op) const {
  const Node& n = graph_.node(v.node);
  return n.kind == Node::Kind::Primitive && n.op == op ? &n : nullptr;
}

const AttrValue* Simplifier::constantOf(Value v) const {
  while (const Node* n = producer(v, kBroadcast)) v = n->inputs[0];
  const Node* n = producer(v, kConstant);
  return n ? n->attrs.find(attr::value) : nullptr;
}

bool Simplifier::isConstant(Value v, double number) const {
  const AttrValue* value = constantOf(v);
  if (!value) return false;
  if (const double* d = std::get_if<double>(value))
    return std::bit_cast<uint64_t>(*d) == std::bit_cast<uint64_t>(number);
  const int64_t* i = std::get_if<int64_t>(value);
  // An integer 0 in a float type is +0.
  return i && static_cast<double>(*i) == number && !(number == 0 && std::signbit(number));
}

Value Simplifier::constantLike(double number, Value like) {
  TensorType t = typeOf(like);
  Attributes at{{attr::dtype, t.dtype}};
  if (isFloat(t.dtype))
    at.set(attr::value, number);
  else
    at.set(attr::value, saturatingTruncate<int64_t>(number));
  Value scalar = make(kConstant, {}, at);
  if (t.shape.rank() == 0) return scalar;
  return make(kBroadcast, {scalar}, {{attr::shape, t.shape}, {attr::axes, Shape{}}});
}

} // namespace tegula
