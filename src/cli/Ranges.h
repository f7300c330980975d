// What numbers a command's options take: CLI11's own checks print bounds with 300 digits and let NaN pass.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>

namespace tegula::cli {

/// Whole numbers from `low` on. For other text the message says what was found and what is accepted.
CLI::Validator wholeNumber(int64_t low);

struct NumberRange {
  std::optional<double> min, above; // inclusive, exclusive
  std::optional<double> max;        // inclusive
};
/// Finite numbers of a range.
CLI::Validator number(NumberRange range);

} // namespace tegula::cli
