// XXH3 hashes of bytes: fast, stable over releases and machines, not cryptographic. Used for cache keys, checksums of
// checkpoints and stream numbers.
// Source: the XXH3 algorithm of xxHash, with its default secret and seed 0.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tegula {

struct Hash128 {
  uint64_t high = 0, low = 0;
  friend bool operator==(const Hash128&, const Hash128&) = default;
  friend auto operator<=>(const Hash128&, const Hash128&) = default;
};

uint64_t hash64(std::span<const uint8_t> bytes);
uint64_t hash64(std::string_view text);
Hash128 hash128(std::span<const uint8_t> bytes);
Hash128 hash128(std::string_view text);

/// 16 and 32 lower-case hexadecimal digits, most significant first.
std::string toHex(uint64_t);
std::string toHex(const Hash128&);
/// Nothing unless the text is exactly 32 hexadecimal digits.
std::optional<Hash128> parseHash128(std::string_view hex);

/// Bytes given in pieces hash like the pieces joined.
class Hasher {
public:
  Hasher();
  ~Hasher();
  Hasher(const Hasher&) = delete;
  Hasher& operator=(const Hasher&) = delete;
  void add(std::span<const uint8_t> bytes);
  void add(std::string_view text);
  Hash128 hash128() const;
  uint64_t hash64() const;

private:
  void* state_;
};

} // namespace tegula
