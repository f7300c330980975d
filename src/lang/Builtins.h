// The built-in functions of @tile_op and @grad bodies. spec/tile-language.md section 5 lists them; a built-in hides an
// operator of the same name inside bodies (the operator `exp` is defined as `return exp(x)`).
#pragma once

#include "lang/Emitter.h"
#include "lang/Signature.h"

namespace tegula::lang {

struct Builtin {
  Signature signature;
  /// `args` holds one operand per parameter (None where not given; a Sequence for a variadic one).
  StatusOr<Operand> (*call)(Emitter&, std::span<const Operand> args);
};

const Builtin* findBuiltin(Symbol name);
std::vector<Symbol> builtinNames();

// The groups that Builtins.cpp puts together.
std::span<const Builtin> mathBuiltins();
std::span<const Builtin> reductionBuiltins();
std::span<const Builtin> shapeBuiltins();

/// A list of integers from a tuple or one integer. Fails: anything else, or longer than kMaxRank.
StatusOr<Shape> toShape(const Operand&);
/// Python's slice start:stop:step of an extent, as (start, size).
StatusOr<std::pair<int64_t, int64_t>> sliceBounds(const Operand& start, const Operand& stop, int64_t step,
                                                  int64_t extent);

} // namespace tegula::lang
