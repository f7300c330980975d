// Philox against the vectors of its authors, and the streams made from it.
#include "base/Random.h"

#include <cmath>
#include <gtest/gtest.h>

namespace tegula {
namespace {

// Known answers of Random123, file tests/kat_vectors, philox4x32 with 10 rounds.
TEST(Philox, GivesTheAuthorsAnswers) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}), (PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, CountersAndKeysAre64Bit) {
  auto key = philoxKey(1, 2);
  EXPECT_NE(philoxElement(key, 0, 0), philoxElement(key, 0, uint64_t{1} << 32));
  EXPECT_NE(philoxElement(key, 0, 0), philoxElement(key, uint64_t{1} << 32, 0));
  EXPECT_NE(philoxElement(key, 1, 0), philoxElement(key, 0, 1));
  EXPECT_NE(philoxKey(1, 2), philoxKey(2, 1));
}

TEST(RandomStream, NormalNumbersHaveTheRightMoments) {
  RandomStream stream(7, 11);
  constexpr int kCount = 100000;
  double sum = 0, squares = 0, fourth = 0;
  for (int i = 0; i < kCount; ++i) {
    double x = stream.normal();
    sum += x;
    squares += x * x;
    fourth += x * x * x * x;
  }
  // Five standard deviations of each estimate: 1, sqrt(2) and sqrt(96) over sqrt(n).
  double root = std::sqrt(kCount);
  EXPECT_NEAR(sum / kCount, 0, 5 / root);
  EXPECT_NEAR(squares / kCount, 1, 5 * std::sqrt(2.0) / root);
  EXPECT_NEAR(fourth / kCount, 3, 5 * std::sqrt(96.0) / root);
}

TEST(RandomStream, DrawsAreInRangeAndReproducible) {
  RandomStream a(3, 5), b(3, 5), other(3, 6);
  bool differs = false;
  for (int i = 0; i < 1000; ++i) {
    double x = a.uniform();
    EXPECT_EQ(x, b.uniform());
    EXPECT_GE(x, 0);
    EXPECT_LT(x, 1);
    differs = differs || x != other.uniform();
  }
  EXPECT_TRUE(differs);
  int seen[7] = {};
  for (int i = 0; i < 7000; ++i) ++seen[a.below(7)];
  for (int count : seen) EXPECT_NEAR(count, 1000, 5 * std::sqrt(1000.0));
  EXPECT_EQ(a.below(1), 0u);
}

} // namespace
} // namespace tegula
