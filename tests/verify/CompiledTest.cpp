// The compiled path against values with derived bounds: every line of operators.problems, forward and backward, in f32
// and bf16, and the recorded cases.
#include "Library.h"
#include "RecordedSuite.h"
#include "base/Files.h"
#include "compiler/Compiler.h"
#include "verify/Check.h"
#include "verify/RecordedCases.h"
#include "verify/SessionOperation.h"

#include <iostream>

namespace tegula {
namespace {

/// One session for all: kernels are compiled once.
Session& session() {
  static Session* made = [] {
    auto result = Session::create({});
    if (!result.ok()) {
      std::cerr << message(result.status()) << "\n";
      std::abort();
    }
    return result->release();
  }();
  return *made;
}

std::vector<std::string> problemLines() {
  auto text = readFile(std::string(TEGULA_SOURCE_DIR) + "/tests/verify/operators.problems");
  std::vector<std::string> lines;
  std::string line;
  for (char c : text.value_or("") + "\n") {
    if (c != '\n')
      line += c;
    else if (!line.empty() && line[0] != '#')
      lines.push_back(std::exchange(line, ""));
    else
      line.clear();
  }
  return lines;
}

class Compiled : public testing::TestWithParam<std::tuple<std::string, DType>> {};

TEST_P(Compiled, AgreesWithBounds) {
  auto [line, dtype] = GetParam();
  auto problem = parseProblem(line + " " + std::string(name(dtype)), *session().library());
  ASSERT_TRUE(problem.ok()) << message(problem.status());
  auto report = checkProblem(*problem, sessionOperation(session()), session().library());
  EXPECT_TRUE(report.ok()) << message(report.status());
  EXPECT_EQ(session().stats().kernelsReference, 0);
}

INSTANTIATE_TEST_SUITE_P(Operators, Compiled,
                         testing::Combine(testing::ValuesIn(problemLines()), testing::Values(DType::F32, DType::BF16)));

/// Blocks so small that every loop of a tile kernel takes several steps.
Session& smallBlockSession() {
  static Session* made = [] { return sessionFor(withSmallBlocks(*detectTarget()), session().library()).release(); }();
  return *made;
}

std::vector<std::string> kernelLines() {
  std::vector<std::string> lines;
  for (const std::string& line : problemLines())
    if (library()->kernelFor(Symbol(line.substr(0, line.find(' '))))) lines.push_back(line);
  return lines;
}

class CompiledInSmallBlocks : public testing::TestWithParam<std::tuple<std::string, DType>> {};

TEST_P(CompiledInSmallBlocks, AgreesWithBounds) {
  auto [line, dtype] = GetParam();
  Session& s = smallBlockSession();
  auto problem = parseProblem(line + " " + std::string(name(dtype)), *s.library());
  ASSERT_TRUE(problem.ok()) << message(problem.status());
  auto report = checkProblem(*problem, sessionOperation(s), s.library());
  EXPECT_TRUE(report.ok()) << message(report.status());
}

INSTANTIATE_TEST_SUITE_P(Operators, CompiledInSmallBlocks,
                         testing::Combine(testing::ValuesIn(kernelLines()), testing::Values(DType::F32, DType::BF16)));

class CompiledRecorded : public testing::TestWithParam<std::tuple<const char*, DType>> {};

TEST_P(CompiledRecorded, Agrees) {
  auto [suiteName, dtype] = GetParam();
  auto folder = recordedFolder(std::string(TEGULA_SOURCE_DIR) + "/../shared/oracle");
  if (!folder) GTEST_SKIP() << "no recorded cases: set TEGULA_RECORDED to a folder made by tests/recorded/record.py";
  auto suite = readRecordedCases(*folder + "/" + suiteName, *session().library());
  ASSERT_TRUE(suite.ok()) << message(suite.status());
  expectSuiteAgrees(*suite, dtype, sessionOperation(session()), session().library(), {});
}

INSTANTIATE_TEST_SUITE_P(Suites, CompiledRecorded,
                         testing::Combine(testing::Values("operators", "operators-edge"),
                                          testing::Values(DType::F32, DType::BF16)));

} // namespace
} // namespace tegula
