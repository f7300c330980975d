// `did you mean`: the known name that is closest to a mistyped one.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace tegula {

/// Edits (insert, delete, replace, swap of neighbours) that turn `a` into `b`; letter case counts as no edit.
int editDistance(std::string_view a, std::string_view b);

/// The first of the nearest names, or empty if none is within a third of the length (at least 1 edit).
std::string_view nearestName(std::string_view name, std::span<const std::string_view> known);
std::string nearestName(std::string_view name, std::span<const std::string> known);

/// `; did you mean axis?`, or empty.
std::string didYouMean(std::string_view name, std::span<const std::string_view> known);

} // namespace tegula
