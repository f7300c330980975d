// The reference evaluator against recorded operator calls, in f64, f32 and bf16, forward and backward.
#include "Library.h"
#include "RecordedSuite.h"
#include "verify/RecordedCases.h"

#include <iostream>

namespace tegula {
namespace {

class Recorded : public testing::TestWithParam<std::tuple<const char*, DType>> {};

TEST_P(Recorded, ReferenceAgrees) {
  auto [suiteName, dtype] = GetParam();
  auto folder = recordedFolder(std::string(TEGULA_SOURCE_DIR) + "/../shared/oracle");
  if (!folder) GTEST_SKIP() << "no recorded cases: set TEGULA_RECORDED to a folder made by tests/recorded/record.py";
  auto suite = readRecordedCases(*folder + "/" + suiteName, *library());
  ASSERT_TRUE(suite.ok()) << message(suite.status());
  for (const auto& [op, count] : suite->skipped)
    std::cout << "not in the library: " << op << " (" << count << " cases)\n";
  OperationUnderTest reference =
      referenceOperation(library(), dtype == DType::F64 ? Precision::Wide : Precision::AsStated);
  CompareOptions options;
  options.slack = 1;
  expectSuiteAgrees(*suite, dtype, reference, library(), options);
  std::cout << suite->cases.size() << " cases, " << suite->skipped.size() << " operators not in the library\n";
}

INSTANTIATE_TEST_SUITE_P(Suites, Recorded,
                         testing::Combine(testing::Values("operators", "operators-edge"),
                                          testing::Values(DType::F64, DType::F32, DType::BF16)),
                         [](const auto& info) {
                           std::string suite = std::get<0>(info.param) == std::string("operators") ? "plain" : "edge";
                           return suite + "_" + std::string(name(std::get<1>(info.param)));
                         });

} // namespace
} // namespace tegula
