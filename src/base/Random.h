// Random numbers on the host, from Philox: the n-th number of (seed, stream) is the same on every machine, in any
// order.
//
//   RandomStream weights(seed, hash64("blocks.0.attention.qkv"));
//   for (float& w : values) w = static_cast<float>(0.02 * weights.normal());
//
// Threads: a stream belongs to one thread; streams are cheap.
#pragma once

#include "base/Philox.h"
#include <cstdint>
#include <optional>

namespace tegula {

class RandomStream {
public:
  RandomStream(uint64_t seed, uint64_t stream) : key_(philoxKey(seed, stream)) {}
  uint64_t bits();
  /// In [0,1), a multiple of 2^-53.
  double uniform();
  /// In [0, bound), every value equally likely. Requires: bound > 0.
  uint64_t below(uint64_t bound);
  /// Mean 0, variance 1, by Box and Muller's transform in double (pairs: the second of a pair is kept).
  double normal();

private:
  std::array<uint32_t, 2> key_;
  uint64_t counter_ = 0;
  std::optional<uint64_t> spareBits_;
  std::optional<double> spareNormal_;
};

} // namespace tegula
