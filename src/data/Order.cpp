// Data order.
#include "data/Order.h"

#include "base/Philox.h"
#include <cassert>

namespace tegula {
namespace {

// Streams of the run's seed, one a purpose.
constexpr uint64_t kPermutationStream = 0x6f72646572'01u, kShiftStream = 0x6f72646572'02u;

/// One permutation of [0, 2^(2 * halfBits)).
uint64_t feistel(uint64_t x, int halfBits, std::array<uint32_t, 2> key, uint64_t epoch) {
  uint64_t mask = (uint64_t(1) << halfBits) - 1, left = x >> halfBits, right = x & mask;
  for (uint32_t round = 0; round < 4; ++round) {
    PhiloxBlock bits = philox4x32({static_cast<uint32_t>(right), static_cast<uint32_t>(right >> 32) ^ (round << 28),
                                   static_cast<uint32_t>(epoch), static_cast<uint32_t>(epoch >> 32)},
                                  key);
    uint64_t next = left ^ ((bits[0] | static_cast<uint64_t>(bits[1]) << 32) & mask);
    left = right;
    right = next;
  }
  return left << halfBits | right;
}

} // namespace

int64_t permuted(uint64_t seed, int64_t epoch, int64_t index, int64_t count) {
  assert(index >= 0 && index < count && "index outside the permutation");
  int halfBits = 1;
  while ((uint64_t(1) << (2 * halfBits)) < static_cast<uint64_t>(count)) ++halfBits;
  auto key = philoxKey(seed, kPermutationStream);
  auto x = static_cast<uint64_t>(index);
  // The domain is less than four times `count`, so this takes fewer than four rounds on average; it ends because a
  // permutation's cycle through `index` comes back to [0, count).
  do x = feistel(x, halfBits, key, static_cast<uint64_t>(epoch));
  while (x >= static_cast<uint64_t>(count));
  return static_cast<int64_t>(x);
}

DataOrder::DataOrder(uint64_t seed, int64_t tokens, int64_t sequence) : seed_(seed), sequence_(sequence) {
  assert(sequence >= 1 && tokens > sequence && "a sample needs sequence + 1 tokens");
  // As many windows as fit whatever the shift; a text too short for that is cut without one.
  windows_ = tokens / sequence - 1;
  shifts_ = sequence;
  if (windows_ >= 1) return;
  windows_ = 1;
  shifts_ = tokens - sequence;
}

int64_t DataOrder::offsetOf(int64_t n) const {
  int64_t epoch = n / windows_;
  PhiloxBlock bits = philoxElement(philoxKey(seed_, kShiftStream), 0, static_cast<uint64_t>(epoch));
  auto shift = static_cast<int64_t>(bits[0] % static_cast<uint64_t>(shifts_));
  return shift + sequence_ * permuted(seed_, epoch, n % windows_, windows_);
}

} // namespace tegula
