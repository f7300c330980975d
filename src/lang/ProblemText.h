// The words of problem lines (spec/problem-line.md). The `@example` of an operator is read here, whole lines for tools
// and tests in src/verify/Problem.h: both by these functions, so that they cannot disagree.
#pragma once

#include "base/ParseNumber.h"
#include "base/Status.h"
#include "lang/Ast.h"
#include "primitives/Attributes.h"
#include <optional>
#include <string_view>
#include <vector>

namespace tegula {

/// How an input's elements lie in memory.
enum class InputLayout : uint8_t {
  Contiguous,
  Transposed, // `:t` memory order of the axes reversed; rank 1: every other element
  Expanded    // `:e` one slice along axis 0, repeated with stride 0
};

namespace lang {

/// `3,67,5:t:bf16:0..4`, what follows `NAME=` of an input.
struct InputText {
  Shape shape;
  InputLayout layout = InputLayout::Contiguous;
  std::optional<DType> dtype;
  std::optional<std::pair<double, double>> range;
};

/// The parts between blanks; pieces of `line`.
std::vector<std::string_view> problemWords(std::string_view line);
/// `otherwise`: the element type of an input that states none. Fails: a malformed part, or one given twice; more
/// elements than memory has.
StatusOr<InputText> parseInputText(std::string_view name, std::string_view text, DType otherwise);
/// The text as a value of a declared type ("int", "ints", …). Fails: it is none.
StatusOr<AttrValue> parseAttributeText(std::string_view name, std::string_view type, std::string_view text);
/// `1,2`, `[1,2]`, `[]`.
std::optional<Shape> parseIntList(std::string_view text);
/// What an operator states of an input's element type: a type, or that it is an integer (`i64`).
std::optional<DType> statedType(const InputDecl&);

} // namespace lang
} // namespace tegula
