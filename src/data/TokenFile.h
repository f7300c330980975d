// A file of tokens, mapped into memory: data sets larger than memory, no copy, no parsing at start.
//
//   offset  bytes  what
//        0      8  "TGTOKENS"
//        8      4  version, 1
//       12      4  bytes a token: 2 or 4, little-endian unsigned
//       16      8  number of tokens
//       24      8  vocabulary; every token is below it
//       32      8  XXH3-64 of the token bytes
//       40      8  a seal over the files that belong to it (data/Dataset.h); 0: none (older files)
//       48     16  zero
//       64      …  tokens
//
// Threads: immutable once open.
#pragma once

#include "base/Status.h"
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace tegula {

class TokenFile {
public:
  /// Writes aside, fsyncs and renames. Vocabularies up to 65,536 take two bytes a token.
  /// Fails: a token outside the vocabulary, a disk that is full.
  static Status write(const std::string& path, std::span<const int32_t> tokens, int64_t vocabulary, uint64_t seal = 0);
  /// Maps the file and checks header, length and checksum (one pass over the data).
  static StatusOr<TokenFile> open(const std::string& path);

  int64_t size() const { return size_; }
  int64_t vocabulary() const { return vocabulary_; }
  uint64_t checksum() const { return checksum_; }
  uint64_t seal() const { return seal_; }
  /// Requires: 0 <= i < size().
  int32_t operator[](int64_t i) const {
    return wide_ ? static_cast<int32_t>(static_cast<const uint32_t*>(tokens_)[i])
                 : static_cast<int32_t>(static_cast<const uint16_t*>(tokens_)[i]);
  }
  /// Copies tokens [begin, begin + out.size()). Requires: they exist.
  void read(int64_t begin, std::span<int32_t> out) const {
    for (size_t i = 0; i < out.size(); ++i) out[i] = (*this)[begin + static_cast<int64_t>(i)];
  }

private:
  std::shared_ptr<const void> mapping_;
  const void* tokens_ = nullptr;
  bool wide_ = false;
  int64_t size_ = 0, vocabulary_ = 0;
  uint64_t checksum_ = 0, seal_ = 0;
};

} // namespace tegula
