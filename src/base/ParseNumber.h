// Text as a number, whole: what is written after it is no number.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace tegula {

/// A whole number or a real one, with a sign or without; nothing where it does not fit T.
template <typename T> std::optional<T> parseNumber(std::string_view text) {
  T value{};
  if (text.starts_with('+')) text.remove_prefix(1);
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

} // namespace tegula
