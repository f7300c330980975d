// Files: what was written is there completely or not at all; errors name the path and the reason; locks exclude.
#include "base/Files.h"

#include "SyncWitness.h"
#include <filesystem>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tegula {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class FilesTest : public testing::Test {
protected:
  void SetUp() override { ASSERT_TRUE(makeFolders(folder_).ok()); }
  void TearDown() override { ASSERT_TRUE(removeAll(folder_).ok()); }
  std::string path(std::string_view name) const { return folder_ + "/" + std::string(name); }
  std::string folder_ = temporaryName(testing::TempDir() + "tegula-files");
};

TEST_F(FilesTest, WritesAndReadsBack) {
  ASSERT_TRUE(writeFileAtomically(path("a"), std::string_view("one\0two", 7)).ok());
  EXPECT_EQ(readFile(path("a")).value(), std::string("one\0two", 7));
  ASSERT_TRUE(writeFileAtomically(path("a"), std::string_view()).ok());
  EXPECT_EQ(readFile(path("a")).value(), "");
  ASSERT_TRUE(appendFile(path("a"), "x").ok());
  ASSERT_TRUE(appendFile(path("a"), "y").ok());
  EXPECT_EQ(readFile(path("a")).value(), "xy");
  EXPECT_EQ(fileSizeBytes(path("a")).value(), 2);
  EXPECT_THAT(listFolder(folder_).value(), ElementsAre("a")); // nothing is left beside it
}

TEST_F(FilesTest, FailedWriteLeavesTheOldContents) {
  ASSERT_TRUE(makeFolders(path("target/full")).ok()); // a folder that is not empty cannot be replaced
  Status status = writeFileAtomically(path("target"), std::string_view("x"));
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(message(status)), HasSubstr(path("target")));
  EXPECT_THAT(listFolder(folder_).value(), ElementsAre("target"));
}

TEST_F(FilesTest, AFileKeepsItsPermissionsAndANewOneFollowsTheUmask) {
  mode_t before = ::umask(027);
  auto permissions = [&] { return std::filesystem::status(path("a")).permissions(); };
  ASSERT_TRUE(writeFileAtomically(path("a"), std::string_view("1")).ok());
  EXPECT_EQ(permissions(), std::filesystem::perms(0640));
  for (mode_t mode : {0600, 0666, 0755, 0444}) {
    ASSERT_EQ(::chmod(path("a").c_str(), mode), 0);
    ASSERT_TRUE(writeFileAtomically(path("a"), std::string_view("2")).ok());
    EXPECT_EQ(permissions(), std::filesystem::perms(mode));
  }
  ::umask(before);
}

TEST_F(FilesTest, ErrorsNameThePathAndTheReason) {
  Status status = readFile(path("missing")).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(message(status), "cannot open " + path("missing") + ": No such file or directory");
  EXPECT_THAT(std::string(message(readFile(folder_).status())), HasSubstr("Is a directory"));
  EXPECT_THAT(std::string(message(MappedFile::open(folder_).status())), HasSubstr("Is a directory"));
  EXPECT_FALSE(listFolder(path("missing")).ok());
  EXPECT_FALSE(writeFileAtomically(path("no/folder"), std::string_view("x")).ok());
}

TEST_F(FilesTest, ListsInByteOrder) {
  for (const char* name : {"b", "a", "B", ".hidden", "10", "9"})
    ASSERT_TRUE(writeFileAtomically(path(name), std::string_view()).ok());
  EXPECT_THAT(listFolder(folder_).value(), ElementsAre(".hidden", "10", "9", "B", "a", "b"));
}

TEST_F(FilesTest, MapsFilesOfAnySize) {
  for (size_t size : {0u, 1u, 4097u}) {
    std::string text(size, 'q');
    ASSERT_TRUE(writeFileAtomically(path("m"), text).ok());
    auto mapped = MappedFile::open(path("m")).value();
    ASSERT_TRUE(removeFile(path("m")).ok()); // the mapping outlives the name
    EXPECT_EQ(std::string(mapped->bytes().begin(), mapped->bytes().end()), text);
  }
}

TEST_F(FilesTest, LocksExcludeOtherHoldersAndProcesses) {
  auto held = FileLock::acquire(path("lock"));
  ASSERT_TRUE(held.ok());
  Status taken = FileLock::tryAcquire(path("lock")).status();
  EXPECT_TRUE(absl::IsUnavailable(taken));
  EXPECT_THAT(std::string(message(taken)), HasSubstr("is locked"));
  Status impossible = FileLock::tryAcquire(path("nowhere/lock")).status(); // is no lock that somebody holds
  EXPECT_FALSE(impossible.ok() || absl::IsUnavailable(impossible));
  pid_t child = fork();
  if (child == 0) _exit(FileLock::tryAcquire(path("lock")).ok() ? 1 : 0);
  int result = 1;
  ASSERT_EQ(waitpid(child, &result, 0), child);
  EXPECT_EQ(result, 0);
  {
    FileLock released = std::move(held).value();
  }
  EXPECT_TRUE(FileLock::tryAcquire(path("lock")).ok());
}

TEST_F(FilesTest, TemporaryNamesDiffer) { EXPECT_NE(temporaryName("x"), temporaryName("x")); }

TEST_F(FilesTest, OnlyTemporaryNamesAreTakenForOnes) {
  EXPECT_EQ(baseOfTemporaryName(temporaryName("step-2")), "step-2");
  EXPECT_EQ(baseOfTemporaryName(temporaryName("a.tmp-1-1")), "a.tmp-1-1");
  for (const char* own :
       {"", "step-2", "step-2-keep", "step-2.tmp", "step-2.tmp-", "step-2.tmp-keep", "step-2.tmp-1", "step-2.tmp-1-",
        "step-2.tmp--1", "step-2.tmp-1-a", "step-2.tmp-1-2-3", "step-2.tmp-1-1-keep", "step-2.tmp-1-1.old"})
    EXPECT_EQ(baseOfTemporaryName(own), "") << own;
}

TEST_F(FilesTest, MakesFoldersWithTheirParentsInAnySpelling) {
  for (const char* name : {"a/b/c", "a/b/c", "d/e/", "f/../g", "h/."}) {
    EXPECT_TRUE(makeFolders(path(name)).ok()) << name;
    EXPECT_TRUE(isFolder(path(name))) << name;
  }
  ASSERT_TRUE(writeFileAtomically(path("file"), std::string_view("x")).ok());
  for (const char* name : {"file", "file/below"})
    EXPECT_THAT(std::string(message(makeFolders(path(name)))), HasSubstr("cannot make folder " + path("file") + ": "));
  EXPECT_FALSE(makeFolders("").ok());
}

/// The entry of a folder is its parent's to keep: without that a crash takes the folder with all that was synced in it.
TEST_F(FilesTest, FoldersThatWereMadeAreDurable) {
  SyncWitness witness;
  ASSERT_TRUE(makeFolders(path("a/b")).ok());
  EXPECT_TRUE(witness.sawDurable(path("a")));
  EXPECT_TRUE(witness.sawDurable(path("a/b")));
}

} // namespace
} // namespace tegula
