// The name a person most likely meant: for `unknown key 'stpes'; did you mean 'steps'?`.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tegula::config {

/// The candidate with the smallest edit distance (insert, delete, replace, swap of neighbours), or nothing when none is
/// within a third of the longer name's length, at least 1.
std::optional<std::string> nearestName(std::string_view name, std::span<const std::string> candidates);

} // namespace tegula::config
