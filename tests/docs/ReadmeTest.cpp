// Every command of tegula that the README shows does what it says: they are read from it and run, training with a few
// steps. Of ./dev's verbs (setting up, building, minutes of training) it is tested that they exist and stop at a failure.
#include "../data/TemporaryFolder.h"
#include <cstdlib>
#include <gmock/gmock.h>

using namespace tegula;
using testing::HasSubstr;

namespace {

struct Block {
  std::string language; // "" for commands
  std::vector<std::string> lines;
  std::string text() const { return fmt::format("{}\n", fmt::join(lines, "\n")); }
};

std::vector<Block> codeBlocks(const std::string& markdown) {
  std::vector<Block> blocks;
  bool inside = false;
  std::istringstream in(markdown);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("```")) {
      inside = !inside;
      if (inside) blocks.push_back({line.substr(3), {}});
    } else if (inside)
      blocks.back().lines.push_back(line);
  }
  return blocks;
}

struct Result {
  int exitCode = -1;
  std::string output;
};

Result shell(const std::string& command) {
  Result r;
  std::FILE* pipe = popen(("exec 2>&1; " + command).c_str(), "r");
  if (!pipe) return r;
  char buffer[4096];
  while (size_t n = std::fread(buffer, 1, sizeof(buffer), pipe)) r.output.append(buffer, n);
  int status = pclose(pipe);
  r.exitCode = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
  return r;
}

class Readme : public testing::Test {
protected:
  void SetUp() override {
    auto text = readFile(TEGULA_SOURCE_DIR "/README.md");
    ASSERT_TRUE(text.ok()) << text.status();
    blocks = codeBlocks(*text);
  }
  /// Shown commands, without their comments, that start with one of `prefixes`.
  std::vector<std::string> commands(std::initializer_list<std::string_view> prefixes) const {
    std::vector<std::string> out;
    for (const Block& b : blocks) {
      if (!b.language.empty()) continue;
      for (const std::string& line : b.lines)
        for (std::string_view prefix : prefixes)
          if (line.starts_with(prefix)) out.push_back(line.substr(0, line.find("  #")));
    }
    return out;
  }
  std::string only(std::string_view language) const {
    std::string found;
    for (const Block& b : blocks)
      if (b.language == language) {
        EXPECT_TRUE(found.empty()) << "two blocks of " << language << ": tell this test which is which";
        found = b.text();
      }
    EXPECT_FALSE(found.empty()) << "no block of " << language;
    return found;
  }
  std::vector<Block> blocks;
};

TEST_F(Readme, CommandsOfTegulaWork) {
  TemporaryFolder f;
  std::string text;
  for (int i = 0; text.size() < 60000; ++i) text += fmt::format("Once upon a time there were {} of them. ", i * i % 91);
  f.write("my.txt", text);
  f.write("my.toml", only("toml"));
  std::filesystem::copy(TEGULA_SOURCE_DIR "/ops", f.path("ops"));
  f.write("ops/soft_cap.tile", only("python"));

  std::vector<std::string> shown = commands({"tegula ", "build/release/src/cli/tegula "});
  ASSERT_GE(shown.size(), 11u);
  bool stopped = false; // the first run, so that it can be resumed
  for (const std::string& line : shown) {
    std::string arguments = line.substr(line.find(' '));
    if (line.find(" train ") != std::string::npos && line.find("--resume") == std::string::npos) {
      arguments += " --set training.steps=4";
      if (!stopped) arguments += " --stop-at 2";
      stopped = true;
    }
    Result r = shell(fmt::format("cd {} && TEGULA_OPS={}/ops {}{}", f.path(), f.path(), TEGULA_EXECUTABLE, arguments));
    EXPECT_EQ(r.exitCode, 0) << line << "\n" << r.output;
  }
  EXPECT_TRUE(std::filesystem::exists(f.path("runs/my-1/config.toml")));
  EXPECT_TRUE(std::filesystem::exists(f.path("runs/my-1/checkpoints/step-4"))) << "resumed to its end";
}

TEST_F(Readme, CommandsOfDevExist) {
  std::vector<std::string> shown = commands({"./dev "});
  ASSERT_GE(shown.size(), 6u);
  for (const std::string& line : shown) {
    std::istringstream words(line);
    std::string dev, verb, name;
    words >> dev >> verb >> name;
    Result help = shell(fmt::format("cd {} && ./dev {} --help", TEGULA_SOURCE_DIR, verb));
    EXPECT_EQ(help.exitCode, 0) << line << "\n" << help.output;
    if (verb == "bench") EXPECT_THAT(help.output, HasSubstr("  " + name + " ")) << line;
  }
}

TEST(Dev, VerbsStopAtTheFirstFailure) {
  for (const auto& verb : std::filesystem::directory_iterator(TEGULA_SOURCE_DIR "/scripts/dev")) {
    auto text = readFile(verb.path().string());
    ASSERT_TRUE(text.ok());
    EXPECT_THAT(*text, testing::AnyOf(HasSubstr("\nsource scripts/common.sh\n"), HasSubstr("\nset -euo pipefail\n")))
        << verb.path();
  }
  std::string script = TEGULA_SOURCE_DIR "/scripts/common.sh";
  Result failed = shell("bash -c 'cd " TEGULA_SOURCE_DIR "; source " + script + "; false; echo reached'");
  EXPECT_NE(failed.exitCode, 0);
  EXPECT_EQ(failed.output, "");
}

TEST(Bench, ProgramsAreWhereDevLooksForThem) {
  if (!TEGULA_HAS_BENCH) GTEST_SKIP() << "the benchmarks are not built here; configure with -DTEGULA_BENCH=ON";
  Result gemm = shell(TEGULA_BINARY_DIR "/bench/bench_gemm 64 48 32 2");
  EXPECT_EQ(gemm.exitCode, 0) << gemm.output;
  EXPECT_THAT(gemm.output, HasSubstr("% of the FMA peak"));
  Result record = shell(TEGULA_BINARY_DIR "/bench/bench_record 100");
  EXPECT_EQ(record.exitCode, 0) << record.output;
  EXPECT_THAT(record.output, HasSubstr("ns a node"));
  Result step =
      shell(TEGULA_BINARY_DIR "/bench/bench_step " TEGULA_SOURCE_DIR "/examples/small.toml --set model.dim=32 "
                              "--set model.n_layers=1 --set training.local_batch_size=1 2");
  EXPECT_EQ(step.exitCode, 0) << step.output;
  EXPECT_THAT(step.output, HasSubstr("matrix products at peak"));
}

} // namespace
