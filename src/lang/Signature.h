// What a call may pass: shared by the checker (which reports with places) and the interpreter (which binds values), for
// built-in functions and for operators alike.
#pragma once

#include "lang/Ast.h"
#include "lang/Operand.h"
#include <span>
#include <string>

namespace tegula::lang {

/// A set of kinds of value.
using Kinds = uint16_t;
namespace kind {
constexpr Kinds Tensor = 1, Int = 2, Float = 4, Bool = 8, DType = 16, String = 32, None = 64,
                Tuple = 128, // of integers, as a shape, or of tensors
    Number = Int | Float, Any = 255;
constexpr Kinds Tile = 256, Range = 512; // in kernels: a tile; the index of a tile loop
} // namespace kind
/// "a tensor or an integer"
std::string describeKinds(Kinds);

struct SignatureParam {
  Symbol name;
  Kinds kinds = kind::Any;
  bool required = true;
  bool variadic = false;    // takes all remaining positional arguments
  bool keywordOnly = false; // follows a bare `*`
};

struct Signature {
  Symbol name;
  std::vector<SignatureParam> params;
  Kinds result = kind::Tensor;
  int results = 1; // more than one: a Sequence of that many
};

/// Which argument of a call goes to each parameter.
struct Matched {
  struct Problem {
    enum class Kind { TooMany, Unknown, Twice, Missing } kind;
    size_t argument; // index into Expr::args; 0: the call itself
    std::string message;
  };
  std::vector<std::vector<size_t>> arguments; // per parameter: indices into Expr::args
  std::vector<Problem> problems;
};
Matched matchArguments(const Signature&, const Expr& call);

/// The signature of an operator as a function of bodies: its parameters in the order of its header.
Signature signatureOf(const OperatorDecl&);

} // namespace tegula::lang
