// What the tests of this folder share: the built-in operator library, loaded once, one with a file of one's own, and
// sessions for a target.
#pragma once

#include "base/Files.h"
#include "compiler/Compiler.h"
#include "runtime/Session.h"

#include <filesystem>
#include <gtest/gtest.h>

namespace tegula {

inline std::shared_ptr<const OperatorLibrary> library() {
  static const auto* loaded = [] {
    auto result = OperatorLibrary::loadEmbedded();
    if (!result.ok()) {
      ADD_FAILURE() << message(result.status());
      std::abort();
    }
    return new std::shared_ptr<const OperatorLibrary>(*result);
  }();
  return *loaded;
}

/// The library with a file of one's own; null, and a failure of the test, where that has errors.
inline std::shared_ptr<const OperatorLibrary> libraryWith(const std::string& text) {
  std::vector<SourceFile> files;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(TEGULA_SOURCE_DIR) + "/ops"))
    files.push_back({entry.path().filename().string(), readFile(entry.path().string()).value()});
  files.push_back({"own.tile", text});
  auto loaded = OperatorLibrary::load(files);
  EXPECT_TRUE(loaded.ok()) << message(loaded.status());
  return loaded.value_or(nullptr);
}

/// A session whose kernels are compiled for `target`.
inline std::unique_ptr<Session> sessionFor(const Target& target, std::shared_ptr<const OperatorLibrary> library) {
  auto compiler = Compiler::create(target, library);
  EXPECT_TRUE(compiler.ok()) << message(compiler.status());
  auto session = Session::create({}, std::move(library), std::move(*compiler));
  EXPECT_TRUE(session.ok()) << message(session.status());
  return std::move(*session);
}

} // namespace tegula
