// Optimal string alignment distance and the search for the nearest name.
#include "base/NearestName.h"

#include <algorithm>
#include <vector>

namespace tegula {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

} // namespace

int editDistance(std::string_view a, std::string_view b) {
  // Rows i-2, i-1 and i of the table whose cell (i, j) is the distance of the first i and j letters.
  size_t width = b.size() + 1;
  std::vector<int> before(width), previous(width), current(width);
  for (size_t j = 0; j < width; ++j) previous[j] = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    current[0] = static_cast<int>(i);
    for (size_t j = 1; j < width; ++j) {
      char x = lower(a[i - 1]), y = lower(b[j - 1]);
      current[j] = std::min({previous[j] + 1, current[j - 1] + 1, previous[j - 1] + (x != y)});
      if (i > 1 && j > 1 && x == lower(b[j - 2]) && lower(a[i - 2]) == y)
        current[j] = std::min(current[j], before[j - 2] + 1);
    }
    std::swap(before, previous);
    std::swap(previous, current);
  }
  return previous[b.size()];
}

std::string_view nearestName(std::string_view name, std::span<const std::string_view> known) {
  std::string_view best;
  int bestDistance = std::max<int>(1, static_cast<int>(name.size()) / 3) + 1;
  for (std::string_view candidate : known) {
    int distance = editDistance(name, candidate);
    if (distance >= bestDistance) continue;
    best = candidate;
    bestDistance = distance;
  }
  return best;
}

std::string nearestName(std::string_view name, std::span<const std::string> known) {
  std::vector<std::string_view> views(known.begin(), known.end());
  return std::string(nearestName(name, std::span<const std::string_view>(views)));
}

std::string didYouMean(std::string_view name, std::span<const std::string_view> known) {
  std::string_view nearest = nearestName(name, known);
  return nearest.empty() ? std::string() : "; did you mean " + std::string(nearest) + "?";
}

} // namespace tegula
