#include "data/NGram.h"
#include "absl/container/flat_hash_map.h"
#include <cmath>
#include <vector>

namespace tegula {
namespace {

/// Counts of one order: histories and history+byte, packed into integers (a byte each, the length implied by the
/// order).
struct Order {
  absl::flat_hash_map<uint64_t, uint32_t> pairs;                          // history * 256 + byte
  absl::flat_hash_map<uint64_t, std::pair<uint32_t, uint32_t>> histories; // count, distinct bytes after it
};

uint64_t packHistory(std::span<const uint8_t> text, size_t end, size_t length) {
  uint64_t h = 0;
  for (size_t i = end - length; i < end; ++i) h = h << 8 | text[i];
  return h;
}

Order count(std::span<const uint8_t> text, size_t history) {
  Order order;
  for (size_t i = history; i < text.size(); ++i) {
    uint64_t h = packHistory(text, i, history);
    auto& [total, distinct] = order.histories[h];
    ++total;
    if (++order.pairs[h << 8 | text[i]] == 1) ++distinct;
  }
  return order;
}

} // namespace

StatusOr<double> nGramLoss(std::span<const uint8_t> train, std::span<const uint8_t> validation, int n) {
  if (n < 1 || n > 5) return invalid("n-gram: order {} is outside 1..5", n);
  if (train.empty() || validation.empty())
    return invalid("n-gram: needs text, got {} bytes to count and {} to predict", train.size(), validation.size());
  std::vector<Order> orders;
  for (int k = 0; k < n; ++k) orders.push_back(count(train, k));
  double nats = 0;
  for (size_t i = 0; i < validation.size(); ++i) {
    double p = 1.0 / 256;
    for (size_t k = 0; k < orders.size() && k <= i; ++k) {
      uint64_t h = packHistory(validation, i, k);
      auto history = orders[k].histories.find(h);
      if (history == orders[k].histories.end()) break; // longer histories are unseen as well
      auto [total, distinct] = history->second;
      auto pair = orders[k].pairs.find(h << 8 | validation[i]);
      double seen = pair == orders[k].pairs.end() ? 0 : pair->second;
      p = (seen + distinct * p) / (double(total) + distinct);
    }
    nats -= std::log(p);
  }
  return nats / double(validation.size());
}

} // namespace tegula
