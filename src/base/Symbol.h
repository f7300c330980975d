// Interned names (operators, attributes). Comparing two is comparing integers; interning takes a lock, so hot paths
// keep Symbols in static constants.
// Threads: all functions may be called from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace tegula {

class Symbol {
public:
  constexpr Symbol() = default;
  Symbol(std::string_view text); // NOLINT: implicit on purpose, a name is a symbol
  Symbol(const char* text) : Symbol(std::string_view(text)) {}
  /// The text; lives as long as the process.
  std::string_view text() const;
  bool empty() const { return id_ == 0; }
  uint32_t id() const { return id_; }
  friend bool operator==(Symbol a, Symbol b) { return a.id_ == b.id_; }
  /// Orders by text, so that printed forms do not depend on interning order.
  friend bool operator<(Symbol a, Symbol b) { return a.text() < b.text(); }
  template <typename H> friend H AbslHashValue(H h, Symbol s) { return H::combine(std::move(h), s.id_); }

private:
  uint32_t id_ = 0;
};

} // namespace tegula

template <> struct std::hash<tegula::Symbol> {
  size_t operator()(tegula::Symbol s) const { return s.id(); }
};
