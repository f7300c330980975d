// The layers hold: every #include is checked against the table in ARCHITECTURE.md. A folder may include its own files
// and folders of lower layers; a missing row, an upward edge or a sideways edge fails, naming file and line.
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <regex>
#include <set>
#include <sstream>

namespace fs = std::filesystem;

namespace {

const fs::path kRoot = TEGULA_SOURCE_DIR;

std::string read(const fs::path& p) {
  std::ifstream in(p);
  std::stringstream s;
  s << in.rdbuf();
  return s.str();
}

/// Rows "| 3 | `src/data/` | …": folder -> layer.
std::map<std::string, int> layerTable() {
  std::map<std::string, int> layers;
  std::istringstream in(read(kRoot / "ARCHITECTURE.md"));
  std::regex row(R"(^\|\s*(\d+)\s*\|\s*`(?:src/)?([a-z/]+?)/?`)");
  for (std::string line; std::getline(in, line);) {
    std::smatch m;
    if (std::regex_search(line, m, row)) layers[m[2]] = std::stoi(m[1]);
  }
  return layers;
}

struct Edge {
  std::string file, included;
  int line;
};

std::vector<Edge> includesOf(const fs::path& file) {
  std::vector<Edge> edges;
  std::istringstream in(read(file));
  std::regex include(R"(^\s*#\s*include\s*["<]([^">]+)[">])");
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    std::smatch m;
    if (std::regex_search(line, m, include)) edges.push_back({fs::relative(file, kRoot).string(), m[1], number});
  }
  return edges;
}

std::vector<fs::path> sourcesUnder(const fs::path& folder) {
  std::vector<fs::path> files;
  if (!fs::exists(folder)) return files;
  for (const auto& e : fs::recursive_directory_iterator(folder))
    if (e.path().extension() == ".h" || e.path().extension() == ".cpp" || e.path().extension() == ".c")
      files.push_back(e.path());
  return files;
}

/// What is wrong with folder `from` including `target`, or nothing. `layers` has "base", "tensor", …, "include/tegula".
std::string wrongEdge(const std::map<std::string, int>& layers, const std::string& from, const std::string& target) {
  std::string top = target.substr(0, target.find('/'));
  if (top == "tegula") top = "include/tegula";
  auto to = layers.find(top);
  if (to == layers.end() || top == from) return {}; // a library, the standard, or the folder itself
  if (to->second < layers.at(from)) return {};
  return "layer " + std::to_string(layers.at(from)) + " (" + from + ") includes layer " + std::to_string(to->second) +
         " (" + top + ")";
}

TEST(Layering, EveryFolderHasARow) {
  auto layers = layerTable();
  ASSERT_GE(layers.size(), 14u) << "the table of ARCHITECTURE.md could not be read";
  for (const auto& e : fs::directory_iterator(kRoot / "src")) {
    if (sourcesUnder(e.path()).empty()) continue;
    EXPECT_TRUE(layers.count(e.path().filename().string()))
        << "ARCHITECTURE.md has no row for src/" << e.path().filename();
  }
}

TEST(Layering, NoUpwardOrSidewaysEdge) {
  auto layers = layerTable();
  int edges = 0;
  for (const auto& [folder, layer] : layers) {
    for (const auto& file : sourcesUnder(kRoot / "src" / folder))
      for (const Edge& e : includesOf(file)) {
        ++edges;
        EXPECT_EQ(wrongEdge(layers, folder, e.included), "")
            << e.file << ":" << e.line << ": #include \"" << e.included << "\"";
      }
  }
  EXPECT_GT(edges, 100) << "too few includes were seen for the test to mean anything";
}

TEST(Layering, TheRuleCanFail) {
  std::map<std::string, int> layers{{"base", 1}, {"tensor", 2}, {"config", 2}, {"graph", 5}};
  EXPECT_EQ(wrongEdge(layers, "graph", "tensor/Shape.h"), "");
  EXPECT_NE(wrongEdge(layers, "tensor", "graph/Graph.h"), "") << "upward";
  EXPECT_NE(wrongEdge(layers, "tensor", "config/Schema.h"), "") << "sideways";
}

TEST(Layering, OnlyTheCompilerSeesMlirAndLlvm) {
  for (const auto& file : sourcesUnder(kRoot / "src"))
    for (const Edge& e : includesOf(file))
      if (e.included.starts_with("mlir/") || e.included.starts_with("llvm/"))
        EXPECT_TRUE(e.file.starts_with("src/compiler/")) << e.file << ":" << e.line;
  for (const char* face : {"Compiler.h", "Target.h"})
    for (const Edge& e : includesOf(kRoot / "src/compiler" / face))
      EXPECT_FALSE(e.included.starts_with("mlir/") || e.included.starts_with("llvm/")) << e.file << ":" << e.line;
}

TEST(Layering, BackendsSeeOnlyTheirHeaderAndTheSdk) {
  auto layers = layerTable();
  for (const auto& file : sourcesUnder(kRoot / "backends"))
    for (const Edge& e : includesOf(file)) {
      std::string top = e.included.substr(0, e.included.find('/'));
      EXPECT_FALSE(layers.count(top) && e.included.find('/') != std::string::npos)
          << e.file << ":" << e.line << ": a backend may include tegula/*.h and backends/sdk only, found "
          << e.included;
    }
}

TEST(Layering, PublicHeadersAreC) {
  for (const auto& file : sourcesUnder(kRoot / "include"))
    for (const Edge& e : includesOf(file))
      EXPECT_TRUE(e.included.ends_with(".h") && (e.included.starts_with("std") || e.included.starts_with("tegula/")))
          << e.file << ":" << e.line << ": " << e.included;
}

} // namespace
