// Tokenizers that need no training: bytes, and the set of characters of a text as nanoGPT has it.
//
//   Tokenizer t = Tokenizer::characters(text);
//   TG_ASSIGN_OR_RETURN(std::vector<int32_t> tokens, t.encode("To be"));
//   std::string text = t.decode(tokens);
//
// A text made of several documents has one symbol more, the last: the boundary between two documents.
// Threads: immutable after it is made.
#pragma once

#include "base/Status.h"
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tegula {

class Tokenizer {
public:
  enum class Kind : uint8_t { Bytes, Characters };
  /// 256 symbols, one a byte.
  static Tokenizer bytes(bool withBoundary = false);
  /// The sorted set of code points of well-formed UTF-8 texts.
  static Tokenizer characters(std::span<const std::string_view> texts, bool withBoundary = false);

  Kind kind() const { return kind_; }
  /// Number of symbols, the boundary included.
  int64_t vocabulary() const { return symbols() + (boundary_ ? 1 : 0); }
  /// The boundary's token, or -1.
  int32_t boundary() const { return boundary_ ? static_cast<int32_t>(symbols()) : -1; }

  /// Fails: a character that the vocabulary does not have, naming it and its offset. Bytes take any text.
  StatusOr<std::vector<int32_t>> encode(std::string_view text) const;
  /// Bytes of the tokens; a boundary gives an empty line. Tokens outside the vocabulary give nothing.
  std::string decode(std::span<const int32_t> tokens) const;

  /// {"format": "tegula-tokenizer-1", "kind": "characters", "characters": "\n !…", "boundary": false}
  std::string toJson() const;
  static StatusOr<Tokenizer> fromJson(std::string_view json, const std::string& name);
  static StatusOr<Tokenizer> load(const std::string& path);
  Status save(const std::string& path) const;
  friend bool operator==(const Tokenizer& a, const Tokenizer& b) {
    return a.kind_ == b.kind_ && a.boundary_ == b.boundary_ && a.characters_ == b.characters_;
  }

private:
  int64_t symbols() const { return kind_ == Kind::Bytes ? 256 : static_cast<int64_t>(characters_.size()); }
  Kind kind_ = Kind::Bytes;
  bool boundary_ = false;
  std::vector<std::string> characters_; // of token i, in UTF-8; sorted by code point, which is UTF-8's byte order
};

} // namespace tegula
