// Well-formed UTF-8: Unicode 15, table 3-7.
#pragma once

#include <cstddef>
#include <string_view>

namespace tegula {

/// The offset of the first byte that is not part of well-formed UTF-8, or npos.
size_t findInvalidUtf8(std::string_view text);

/// How many bytes at the end of `text` are the beginning of a character that more bytes would complete (0 … 3).
size_t incompleteUtf8Tail(std::string_view text);

} // namespace tegula
