// The texts of targets/*.toml, embedded at build time (TargetTexts.cpp is generated), in alphabetical order.
#pragma once

#include <span>
#include <string_view>

namespace tegula {

struct TargetText {
  std::string_view name; // file name without .toml
  std::string_view text;
};
std::span<const TargetText> targetTexts();

} // namespace tegula
