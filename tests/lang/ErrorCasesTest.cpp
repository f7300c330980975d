// tests/errors: each NAME.tile must give exactly NAME.txt, and every diagnostic has a case named after it. To accept
// new text after reading it: TEGULA_ACCEPT=1 rewrites the .txt files.
#include "lang/Diagnostics.h"
#include "lang/OperatorLibrary.h"
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <set>
#include <sstream>

namespace tegula {
namespace {

std::string readAll(const std::filesystem::path& p) {
  std::ifstream in(p, std::ios::binary);
  std::stringstream s;
  s << in.rdbuf();
  return s.str();
}

std::vector<std::filesystem::path> cases() {
  std::vector<std::filesystem::path> files;
  for (const auto& e : std::filesystem::directory_iterator(TEGULA_SOURCE_DIR "/tests/errors"))
    if (e.path().extension() == ".tile") files.push_back(e.path());
  std::sort(files.begin(), files.end());
  return files;
}

TEST(ErrorCases, MessagesAreAsRecorded) {
  for (const auto& path : cases()) {
    SCOPED_TRACE(path.filename().string());
    SourceFile source{path.filename().string(), readAll(path)};
    auto library = OperatorLibrary::load({&source, 1});
    EXPECT_FALSE(library.ok());
    std::string got = library.ok() ? "accepted" : std::string(message(library.status()));
    std::filesystem::path expected = path;
    expected.replace_extension(".txt");
    if (std::getenv("TEGULA_ACCEPT")) std::ofstream(expected) << got << "\n";
    EXPECT_EQ(got + "\n", readAll(expected));
  }
}

TEST(ErrorCases, EveryDiagnosticHasOne) {
  std::set<std::string> files;
  for (const auto& path : cases()) files.insert(path.stem().string());
  EXPECT_GE(files.size(), 50u);
  for (lang::DiagnosticId id : lang::allDiagnosticIds()) {
    std::string name(lang::name(id));
    ASSERT_TRUE(files.contains(name)) << "tests/errors/" << name << ".tile is missing";
    std::string text = readAll(std::filesystem::path(TEGULA_SOURCE_DIR "/tests/errors") / (name + ".txt"));
    EXPECT_NE(text.find("[" + name + "]"), std::string::npos) << name << ".txt does not show the diagnostic";
    EXPECT_NE(text.find('^'), std::string::npos) << name << ".txt has no caret";
  }
}

TEST(ErrorCases, AtMostFiveAreShownAndTheRestCounted) {
  SourceFile source{"many.tile",
                    "@tile_op\ndef f(x: Tensor[...]) -> Tensor[...]:\n    return a + b + c + d + e + g + h + x\n"};
  auto library = OperatorLibrary::load({&source, 1});
  ASSERT_FALSE(library.ok());
  EXPECT_NE(message(library.status()).find("2 more errors not shown"), std::string_view::npos) << library.status();
}

} // namespace
} // namespace tegula
