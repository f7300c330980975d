// Storage, typed access and printing of attributes.
#include "primitives/Attributes.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <fmt/format.h>

namespace tegula {
namespace {

/// Sorted by text, so that equal sets print equal. The lists are short: a scan beats a search.
bool nameLess(const Attributes::Entry& e, Symbol name) { return e.first < name; }

template <typename T> const T& require(const AttrValue* value) {
  assert(value && "attribute is missing");
  const T* typed = std::get_if<T>(value);
  assert(typed && "attribute has another type");
  return *typed;
}

} // namespace

bool sameValue(const AttrValue& a, const AttrValue& b) {
  const double *x = std::get_if<double>(&a), *y = std::get_if<double>(&b);
  if (x && y) return std::bit_cast<uint64_t>(*x) == std::bit_cast<uint64_t>(*y);
  return a == b;
}

void Attributes::set(Symbol name, AttrValue value) {
  auto it = std::lower_bound(entries_.begin(), entries_.end(), name, nameLess);
  if (it != entries_.end() && it->first == name)
    it->second = std::move(value);
  else
    entries_.insert(it, Entry(name, std::move(value)));
}

void Attributes::erase(Symbol name) {
  auto it = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.first == name; });
  if (it != entries_.end()) entries_.erase(it);
}

const AttrValue* Attributes::find(Symbol name) const {
  for (const Entry& e : entries_)
    if (e.first == name) return &e.second;
  return nullptr;
}

int64_t Attributes::getInt(Symbol name) const { return require<int64_t>(find(name)); }

double Attributes::getFloat(Symbol name) const {
  const AttrValue* value = find(name);
  if (value && std::holds_alternative<int64_t>(*value)) return static_cast<double>(std::get<int64_t>(*value));
  return require<double>(value);
}

bool Attributes::getBool(Symbol name) const { return require<bool>(find(name)); }

const Shape& Attributes::getInts(Symbol name) const { return require<Shape>(find(name)); }

DType Attributes::getDType(Symbol name) const { return require<DType>(find(name)); }

Symbol Attributes::getName(Symbol name) const { return require<Symbol>(find(name)); }

int64_t Attributes::getIntOr(Symbol name, int64_t fallback) const { return has(name) ? getInt(name) : fallback; }

double Attributes::getFloatOr(Symbol name, double fallback) const { return has(name) ? getFloat(name) : fallback; }

bool Attributes::getBoolOr(Symbol name, bool fallback) const { return has(name) ? getBool(name) : fallback; }

std::string toString(const AttrValue& value) {
  struct Printer {
    std::string operator()(std::monostate) const { return "none"; }
    std::string operator()(bool b) const { return b ? "true" : "false"; }
    std::string operator()(int64_t i) const { return fmt::format("{}", i); }
    std::string operator()(double d) const {
      std::string text = fmt::format("{}", d); // shortest form that reads back as the same double
      bool looksInteger = std::isfinite(d) && text.find_first_of(".e") == std::string::npos;
      return looksInteger ? text + ".0" : text;
    }
    std::string operator()(const Shape& s) const { return tegula::toString(s); }
    std::string operator()(DType d) const { return std::string(name(d)); }
    std::string operator()(Symbol s) const { return std::string(s.text()); }
  };
  return std::visit(Printer{}, value);
}

std::string toString(const Attributes& attributes) {
  std::string text;
  for (const auto& [name, value] : attributes)
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", name.text(), toString(value));
  return text;
}

} // namespace tegula
