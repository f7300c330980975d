// What numbers a command's options take: CLI11's own checks print bounds with 300 digits and let NaN pass.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <limits>
#include <optional>

namespace tegula::cli {

/// Whole decimal numbers from `low` to `high`. For other text the message says what was found and what is accepted. To
/// be given to transform(), not check(): CLI11 would read 010 as eight.
CLI::Validator wholeNumber(int64_t low, int64_t high = std::numeric_limits<int64_t>::max());

struct NumberRange {
  std::optional<double> min, above; // inclusive, exclusive
  std::optional<double> max;        // inclusive
};
/// Finite numbers of a range.
CLI::Validator number(NumberRange range);

} // namespace tegula::cli
