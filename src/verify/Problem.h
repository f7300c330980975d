// A problem line: one operator call as one line of text, for `op show`, `op check`, bench, tests and the fuzzer's
// output (spec/problem-line.md).
//
//   matmul a=3,67,5:t b=5,16:e bf16 transpose_a=true
//   embedding w=1000,64 i=7,3:0..1000 f32 seed=5
//
//   TG_ASSIGN_OR_RETURN(Problem p, parseProblem(line, library));
//   std::vector<HostArray> inputs = makeInputs(p);
#pragma once

#include "lang/OperatorLibrary.h"
#include "lang/ProblemText.h"
#include "tensor/HostArray.h"
#include <optional>

namespace tegula {

struct ProblemInput {
  Symbol name;
  bool present = false; // an optional input that the line leaves out is not
  TensorType type;
  InputLayout layout = InputLayout::Contiguous;
  /// Values are drawn evenly from [low, high); without it floats are normal, integers in [0, 4), bools even odds.
  std::optional<std::pair<double, double>> range;
};

struct Problem {
  Symbol op; // a library operator or, failing that, a primitive
  DType dtype = DType::F32;
  std::vector<ProblemInput> inputs; // in the operator's order; a variadic input repeats its name
  Attributes attributes;            // as written, without defaults
  uint64_t seed = 1;
};

/// Fails: an unknown operator, input or attribute (the nearest name is given), a malformed shape or value.
StatusOr<Problem> parseProblem(std::string_view line, const OperatorLibrary& library);
/// The canonical line: parses to an equal problem.
std::string toString(const Problem&);

/// One array per input (a default HostArray where absent), a pure function of the problem.
std::vector<HostArray> makeInputs(const Problem&);
/// `values` in the memory order that `layout` asks for.
HostArray arrange(const HostArray& values, InputLayout layout);
/// Result types of the call (without residuals).
StatusOr<TensorTypes> resultTypes(const Problem&, const OperatorLibrary& library);

/// What a call of a library operator or primitive takes.
struct CallSignature {
  struct Input {
    Symbol name;
    bool optional = false, variadic = false, differentiable = true;
    std::optional<DType> dtype; // stated by the operator; integers default to i64
  };
  std::vector<Input> inputs;
  std::vector<OperatorInfo::Attribute> attributes;
  int results = 1;
  bool isPrimitive = false;
};
StatusOr<CallSignature> signatureOf(Symbol op, const OperatorLibrary& library);

} // namespace tegula
