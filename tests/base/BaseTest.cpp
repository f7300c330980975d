// Symbols, statuses, hashes and name suggestions.
#include "base/Hash.h"
#include "base/Log.h"
#include "base/NearestName.h"
#include "base/Status.h"
#include "base/Symbol.h"

#include <gtest/gtest.h>
#include <thread>
#include <vector>

namespace tegula {
namespace {

TEST(Symbol, EqualTextsAreEqualSymbols) {
  std::string text = "weight";
  EXPECT_EQ(Symbol("weight"), Symbol(text));
  EXPECT_NE(Symbol("weight"), Symbol("bias"));
  EXPECT_EQ(Symbol("weight").text(), "weight");
  EXPECT_TRUE(Symbol().empty());
  EXPECT_EQ(Symbol(""), Symbol());
  EXPECT_EQ(Symbol().text(), "");
  Symbol late("zz-interned-first"), early("aa-interned-later");
  EXPECT_LT(early, late);
}

TEST(Symbol, InterningFromManyThreadsAgrees) {
  std::vector<std::vector<uint32_t>> ids(4, std::vector<uint32_t>(3000));
  std::vector<std::thread> threads;
  for (auto& mine : ids)
    threads.emplace_back([&mine] {
      for (size_t i = 0; i < mine.size(); ++i) {
        Symbol s("thread-symbol-" + std::to_string(i));
        mine[i] = s.id();
        EXPECT_EQ(s.text(), "thread-symbol-" + std::to_string(i));
      }
    });
  for (auto& t : threads) t.join();
  for (const auto& other : ids) EXPECT_EQ(other, ids[0]);
}

TEST(Status, ContextGoesInFront) {
  Status status = addContext(invalid("a has K={}", 3), "matmul");
  EXPECT_EQ(message(status), "matmul: a has K=3");
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(addContext(OkStatus(), "matmul").ok());
}

TEST(Hash, PiecesHashLikeTheWhole) {
  std::string text(1000, 'a');
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * 7);
  Hasher hasher;
  hasher.add(std::string_view(text).substr(0, 13));
  hasher.add(std::string_view(text).substr(13));
  EXPECT_EQ(hasher.hash128(), hash128(text));
  EXPECT_EQ(hasher.hash64(), hash64(text));
  // XXH3's published answers for the empty input.
  EXPECT_EQ(toHex(hash64(std::string_view())), "2d06800538d394c2");
  EXPECT_EQ(toHex(hash128(std::string_view())), "99aa06d3014798d86001c324468d497f");
}

TEST(Hash, HexadecimalReadsBack) {
  Hash128 h{0x12, 0xfedcba9876543210};
  EXPECT_EQ(toHex(h), "0000000000000012fedcba9876543210");
  EXPECT_EQ(parseHash128(toHex(h)), h);
  EXPECT_FALSE(parseHash128("12"));
  EXPECT_FALSE(parseHash128("0000000000000012fedcba987654321g"));
}

TEST(NearestName, SuggestsOnlyWhatIsNear) {
  std::vector<std::string_view> known = {"learning_rate", "axis", "keepdim", "eps"};
  EXPECT_EQ(nearestName("lerning_rate", known), "learning_rate");
  EXPECT_EQ(nearestName("aixs", known), "axis");
  EXPECT_EQ(nearestName("KEEPDIM", known), "keepdim");
  EXPECT_EQ(nearestName("banana", known), "");
  EXPECT_EQ(nearestName("", known), "");
  EXPECT_EQ(didYouMean("axes", known), "; did you mean axis?");
  EXPECT_EQ(editDistance("ab", "ba"), 1);
  EXPECT_EQ(editDistance("", "abc"), 3);
  EXPECT_EQ(editDistance("kitten", "sitting"), 3);
}

TEST(Log, LevelDecidesWhatIsMade) {
  setLogLevel(LogLevel::Error);
  EXPECT_FALSE(logEnabled(LogLevel::Warning));
  EXPECT_TRUE(logEnabled(LogLevel::Error));
  setLogLevel(LogLevel::Off);
  EXPECT_FALSE(logEnabled(LogLevel::Error));
}

} // namespace
} // namespace tegula
