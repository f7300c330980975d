// Counting models: closed forms on tiny texts, and the refusals.
#include "data/NGram.h"
#include <cmath>
#include <gtest/gtest.h>
#include <string_view>

namespace tegula {
namespace {

std::span<const uint8_t> bytes(std::string_view s) { return {reinterpret_cast<const uint8_t*>(s.data()), s.size()}; }

TEST(NGram, UnigramIsWittenBell) {
  // "aab": count 3, 2 distinct. P(a) = (2 + 2/256) / 5, P(z) = (2/256) / 5.
  double loss = *nGramLoss(bytes("aab"), bytes("az"), 1);
  EXPECT_NEAR(loss, -(std::log((2 + 2.0 / 256) / 5) + std::log(2.0 / 256 / 5)) / 2, 1e-12);
}

TEST(NGram, UnseenHistoryFallsBackToShorterOne) {
  // The history "z" was never seen: the bigram model must equal the unigram model for the byte after it.
  double uni = *nGramLoss(bytes("aab"), bytes("za"), 1), bi = *nGramLoss(bytes("aab"), bytes("za"), 2);
  EXPECT_NEAR(uni, bi, 1e-12);
}

TEST(NGram, ProbabilitiesSumToOne) {
  std::string train = "the cat sat on the mat";
  double sum = 0;
  for (int c = 0; c < 256; ++c) {
    std::string text = "th" + std::string(1, char(c));
    double three = *nGramLoss(bytes(train), bytes(text), 3) * 3, two = *nGramLoss(bytes(train), bytes("th"), 3) * 2;
    sum += std::exp(-(three - two));
  }
  EXPECT_NEAR(sum, 1, 1e-9);
}

TEST(NGram, LongerHistoriesHelpOnRepetition) {
  std::string text;
  for (int i = 0; i < 200; ++i) text += "abcabd";
  EXPECT_LT(*nGramLoss(bytes(text), bytes(text), 3), *nGramLoss(bytes(text), bytes(text), 2));
}

TEST(NGram, Refusals) {
  EXPECT_EQ(message(nGramLoss(bytes(""), bytes("a"), 2).status()),
            "n-gram: needs text, got 0 bytes to count and 1 to predict");
  EXPECT_EQ(message(nGramLoss(bytes("a"), bytes("a"), 6).status()), "n-gram: order 6 is outside 1..5");
}

} // namespace
} // namespace tegula
