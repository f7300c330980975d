// Recorded references of independent implementations: data only, found in the folder that TEGULA_RECORDED names, else
// ../shared/oracle beside the source tree. `record.py` beside this file makes such folders.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <string>

namespace tegula {

/// The folder `name` of the recorded references; empty if it is not there.
inline std::string recordedFolder(const std::string& name) {
  const char* named = std::getenv("TEGULA_RECORDED");
  std::string root = named && *named ? named : std::string(TEGULA_SOURCE_DIR) + "/../shared/oracle";
  std::string folder = root + "/" + name;
  return std::filesystem::is_directory(folder) ? folder : std::string();
}

/// Whether the long tests were asked for (./dev test --long).
inline bool longTests() {
  const char* value = std::getenv("TEGULA_LONG");
  return value && *value && std::string(value) != "0";
}

} // namespace tegula

/// Skips a test loudly where its reference is absent.
#define TEGULA_RECORDED_OR_SKIP(folder, name)                                                                          \
  std::string folder = ::tegula::recordedFolder(name);                                                                 \
  if (folder.empty())                                                                                                  \
  GTEST_SKIP() << "needs the recorded reference " << name << ": set TEGULA_RECORDED to a folder that holds it"
