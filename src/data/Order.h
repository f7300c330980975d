// In which order training sees the data: a pure function of (seed, epoch, index), so that resuming is a seek and
// neither ranks nor workers matter.
//
// An epoch cuts the tokens into windows of T inputs (and T targets, one later) that do not overlap, from an offset that
// changes with the epoch, and visits every window once in an order of its own: a keyed permutation, four Feistel rounds
// on Philox with cycle walking. Source: Luby & Rackoff 1988; Black & Rogaway 2002, "Ciphers with arbitrary finite
// domains".
#pragma once

#include <cstdint>

namespace tegula {

/// Position `index` of the permutation of [0, count) that (seed, epoch) selects. Requires: 0 <= index < count.
int64_t permuted(uint64_t seed, int64_t epoch, int64_t index, int64_t count);

class DataOrder {
public:
  /// Requires: tokens > sequence >= 1.
  DataOrder(uint64_t seed, int64_t tokens, int64_t sequence);
  int64_t windowsPerEpoch() const { return windows_; }
  /// Where sample `n` of the run begins; n counts on from epoch to epoch. The sample is tokens [o, o + T], T inputs and
  /// the T that follow them by one.
  int64_t offsetOf(int64_t n) const;
  int64_t epochOf(int64_t n) const { return n / windows_; }

private:
  uint64_t seed_;
  int64_t sequence_, windows_, shifts_;
};

} // namespace tegula
