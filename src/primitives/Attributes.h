// Attributes of a primitive or operator: constants known when a graph is recorded. No heap for up to four attributes
// with lists of up to kMaxRank integers.
#pragma once

#include "absl/container/inlined_vector.h"
#include "base/Symbol.h"
#include "tensor/Shape.h"
#include <algorithm>
#include <bit>
#include <string>
#include <variant>

namespace tegula {

/// none | bool | int | float | list of ints | dtype | name (`erf`, `mean` …)
using AttrValue = std::variant<std::monostate, bool, int64_t, double, Shape, DType, Symbol>;
std::string toString(const AttrValue&);
/// Equal type and value; floats by their bits, so that -0.0 differs from 0.0 and a NaN equals itself.
bool sameValue(const AttrValue&, const AttrValue&);

/// Kept sorted by name, so that equal attributes compare and print equal.
class Attributes {
public:
  using Entry = std::pair<Symbol, AttrValue>;
  Attributes() = default;
  Attributes(std::initializer_list<Entry> entries) {
    for (const Entry& e : entries) set(e.first, e.second);
  }
  void set(Symbol name, AttrValue value);
  void erase(Symbol name);
  const AttrValue* find(Symbol name) const;
  bool has(Symbol name) const { return find(name) != nullptr; }
  // Typed access. Requires: present with that type (primitive::infer has checked it); the *Or forms give a default.
  int64_t getInt(Symbol name) const;
  double getFloat(Symbol name) const; // an int also reads as a float
  bool getBool(Symbol name) const;
  const Shape& getInts(Symbol name) const;
  DType getDType(Symbol name) const;
  Symbol getName(Symbol name) const;
  int64_t getIntOr(Symbol name, int64_t fallback) const;
  double getFloatOr(Symbol name, double fallback) const;
  bool getBoolOr(Symbol name, bool fallback) const;

  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }
  bool empty() const { return entries_.empty(); }
  size_t size() const { return entries_.size(); }
  friend bool operator==(const Attributes& a, const Attributes& b) {
    auto same = [](const Entry& x, const Entry& y) { return x.first == y.first && sameValue(x.second, y.second); };
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), same);
  }
  template <typename H> friend H AbslHashValue(H h, const Attributes& a) {
    for (const Entry& e : a.entries_) h = hashValue(H::combine(std::move(h), e.first, e.second.index()), e.second);
    return H::combine(std::move(h), a.entries_.size());
  }

private:
  template <typename H> static H hashValue(H h, const AttrValue& value) {
    return std::visit(
        [&h](const auto& v) {
          using T = std::decay_t<decltype(v)>;
          if constexpr (std::is_same_v<T, std::monostate>)
            return std::move(h);
          else if constexpr (std::is_same_v<T, double>)
            return H::combine(std::move(h), std::bit_cast<uint64_t>(v));
          else
            return H::combine(std::move(h), v);
        },
        value);
  }
  absl::InlinedVector<Entry, 4> entries_;
};
std::string toString(const Attributes&); // "axis=-1, keepdim=true"

} // namespace tegula
