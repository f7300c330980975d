// Optimal string alignment distance. Source: Boytsov, "Indexing methods for approximate dictionary searching", 2011, 2.1.
#include "config/Nearest.h"

#include <algorithm>
#include <vector>

namespace tegula::config {
namespace {

size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i)
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t replace = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, replace});
      bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  return d[a.size()][b.size()];
}

} // namespace

std::optional<std::string> nearestName(std::string_view name, std::span<const std::string> candidates) {
  constexpr size_t kLongest = 64; // names are short; a pasted paragraph is no misspelling
  if (name.size() > kLongest) return std::nullopt;
  std::optional<std::string> best;
  size_t bestDistance = 0;
  for (const std::string& candidate : candidates) {
    size_t d = distance(name, candidate);
    size_t allowed = std::max<size_t>(1, std::max(name.size(), candidate.size()) / 3);
    if (d > allowed || (best && d >= bestDistance)) continue;
    best = candidate;
    bestDistance = d;
  }
  return best;
}

} // namespace tegula::config
