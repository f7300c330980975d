// Counts in files that a user may have edited or a disk damaged.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>

namespace tegula {

/// The count, 0 to 2^63 - 1, that `object` has under `key`; nothing if it has none: no object, no such key, a negative
/// number, a fraction, a number too large.
inline std::optional<int64_t> jsonCount(const nlohmann::json& object, const char* key) {
  auto found = object.find(key);
  bool isCount = found != object.end() && found->is_number_unsigned() && found->get<uint64_t>() <= INT64_MAX;
  return isCount ? std::optional(found->get<int64_t>()) : std::nullopt;
}

} // namespace tegula
