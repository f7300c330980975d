// How deep a TOML text is nested, found before it is parsed: toml++ makes a table for every part of a dotted key, and
// its parser bounds brackets only, so that one long key would overflow the stack where the tables are walked and freed.
#pragma once

#include <cstddef>
#include <string_view>

namespace tegula::config {

/// The offset at which brackets and the dots of keys are nested deeper than kMaxDepth, or npos. Exact up to the first
/// error of syntax, where parsing ends.
size_t findTooDeep(std::string_view toml);

} // namespace tegula::config
