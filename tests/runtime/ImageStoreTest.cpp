// The disk cache: what was stored comes back, anything damaged counts as absent, and the folder stays within its limit.
#include "runtime/ImageStore.h"
#include "TestCompiler.h"
#include "base/Files.h"
#include "base/Log.h"

#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace tegula {
namespace {

using test::TemporaryFolder;

std::vector<uint8_t> bytes(size_t size, int seed) {
  std::vector<uint8_t> b(size);
  for (size_t i = 0; i < size; ++i) b[i] = static_cast<uint8_t>(i * 31 + seed);
  return b;
}

TEST(ImageStore, givesBackWhatWasStored) {
  TemporaryFolder folder;
  ImageStore store(folder.path() + "/made/when/needed", 1 << 20);
  EXPECT_FALSE(store.load("a"));
  for (size_t size : {size_t(0), size_t(1), size_t(8192)}) {
    ASSERT_TRUE(store.store("a", bytes(size, 1)).ok());
    EXPECT_EQ(store.load("a"), bytes(size, 1));
  }
  EXPECT_FALSE(store.load("b"));
  EXPECT_EQ(store.usage().files, 1);
  EXPECT_TRUE(store.clear().ok());
  EXPECT_FALSE(store.load("a"));
}

TEST(ImageStore, everyTornOrDamagedFileCountsAsAbsentAndIsRemoved) {
  setLogLevel(LogLevel::Error); // a warning for each damaged file would hide the rest
  TemporaryFolder folder;
  ImageStore store(folder.path(), 1 << 20);
  ASSERT_TRUE(store.store("key of some length", bytes(100, 3)).ok());
  std::string path = store.pathOf("key of some length"), whole = readFile(path).value();
  auto write = [&](const std::string& text) { std::ofstream(path, std::ios::binary) << text; };
  for (size_t size = 0; size < whole.size(); ++size) {
    write(whole.substr(0, size));
    ASSERT_FALSE(store.load("key of some length")) << "first " << size << " bytes";
    ASSERT_FALSE(fileExists(path)) << "first " << size << " bytes";
  }
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] ^= 1;
    write(damaged);
    ASSERT_FALSE(store.load("key of some length")) << "byte " << i;
  }
  write(whole + "x");
  EXPECT_FALSE(store.load("key of some length"));
  write(whole);
  EXPECT_EQ(store.load("key of some length"), bytes(100, 3));
  setLogLevel(LogLevel::Warning);
}

/// Two keys of one name (a hash collision, made by copying the file): the key inside decides.
TEST(ImageStore, anotherKeyUnderTheSameNameIsAbsent) {
  TemporaryFolder folder;
  ImageStore store(folder.path(), 1 << 20);
  ASSERT_TRUE(store.store("one", bytes(10, 1)).ok());
  std::filesystem::copy_file(store.pathOf("one"), store.pathOf("two"));
  EXPECT_FALSE(store.load("two"));
}

TEST(ImageStore, trimRemovesTheLeastRecentlyUsed) {
  TemporaryFolder folder;
  ImageStore store(folder.path(), 5000);
  auto age = [&](const char* key, int minutes) {
    std::filesystem::last_write_time(store.pathOf(key),
                                     std::filesystem::file_time_type::clock::now() - std::chrono::minutes(minutes));
  };
  for (const char* key : {"a", "b", "c", "d"}) ASSERT_TRUE(store.store(key, bytes(2000, 1)).ok());
  age("a", 4), age("b", 3), age("c", 2), age("d", 1);
  EXPECT_TRUE(store.load("a")); // used: young again
  store.trim();
  EXPECT_TRUE(store.load("a"));
  EXPECT_FALSE(store.load("b"));
  EXPECT_FALSE(store.load("c"));
  EXPECT_TRUE(store.load("d"));
  EXPECT_LE(store.usage().bytes, 5000);
}

