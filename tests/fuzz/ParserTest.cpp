// A bounded, deterministic run of what the fuzzer does: random bytes, random tokens, spliced and truncated files of
// ops/, and nesting of every kind far beyond the limit.
#include "FuzzInput.h"
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <random>
#include <sstream>

namespace tegula {
namespace {

std::vector<std::string> operatorFiles() {
  std::vector<std::filesystem::path> paths;
  for (const auto& e : std::filesystem::directory_iterator(TEGULA_SOURCE_DIR "/ops"))
    if (e.path().extension() == ".tile") paths.push_back(e.path());
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> out;
  for (const auto& p : paths) {
    std::ifstream in(p);
    std::stringstream s;
    s << in.rdbuf();
    out.push_back(s.str());
  }
  return out;
}

constexpr unsigned kSeed = 20240917;

TEST(Fuzz, RandomBytes) {
  std::mt19937 random(kSeed);
  for (int i = 0; i < 400; ++i) {
    std::string s(random() % 300, '\0');
    for (char& c : s) c = static_cast<char>(i % 2 ? random() % 256 : 32 + random() % 95);
    SCOPED_TRACE(testing::Message() << "seed " << kSeed << ", input " << i);
    checkAnyInput(s);
  }
}

TEST(Fuzz, RandomTokens) {
  const char* tokens[] = {"@tile_op\n",
                          "@grad(f)\n",
                          "@tile_kernel(implements=f)\n",
                          "def f(",
                          "x",
                          ": Tensor[",
                          "...",
                          "]",
                          ")",
                          " -> ",
                          ":\n",
                          "\n",
                          "    ",
                          "        ",
                          "return ",
                          "if ",
                          "else:\n",
                          "for i in ",
                          "range(3)",
                          "grid(M, BM)",
                          "x[i, :]",
                          " = ",
                          " + ",
                          "**",
                          "(",
                          "[",
                          ",",
                          "None",
                          "True",
                          "1",
                          "2.5",
                          "\"s\"",
                          "\"\"\"",
                          "#c\n",
                          "\\\n",
                          "not ",
                          "is ",
                          "*",
                          "@",
                          "M",
                          "f32",
                          "exp(",
                          "sum(x, axis=",
                          "\t",
                          "\r\n",
                          "é"};
  std::mt19937 random(kSeed);
  for (int i = 0; i < 1500; ++i) {
    std::string s = i % 3 ? "@tile_op\ndef f(x: Tensor[...]) -> Tensor[...]:\n    return " : "";
    for (unsigned n = random() % 40; n > 0; --n) s += tokens[random() % std::size(tokens)];
    SCOPED_TRACE(testing::Message() << "seed " << kSeed << ", input " << i << ":\n" << s);
    checkAnyInput(s);
  }
}

TEST(Fuzz, ChangedFiles) {
  std::vector<std::string> files = operatorFiles();
  ASSERT_FALSE(files.empty());
  std::mt19937 random(kSeed);
  for (int i = 0; i < 250; ++i) {
    std::string s = files[random() % files.size()];
    const std::string& other = files[random() % files.size()];
    size_t at = random() % s.size();
    switch (i % 5) {
    case 0:
      s.resize(at);
      break;
    case 1:
      s = s.substr(0, at) + other.substr(random() % other.size());
      break;
    case 2:
      s.erase(at, random() % 200);
      break;
    case 3:
      for (int k = 0; k < 5; ++k) s[random() % s.size()] = static_cast<char>(random() % 256);
      break;
    default:
      s.insert(at, other.substr(random() % other.size(), random() % 300));
      break;
    }
    SCOPED_TRACE(testing::Message() << "seed " << kSeed << ", input " << i);
    checkAnyInput(s);
  }
}

std::string repeat(const std::string& s, int n) {
  std::string out;
  out.reserve(s.size() * static_cast<size_t>(n));
  for (int i = 0; i < n; ++i) out += s;
  return out;
}

/// A chain of operators, each calling the next `width` times.
std::string calls(int depth, int width) {
  std::string s = "@tile_op\ndef f0(x: Tensor[...]) -> Tensor[...]:\n    return -x\n";
  for (int i = 1; i < depth; ++i) {
    s += fmt::format("\n\n@tile_op\ndef f{}(x: Tensor[...]) -> Tensor[...]:\n    y = x\n", i);
    for (int k = 0; k < width; ++k) s += fmt::format("    y = f{}(y)\n", i - 1);
    s += "    return y\n";
  }
  return s;
}

TEST(Fuzz, DeepNesting) {
  constexpr int n = 20000;
  std::string head = "@tile_op\ndef f(x: Tensor[...]) -> Tensor[...]:\n    return ";
  std::string blocks = "@tile_op\ndef f(x: Tensor[...]) -> Tensor[...]:\n";
  for (int i = 1; i < 400; ++i) blocks += std::string(static_cast<size_t>(i) * 4, ' ') + "if True:\n";
  std::string chain = "@tile_op\ndef f(x: Tensor[...]) -> Tensor[...]:\n    if True:\n        return x\n" +
                      repeat("    elif True:\n        return x\n", 3000) + "    return x\n";
  for (const std::string& s : std::vector<std::string>{
           head + repeat("(", n),
           head + repeat("(", n) + "x" + repeat(")", n),
           head + repeat("-", n) + "x",
           head + repeat("not ", n) + "x",
           head + repeat("x + ", n) + "x",
           head + repeat("x ** ", n) + "x",
           head + "x" + repeat("[0]", n),
           head + "x" + repeat(".shape", n),
           head + repeat("exp(", n) + "x" + repeat(")", n),
           head + repeat("maximum(0, ", 100) + "x" + repeat(")", 100),
           head + "exp(x)\n" + repeat("    y = zz + (\n", n),
           head + repeat("x if True else ", n) + "x",
           head + repeat("[", n),
           head + repeat("{", n),
           head + "x" + repeat("[", n),
           repeat("@", n),
           repeat("@tile_op\n", n),
           repeat("def ", n),
           repeat("\"\"\"", n + 1),
           head + "(" + repeat("x, ", n) + ")",
           blocks + "return x\n",
           blocks,
           chain,
           "@tile_op\ndef f(" + repeat("x: Tensor[...], ", n) + ") -> Tensor[...]:\n    return x\n",
           head + "sum(" + repeat("x, ", n) + "x)",
           repeat(" \n", n),
           repeat(")", n),
           repeat("\\\n", n),
           std::string(n, '\0'),
           calls(300, 1),
           calls(60, 2),
           calls(5000, 1),
           "@tile_op\ndef f(x: Tensor[...]) -> Tensor[...]:\n    for i in range(4000):\n        for j in "
           "range(4000):\n            x = x + i\n    return x\n"}) {
    SCOPED_TRACE(s.substr(0, 120));
    checkAnyInput(s);
  }
}

} // namespace
} // namespace tegula
