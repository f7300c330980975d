// Reading the lead byte of each character.
#include "base/Utf8.h"

#include <algorithm>

namespace tegula {
namespace {

/// Length of the character that `lead` begins, 0 if none does; the range of its second byte in low and high.
size_t sequenceLength(unsigned char lead, unsigned char& low, unsigned char& high) {
  low = 0x80;
  high = 0xBF;
  if (lead < 0x80) return 1;
  if (lead < 0xC2) return 0; // a continuation, or an overlong form
  if (lead < 0xE0) return 2;
  if (lead < 0xF0) {
    if (lead == 0xE0) low = 0xA0;  // overlong
    if (lead == 0xED) high = 0x9F; // surrogates
    return 3;
  }
  if (lead > 0xF4) return 0;
  if (lead == 0xF0) low = 0x90;
  if (lead == 0xF4) high = 0x8F; // past U+10FFFF
  return 4;
}

/// Bytes of a well-formed character at the start of `text`; 0 if ill-formed. `complete` is false where it ends too
/// early.
size_t characterAt(std::string_view text, bool& complete) {
  unsigned char low, high;
  size_t length = sequenceLength(static_cast<unsigned char>(text[0]), low, high);
  complete = true;
  for (size_t i = 1; i < length; ++i) {
    if (i >= text.size()) {
      complete = false;
      return 0;
    }
    auto byte = static_cast<unsigned char>(text[i]);
    if (byte < (i == 1 ? low : 0x80) || byte > (i == 1 ? high : 0xBF)) return 0;
  }
  return length;
}

} // namespace

size_t findInvalidUtf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    if (static_cast<unsigned char>(text[i]) < 0x80) {
      ++i;
      continue;
    }
    bool complete;
    size_t length = characterAt(text.substr(i), complete);
    if (length == 0) return i;
    i += length;
  }
  return std::string_view::npos;
}

size_t incompleteUtf8Tail(std::string_view text) {
  for (size_t back = 1; back <= std::min<size_t>(3, text.size()); ++back) {
    bool complete;
    size_t length = characterAt(text.substr(text.size() - back), complete);
    if (length == 0 && !complete) return back;
    if (length != 0) return 0;
  }
  return 0;
}

} // namespace tegula
