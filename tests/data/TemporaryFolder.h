// A folder that lives as long as its test.
#pragma once

#include "base/Files.h"
#include <filesystem>
#include <gtest/gtest.h>
#include <string>

class TemporaryFolder {
public:
  TemporaryFolder() : path_(tegula::temporaryName(testing::TempDir() + "tegula")) {
    std::filesystem::create_directories(path_);
  }
  ~TemporaryFolder() {
    std::error_code e;
    std::filesystem::remove_all(path_, e);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }
  std::string path(const std::string& name) const { return path_ + "/" + name; }
  void write(const std::string& name, std::string_view text) const {
    std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
    ASSERT_TRUE(tegula::writeFileAtomically(path(name), text).ok());
  }

private:
  std::string path_;
};
