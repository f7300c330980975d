// Every kind of ill-formed sequence, and characters that a stream has not finished.
#include "base/Utf8.h"
#include <gtest/gtest.h>

namespace tegula {
namespace {

TEST(Utf8, FindsEveryKindOfIllFormedSequence) {
  EXPECT_EQ(findInvalidUtf8("h\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"), std::string_view::npos);
  struct {
    std::string_view text;
    size_t offset;
  } bad[] = {{"a\x80", 1},
             {"ab\xc0\xaf", 2},
             {"\xe0\x80\xaf", 0},
             {"\xed\xa0\x80", 0},
             {"\xf4\x90\x80\x80", 0},
             {"x\xf8\x88\x80\x80\x80", 1},
             {"ok\xe2\x82", 2},
             {"\xc3(", 0}};
  for (const auto& b : bad) EXPECT_EQ(findInvalidUtf8(b.text), b.offset);
}

TEST(Utf8, HoldsBackOnlyWhatCanBeCompleted) {
  EXPECT_EQ(incompleteUtf8Tail("abc"), 0u);
  EXPECT_EQ(incompleteUtf8Tail(""), 0u);
  EXPECT_EQ(incompleteUtf8Tail("a\xc3"), 1u);
  EXPECT_EQ(incompleteUtf8Tail("a\xe2\x82"), 2u);
  EXPECT_EQ(incompleteUtf8Tail("a\xf0\x9f\x98"), 3u);
  EXPECT_EQ(incompleteUtf8Tail("a\xf0\x9f\x98\x80"), 0u);
  EXPECT_EQ(incompleteUtf8Tail("a\x80"), 0u); // no character begins like that: nothing to wait for
}

} // namespace
} // namespace tegula
