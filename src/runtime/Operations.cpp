// Interning of types and of operations.
#include "runtime/Operations.h"

#include "absl/hash/hash.h"
#include <algorithm>

namespace tegula {
namespace {

uint64_t hashOf(NameSpace space, Symbol op, std::span<const TypeId> operands, const Attributes& attrs) {
  uint64_t h = static_cast<uint64_t>(space) << 32 | op.id();
  for (TypeId t : operands) h = (h ^ static_cast<uint32_t>(t)) * 0x9e3779b97f4a7c15ull, h ^= h >> 29;
  return attrs.empty() ? h : h ^ absl::HashOf(attrs);
}

// Names of nodes that are no operators; no operator can have them.
const Symbol& gradientName() {
  static const Symbol name("(gradient)");
  return name;
}

} // namespace

TypeId Operations::typeId(const TensorType& type) {
  auto [it, inserted] = typeIds_.try_emplace(type, static_cast<TypeId>(types_.size()));
  if (inserted) types_.push_back(type);
  return it->second;
}

int32_t Operations::find(uint64_t hash, NameSpace space, Symbol op, std::span<const TypeId> operands,
                         const Attributes& attrs) const {
  auto it = firstWithHash_.find(hash);
  for (int32_t i = it == firstWithHash_.end() ? -1 : it->second; i >= 0; i = operations_[i].nextWithHash) {
    const Operation& o = operations_[i];
    if (o.nameSpace == space && o.op == op &&
        std::equal(o.operands.begin(), o.operands.end(), operands.begin(), operands.end()) && o.given == attrs)
      return i;
  }
  return -1;
}

int32_t Operations::insert(uint64_t hash, Operation o) {
  auto number = static_cast<int32_t>(operations_.size());
  auto [it, inserted] = firstWithHash_.try_emplace(hash, number);
  if (!inserted) o.nextWithHash = std::exchange(it->second, number);
  operations_.push_back(std::move(o));
  return number;
}

StatusOr<int32_t> Operations::apply(NameSpace space, Symbol op, std::span<const TypeId> operands,
                                    const Attributes& attrs) {
  uint64_t hash = hashOf(space, op, operands, attrs);
  if (int32_t known = find(hash, space, op, operands, attrs); known >= 0) return known;
  TG_ASSIGN_OR_RETURN(Operation o, infer(space, op, operands, attrs));
  return insert(hash, std::move(o));
}

StatusOr<Operation> Operations::infer(NameSpace space, Symbol op, std::span<const TypeId> operands,
                                      const Attributes& attrs) {
  Operation o;
  o.nameSpace = space;
  o.op = op;
  o.given = attrs;
  o.operands.assign(operands.begin(), operands.end());
  TensorTypes results;
  if (space == NameSpace::Library && library_->find(op)) {
    o.kind = Node::Kind::Operator;
    TG_ASSIGN_OR_RETURN(o.complete, library_->completeAttributes(op, attrs));
    absl::InlinedVector<const TensorType*, 4> types;
    for (TypeId t : operands) types.push_back(t == kAbsentType ? nullptr : &types_[t]);
    TG_ASSIGN_OR_RETURN(results, library_->infer(op, {types.data(), types.size()}, o.complete));
  } else if (const Primitive* primitive = findPrimitive(op)) {
    o.kind = Node::Kind::Primitive;
    o.complete = attrs;
    absl::InlinedVector<TensorType, 4> types;
    for (TypeId t : operands) {
      if (t == kAbsentType)
        return invalid("{}: operand {} is absent, a primitive needs all of them", op.text(), types.size());
      types.push_back(types_[t]);
    }
    TG_ASSIGN_OR_RETURN(results, primitive->infer({types.data(), types.size()}, attrs));
  } else {
    return notFound("{}: there is no operator or primitive of this name; `tegula op list` shows them", op.text());
  }
  for (const TensorType& t : results) o.results.push_back(typeId(t));
  return o;
}

int32_t Operations::gradient(std::span<const TypeId> operands) {
  uint64_t hash = hashOf(NameSpace::Library, gradientName(), operands, {});
  if (int32_t known = find(hash, NameSpace::Library, gradientName(), operands, {}); known >= 0) return known;
  Operation o;
  o.kind = Node::Kind::Gradient;
  o.op = gradientName();
  o.operands.assign(operands.begin(), operands.end());
  o.results.assign(operands.begin() + 1, operands.end());
  return insert(hash, std::move(o));
}

int32_t Operations::input(InputKind kind, TypeId type) {
  static const Symbol names[] = {"(data)", "(scalar)", "(state)"};
  Symbol name = names[static_cast<int>(kind)];
  uint64_t hash = hashOf(NameSpace::Library, name, {&type, 1}, {});
  auto it = firstWithHash_.find(hash);
  for (int32_t i = it == firstWithHash_.end() ? -1 : it->second; i >= 0; i = operations_[i].nextWithHash)
    if (operations_[i].op == name && operations_[i].results[0] == type) return i;
  Operation o;
  o.kind = Node::Kind::Input;
  o.op = name;
  o.input = kind;
  o.results.push_back(type);
  return insert(hash, std::move(o));
}

} // namespace tegula
