// Operations a session has met: an operator with attributes, applied to operands of known types, whose result types
// were inferred once. Recording an operation again is one hash look-up; types are small integers here.
//
// Threads: belongs to its session's thread.
#pragma once

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "graph/Graph.h"
#include <deque>
#include <span>

namespace tegula {

/// Number of an interned TensorType; kAbsentType stands for an absent optional operand.
using TypeId = int32_t;
constexpr TypeId kAbsentType = -1;

/// Where a name is looked up: some operators have a primitive's name and other attributes.
enum class NameSpace : uint8_t {
  Library,   // a library operator or, failing that, a primitive
  Primitives // primitives only
};

struct Operation {
  NameSpace nameSpace = NameSpace::Library; // asked for
  Node::Kind kind = Node::Kind::Operator;
  Symbol op;
  Attributes given, complete; // as recorded; with defaults filled in
  absl::InlinedVector<TypeId, 4> operands;
  absl::InlinedVector<TypeId, 4> results;
  InputKind input = InputKind::Data; // of kind Input
  int32_t nextWithHash = -1;
};

class Operations {
public:
  explicit Operations(std::shared_ptr<const OperatorLibrary> library) : library_(std::move(library)) {}

  TypeId typeId(const TensorType&);
  /// The reference stays valid as long as the session.
  const TensorType& type(TypeId id) const { return types_[id]; }

  /// The operation's number; infers its types the first time.
  StatusOr<int32_t> apply(NameSpace, Symbol op, std::span<const TypeId> operands, const Attributes&);
  /// d(operand 0)/d(the others).
  int32_t gradient(std::span<const TypeId> operands);
  int32_t input(InputKind, TypeId);
  const Operation& operator[](int32_t number) const { return operations_[number]; }

private:
  int32_t find(uint64_t hash, NameSpace, Symbol op, std::span<const TypeId> operands, const Attributes&) const;
  int32_t insert(uint64_t hash, Operation);
  StatusOr<Operation> infer(NameSpace, Symbol op, std::span<const TypeId> operands, const Attributes&);

  std::shared_ptr<const OperatorLibrary> library_;
  std::deque<TensorType> types_;
  absl::flat_hash_map<TensorType, TypeId> typeIds_;
  std::deque<Operation> operations_;
  absl::flat_hash_map<uint64_t, int32_t> firstWithHash_;
};

} // namespace tegula
