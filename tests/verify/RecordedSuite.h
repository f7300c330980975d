// Every case of a recorded suite against an operation, for the reference evaluator and the compiled path.
#pragma once

#include "verify/RecordedCases.h"
#include <gtest/gtest.h>

namespace tegula {

/// Ties, kinks and rounded NaN are what some cases are about: nothing of them can be decided in a narrow type. They are
/// few, or the rules for errors say nothing.
inline void expectSuiteAgrees(const RecordedSuite& suite, DType dtype, const OperationUnderTest& operation,
                              const std::shared_ptr<const OperatorLibrary>& library, CompareOptions options) {
  ASSERT_FALSE(suite.cases.empty());
  size_t undecided = 0;
  for (const RecordedCase& c : suite.cases) {
    options.undecidedPart = 0.5;
    Status status = checkRecordedCase(c, dtype, operation, library, options);
    if (message(status).find("cannot be decided") != std::string_view::npos) {
      ++undecided;
      options.undecidedPart = 1;
      status = checkRecordedCase(c, dtype, operation, library, options);
    }
    EXPECT_TRUE(status.ok()) << message(status);
  }
  EXPECT_LE(undecided * 10, suite.cases.size()) << "cases of which more than half could not be decided";
}

} // namespace tegula
