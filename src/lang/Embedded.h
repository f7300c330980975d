// The operator library's sources, put into the binary by CMake (Embed.cmake writes EmbeddedSources.cpp from
// ops/*.tile).
#pragma once

#include <span>
#include <string_view>

namespace tegula::lang {

struct EmbeddedSource {
  std::string_view path, text; // "ops/softmax.tile"
};
/// In order of path.
std::span<const EmbeddedSource> embeddedSources();

} // namespace tegula::lang
