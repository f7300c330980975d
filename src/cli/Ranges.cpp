// Checks of numbers on the command line.
#include "cli/Ranges.h"

#include "base/ParseNumber.h"
#include <cmath>
#include <fmt/format.h>

namespace tegula::cli {

CLI::Validator wholeNumber(int64_t low, int64_t high) {
  bool open = high == std::numeric_limits<int64_t>::max();
  return CLI::Validator(
      [low, high](std::string& text) {
        std::optional<int64_t> x = parseNumber<int64_t>(text);
        if (x && *x >= low && *x <= high) {
          text = fmt::format("{}", *x);
          return std::string();
        }
        bool isDigits = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
        bool tooLarge = x ? *x > high : isDigits;
        if (tooLarge) return fmt::format("found '{}', expected at most {}", text, high);
        return fmt::format("found '{}', expected a whole number from {} on", text, low);
      },
      open ? fmt::format(">= {}", low) : fmt::format("{} to {}", low, high));
}

CLI::Validator number(NumberRange range) {
  std::string bounds;
  auto add = [&](const char* relation, std::optional<double> x) {
    if (x) bounds += fmt::format("{}{} {}", bounds.empty() ? "" : " and ", relation, *x);
  };
  add(">", range.above);
  add(">=", range.min);
  add("<=", range.max);
  return CLI::Validator(
      [range, bounds](std::string& text) {
        std::optional<double> x = parseNumber<double>(text);
        bool ok = x && std::isfinite(*x) && (!range.above || *x > *range.above) && (!range.min || *x >= *range.min) &&
                  (!range.max || *x <= *range.max);
        return ok ? std::string() : fmt::format("found '{}', expected a number {}", text, bounds);
      },
      bounds);
}

} // namespace tegula::cli
