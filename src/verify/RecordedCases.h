// Operator calls recorded by an independent implementation: a folder with cases.json and cases.safetensors.
//
//   cases.json          {"source": …, "cases": [{"case", "op", "inputs": [names], "attrs", "gradients": [names],
//   "note"}]} cases.safetensors   CASE.in.NAME, CASE.out, CASE.dout (upstream gradient), CASE.grad.NAME; results in f64
//
// Operator, input and attribute names are the library's. tests/recorded/record.py makes such a folder.
#pragma once

#include "verify/Compare.h"
#include "verify/Operation.h"

#include <map>
#include <optional>

namespace tegula {

struct RecordedCase {
  std::string id, note;
  Symbol op;
  std::vector<HostArray> inputs;  // in the operator's order; default where absent
  std::vector<Symbol> inputNames; // one per entry of `inputs`
  Attributes attributes;
  HostArray result;
  std::optional<HostArray> upstream;
  std::vector<HostArray> gradients; // one per entry of `inputs`; default where not recorded
};

struct RecordedSuite {
  std::string source;
  std::vector<RecordedCase> cases;
  /// Cases of operators that the library does not have: `operator (N cases)`.
  std::map<std::string, int> skipped;
};

/// The folder that TEGULA_RECORDED names, else `fallback`; nothing if it does not exist.
std::optional<std::string> recordedFolder(const std::string& fallback);

/// Fails: files that do not fit together, attributes that an operator does not take.
StatusOr<RecordedSuite> readRecordedCases(const std::string& folder, const OperatorLibrary& library);

/// Runs one case in `dtype` (float inputs are rounded to it first) and compares result and gradients with what was
/// recorded. The bound comes from error analysis, with the rounding of inputs as one more error.
Status checkRecordedCase(const RecordedCase&, DType dtype, const OperationUnderTest&,
                         std::shared_ptr<const OperatorLibrary>, const CompareOptions& = {});

} // namespace tegula
