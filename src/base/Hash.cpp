// XXH3 by the system's libxxhash.
#include "base/Hash.h"

#include <charconv>
#include <fmt/format.h>
#include <new>
#include <xxhash.h>

namespace tegula {
namespace {

Hash128 convert(XXH128_hash_t h) { return {h.high64, h.low64}; }

XXH3_state_t* asState(void* p) { return static_cast<XXH3_state_t*>(p); }

std::optional<uint64_t> parseHex(std::string_view text) {
  uint64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

} // namespace

uint64_t hash64(std::span<const uint8_t> bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }
uint64_t hash64(std::string_view text) { return XXH3_64bits(text.data(), text.size()); }
Hash128 hash128(std::span<const uint8_t> bytes) { return convert(XXH3_128bits(bytes.data(), bytes.size())); }
Hash128 hash128(std::string_view text) { return convert(XXH3_128bits(text.data(), text.size())); }

std::string toHex(uint64_t h) { return fmt::format("{:016x}", h); }
std::string toHex(const Hash128& h) { return fmt::format("{:016x}{:016x}", h.high, h.low); }

std::optional<Hash128> parseHash128(std::string_view hex) {
  if (hex.size() != 32) return std::nullopt;
  auto high = parseHex(hex.substr(0, 16)), low = parseHex(hex.substr(16));
  if (!high || !low) return std::nullopt;
  return Hash128{*high, *low};
}

Hasher::Hasher() : state_(XXH3_createState()) {
  if (!state_) throw std::bad_alloc();
  XXH3_128bits_reset(asState(state_));
}

Hasher::~Hasher() { XXH3_freeState(asState(state_)); }

void Hasher::add(std::span<const uint8_t> bytes) { XXH3_128bits_update(asState(state_), bytes.data(), bytes.size()); }

void Hasher::add(std::string_view text) { XXH3_128bits_update(asState(state_), text.data(), text.size()); }

Hash128 Hasher::hash128() const { return convert(XXH3_128bits_digest(asState(state_))); }

uint64_t Hasher::hash64() const { return XXH3_64bits_digest(asState(state_)); }

} // namespace tegula
