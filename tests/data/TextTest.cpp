// Reading text: what is taken, in which order, and the words with which the rest is refused.
#include "data/Text.h"
#include "TemporaryFolder.h"
#include <gmock/gmock.h>
#include <sys/stat.h>

using namespace tegula;
using testing::HasSubstr;

namespace {

std::string refusal(const std::string& path) {
  auto r = readTextDocuments(path);
  return r.ok() ? "accepted" : std::string(message(r.status()));
}

TEST(Text, FolderIsReadInSortedOrderWithoutHiddenFiles) {
  TemporaryFolder f;
  f.write("b.txt", "B");
  f.write("a/z.md", "Z");
  f.write("a.txt", "A");
  f.write(".hidden.txt", "no");
  f.write(".git/x.txt", "no");
  f.write("picture.png", "no");
  f.write("empty.txt", "");
  auto r = readTextDocuments(f.path());
  ASSERT_TRUE(r.ok()) << r.status();
  std::string all;
  for (const auto& d : r->documents) all += d.text;
  EXPECT_EQ(all, "AZB"); // "a.txt" < "a/z.md" < "b.txt": '.' comes before '/'
  EXPECT_EQ(r->skippedFiles, 4);
  EXPECT_EQ(r->filesText(), "3 files read, 4 left out (.png empty hidden)");
}

TEST(Text, RefusesWithTheWayOut) {
  TemporaryFolder f;
  f.write("empty.txt", "");
  f.write("latin.txt", "caf\xe9 noir");
  f.write("binary.txt", std::string("ab\0cd", 5));
  f.write("folder/a.bin", "x");
  EXPECT_THAT(refusal(f.path("empty.txt")), HasSubstr("is empty; give a text"));
  EXPECT_THAT(refusal(f.path("latin.txt")),
              HasSubstr("byte 0xe9 at offset 3 is not UTF-8; convert the file, for example: iconv"));
  EXPECT_THAT(refusal(f.path("binary.txt")), HasSubstr("byte 2 is NUL, so this is a binary file"));
  EXPECT_THAT(refusal(f.path("folder")),
              HasSubstr("found no text (0 files read, 1 left out (.bin)); files must end in .txt"));
  EXPECT_THAT(refusal(f.path("none")), HasSubstr("no such file or folder"));
  ASSERT_EQ(::mkfifo(f.path("pipe").c_str(), 0600), 0);
  EXPECT_THAT(refusal(f.path("pipe")), HasSubstr("pipe: is a pipe; give a file or a folder"));
  EXPECT_THAT(refusal("/dev/zero"), HasSubstr("is a device"));
}

TEST(Text, LongListsOfLeftOutKindsAreCut) {
  TextDocuments t;
  t.skippedFiles = 8;
  t.skippedKinds = {".a", ".b", ".c", ".d", ".e", ".f", ".g", ".h"};
  EXPECT_EQ(t.filesText(), "0 files read, 8 left out (.a .b .c .d .e .f …)");
}

} // namespace
