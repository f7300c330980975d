// Draws of a Philox stream: two 64-bit numbers a block.
#include "base/Random.h"

#include <cassert>
#include <cmath>
#include <numbers>

namespace tegula {

uint64_t RandomStream::bits() {
  if (spareBits_) {
    uint64_t kept = *spareBits_;
    spareBits_.reset();
    return kept;
  }
  PhiloxBlock block = philoxElement(key_, 0, counter_++);
  spareBits_ = static_cast<uint64_t>(block[2]) << 32 | block[3];
  return static_cast<uint64_t>(block[0]) << 32 | block[1];
}

double RandomStream::uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }

uint64_t RandomStream::below(uint64_t bound) {
  assert(bound > 0 && "no number is below 0");
  uint64_t excess = (0 - bound) % bound; // 2^64 modulo bound: as many of the least draws would be favoured
  uint64_t draw = bits();
  while (draw < excess) draw = bits();
  return draw % bound;
}

double RandomStream::normal() {
  if (spareNormal_) {
    double kept = *spareNormal_;
    spareNormal_.reset();
    return kept;
  }
  double radius = std::sqrt(-2.0 * std::log(1.0 - uniform())); // 1 - u is in (0,1]
  double angle = 2.0 * std::numbers::pi * uniform();
  spareNormal_ = radius * std::sin(angle);
  return radius * std::cos(angle);
}

} // namespace tegula
