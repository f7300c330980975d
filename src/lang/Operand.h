// What an expression of a body can be when an operator is instantiated: a tensor of the builder, or a constant.
#pragma once

#include "lang/Builder.h"
#include <memory>
#include <variant>
#include <vector>

namespace tegula::lang {

struct Operand;
using Sequence = std::vector<Operand>;

/// Bounds of a tuple that a body makes (`tuple-size`): elements, those of nested tuples counted too, and nesting. What
/// walks tuples by recursion, or takes a step for each element, relies on them.
constexpr int64_t kMostElements = 4096;
constexpr int kDeepestTuple = 32;

/// A tuple, and its measures against the bounds.
struct TupleValue;

struct Operand {
  using Storage =
      std::variant<std::monostate, Value, int64_t, double, bool, DType, Symbol, std::shared_ptr<const TupleValue>>;
  Storage v;

  Operand() = default; // None
  Operand(Value x) {   // NOLINT: implicit on purpose; an absent value is None
    if (x.present()) v = x;
  }
  Operand(int64_t x) : v(x) {} // NOLINT
  Operand(double x) : v(x) {}  // NOLINT
  Operand(bool x) : v(x) {}    // NOLINT
  Operand(DType x) : v(x) {}   // NOLINT
  Operand(Symbol x) : v(x) {}  // NOLINT
  Operand(Sequence x);         // NOLINT
  static Operand of(const Shape& s) {
    Sequence q;
    for (int64_t d : s) q.emplace_back(d);
    return Operand(std::move(q));
  }
  static Operand of(const AttrValue&);

  bool isNone() const { return std::holds_alternative<std::monostate>(v); }
  const Value* tensor() const { return std::get_if<Value>(&v); }
  const int64_t* integer() const { return std::get_if<int64_t>(&v); }
  const bool* boolean() const { return std::get_if<bool>(&v); }
  const DType* dtype() const { return std::get_if<DType>(&v); }
  const Symbol* string() const { return std::get_if<Symbol>(&v); }
  const TupleValue* tuple() const {
    auto p = std::get_if<std::shared_ptr<const TupleValue>>(&v);
    return p ? p->get() : nullptr;
  }
  const Sequence* sequence() const;
  bool isNumber() const { return integer() || std::holds_alternative<double>(v); }
  /// Requires: isNumber().
  double number() const { return integer() ? static_cast<double>(*integer()) : std::get<double>(v); }
};

struct TupleValue {
  Sequence elements;
  int64_t count; // of elements, those of nested tuples included; no more than twice kMostElements is told apart
  int depth;     // 1 + that of the deepest element
};

/// "a tensor", "the integer 3": for messages.
std::string describe(const Operand&);

} // namespace tegula::lang
