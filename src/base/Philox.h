// Philox4x32-10: a counter-based random generator. The numbers are a pure function of (key, counter), so threads,
// order and recomputation do not matter.
// Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
//
// What Tegula draws from it (spec/numerics.md): key = philoxKey(run seed, stream), counter = (step, element index).
#pragma once

#include <array>
#include <cstdint>

namespace tegula {

using PhiloxBlock = std::array<uint32_t, 4>;

/// One block of 128 random bits.
constexpr PhiloxBlock philox4x32(PhiloxBlock counter, std::array<uint32_t, 2> key) {
  constexpr uint64_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
  constexpr uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;
  for (int round = 0; round < 10; ++round) {
    uint64_t product0 = kMultiplier0 * counter[0], product1 = kMultiplier1 * counter[2];
    counter = {static_cast<uint32_t>(product1 >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(product1),
               static_cast<uint32_t>(product0 >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(product0)};
    key[0] += kWeyl0;
    key[1] += kWeyl1;
  }
  return counter;
}

/// The key of a stream under a run's seed: the two words of seed * 0x9E3779B97F4A7C15 + stream (modulo 2^64), low
/// word first. Streams are hashes, so that seeds that are near each other do not meet.
constexpr std::array<uint32_t, 2> philoxKey(uint64_t seed, uint64_t stream) {
  uint64_t mixed = seed * 0x9E3779B97F4A7C15u + stream;
  return {static_cast<uint32_t>(mixed), static_cast<uint32_t>(mixed >> 32)};
}

/// The block of one element at one step.
constexpr PhiloxBlock philoxElement(std::array<uint32_t, 2> key, uint64_t step, uint64_t index) {
  return philox4x32({static_cast<uint32_t>(index), static_cast<uint32_t>(index >> 32), static_cast<uint32_t>(step),
                     static_cast<uint32_t>(step >> 32)},
                    key);
}

} // namespace tegula
