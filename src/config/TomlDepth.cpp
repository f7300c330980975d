// One pass over the characters, past strings and comments.
#include "config/TomlDepth.h"

#include "config/Document.h"
#include <algorithm>
#include <vector>

namespace tegula::config {
namespace {

/// How many of `c` stand at `at` in a row, counted up to `most`.
size_t runOf(std::string_view text, size_t at, char c, size_t most) {
  size_t n = 0;
  while (n < most && at + n < text.size() && text[at + n] == c) ++n;
  return n;
}

/// The offset after the string that begins at `at`; a string of one line that is not closed ends with its line.
size_t pastString(std::string_view text, size_t at) {
  constexpr size_t kMark = 3, kLongestEnd = 5; // of a string of several lines: its last two characters may be quotes
  char quote = text[at];
  bool severalLines = runOf(text, at, quote, kMark) == kMark;
  for (size_t i = at + (severalLines ? kMark : 1); i < text.size(); ++i) {
    if (text[i] == '\\' && quote == '"') {
      ++i;
    } else if (text[i] == '\n' && !severalLines) {
      return i;
    } else if (text[i] == quote) {
      if (!severalLines) return i + 1;
      size_t quotes = runOf(text, i, quote, kLongestEnd);
      if (quotes >= kMark) return i + quotes;
    }
  }
  return text.size();
}

/// The nesting at one place: every open bracket, and the dots of each key that leads there.
class Depth {
public:
  size_t value() const { return above_ + dots_; }
  void add(char c) {
    if (c == '.') {
      ++dots_; // of a number, too: one more does no harm
    } else if (c == '[' || c == '{') {
      above_ += dots_ + 1;
      open_.push_back(dots_);
      dots_ = 0;
    } else if ((c == ']' || c == '}') && !open_.empty()) {
      dots_ = open_.back();
      open_.pop_back();
      above_ -= dots_ + 1;
    } else if (c == ',' || (c == '\n' && open_.empty())) {
      dots_ = 0;
    }
  }

private:
  std::vector<size_t> open_; // the dots before each bracket
  size_t above_ = 0, dots_ = 0;
};

} // namespace

size_t findTooDeep(std::string_view toml) {
  Depth depth;
  for (size_t i = 0; i < toml.size();) {
    char c = toml[i];
    if (c == '"' || c == '\'') {
      i = pastString(toml, i);
    } else if (c == '#') {
      i = std::min(toml.find('\n', i), toml.size());
    } else {
      depth.add(c);
      if (depth.value() > kMaxDepth) return i;
      ++i;
    }
  }
  return std::string_view::npos;
}

} // namespace tegula::config
