// What an expression of a body can be when an operator is instantiated: a tensor of the builder, or a constant.
#pragma once

#include "lang/Builder.h"
#include <memory>
#include <variant>
#include <vector>

namespace tegula::lang {

struct Operand;
using Sequence = std::vector<Operand>;

struct Operand {
  using Storage =
      std::variant<std::monostate, Value, int64_t, double, bool, DType, Symbol, std::shared_ptr<const Sequence>>;
  Storage v;

  Operand() = default; // None
  Operand(Value x) {   // NOLINT: implicit on purpose; an absent value is None
    if (x.present()) v = x;
  }
  Operand(int64_t x) : v(x) {}                                               // NOLINT
  Operand(double x) : v(x) {}                                                // NOLINT
  Operand(bool x) : v(x) {}                                                  // NOLINT
  Operand(DType x) : v(x) {}                                                 // NOLINT
  Operand(Symbol x) : v(x) {}                                                // NOLINT
  Operand(Sequence x) : v(std::make_shared<const Sequence>(std::move(x))) {} // NOLINT
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
  const Sequence* sequence() const {
    auto p = std::get_if<std::shared_ptr<const Sequence>>(&v);
    return p ? p->get() : nullptr;
  }
  bool isNumber() const { return integer() || std::holds_alternative<double>(v); }
  /// Requires: isNumber().
  double number() const { return integer() ? static_cast<double>(*integer()) : std::get<double>(v); }
};

/// "a tensor", "the integer 3": for messages.
std::string describe(const Operand&);

} // namespace tegula::lang