TEST(ImageStore, trimRemovesOldLeftoversOnly) {
  TemporaryFolder folder;
  ImageStore store(folder.path(), 1 << 20);
  ASSERT_TRUE(store.store("a", bytes(10, 1)).ok());
  std::string dead = store.pathOf("b") + ".tmp-1-1", live = store.pathOf("b") + ".tmp-2-1";
  std::string kept = store.pathOf("b") + ".tmp-keep"; // no name of ours
  auto anHourAgo = std::filesystem::file_time_type::clock::now() - std::chrono::hours(1);
  for (const std::string& path : {dead, live, kept}) std::ofstream(path) << "half";
  for (const std::string& path : {dead, kept}) std::filesystem::last_write_time(path, anHourAgo);
  store.trim();
  EXPECT_TRUE(fileExists(kept));
  EXPECT_FALSE(fileExists(dead));
  EXPECT_TRUE(fileExists(live));
  EXPECT_TRUE(store.load("a"));
}

/// Processes that write, read and trim the same few keys at once never see a wrong image.
TEST(ImageStore, concurrentProcessesAgree) {
  TemporaryFolder folder;
  std::vector<pid_t> children;
  for (int p = 0; p < 3; ++p) {
    pid_t child = fork();
    if (child == 0) {
      ImageStore store(folder.path(), 20000);
      bool wrong = false;
      for (int i = 0; i < 200; ++i) {
        std::string key = fmt::format("key {}", (i * 7 + p) % 5);
        auto expected = bytes(4000, key.back());
        if (auto found = store.load(key))
          wrong |= *found != expected;
        else
          wrong |= !store.store(key, expected).ok();
        if (i % 10 == 0) store.trim();
      }
      _exit(wrong);
    }
    children.push_back(child);
  }
  for (pid_t child : children) {
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
}

/// Sets a variable, or removes it (nullptr), until the end of the test.
class Variable {
public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    set(value);
  }
  ~Variable() { set(old_ ? old_->c_str() : nullptr); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

private:
  void set(const char* value) const {
    if (value)
      setenv(name_, value, 1);
    else
      unsetenv(name_);
  }
  const char* name_;
  std::optional<std::string> old_;
};

TEST(ImageStore, folderComesFromTheEnvironment) {
  Variable home("HOME", "/home/somebody"), xdg("XDG_CACHE_HOME", nullptr), own("TEGULA_CACHE", nullptr);
  EXPECT_EQ(cacheFolder("asked"), "asked");
  EXPECT_EQ(cacheFolder(""), "/home/somebody/.cache/tegula");
  Variable xdgSet("XDG_CACHE_HOME", "/caches");
  EXPECT_EQ(cacheFolder(""), "/caches/tegula");
  Variable ownSet("TEGULA_CACHE", "/elsewhere");
  EXPECT_EQ(cacheFolder(""), "/elsewhere");
}

/// Machine code is loaded from the folder: one that others can fill is not used.
TEST(ImageStore, withoutAHomeTheFolderIsThisUsersAlone) {
  namespace fs = std::filesystem;
  setLogLevel(LogLevel::Error); // it warns
  TemporaryFolder temporary;
  std::string shared = temporary.path();
  Variable home("HOME", nullptr), xdg("XDG_CACHE_HOME", nullptr), own("TEGULA_CACHE", nullptr),
      place("TMPDIR", shared.c_str());
  std::string folder = cacheFolder("");
  EXPECT_EQ(folder, fmt::format("{}/tegula-cache-{}", shared, geteuid()));
  EXPECT_EQ(fs::status(folder).permissions(), fs::perms::owner_all);
  EXPECT_EQ(cacheFolder(""), folder) << "also when it is there";
  fs::permissions(folder, fs::perms::all);
  EXPECT_EQ(cacheFolder(""), "") << "anybody may write";
  fs::remove_all(folder);
  fs::create_directories(shared + "/theirs");
  fs::create_directory_symlink(shared + "/theirs", folder);
  EXPECT_EQ(cacheFolder(""), "") << "leads elsewhere";
  if (geteuid() == 0) {
    fs::remove(folder);
    fs::create_directories(folder);
    ASSERT_EQ(chown(folder.c_str(), 12345, 12345), 0);
    EXPECT_EQ(cacheFolder(""), "") << "belongs to another user";
  }
  setLogLevel(LogLevel::Warning);
}

TEST(ImageStore, withoutAFolderNothingIsKept) {
  ImageStore store("", 1 << 20);
  EXPECT_TRUE(store.store("a", bytes(10, 1)).ok());
  EXPECT_FALSE(store.load("a"));
  store.trim();
  EXPECT_EQ(store.usage().files, 0);
  EXPECT_TRUE(store.clear().ok());
}

} // namespace
} // namespace tegula
