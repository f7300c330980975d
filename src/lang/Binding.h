// Binds the symbols of an operator's header (M, K, ..., *S, element types) to the types it is applied to, and checks
// results against what the header says.
#pragma once

#include "lang/Ast.h"
#include "lang/Interpreter.h"
#include <optional>
#include <span>

namespace tegula::lang {

/// Which values belong to each declared input. Fails: too few, too many.
struct InputRange {
  size_t begin, end;
};
StatusOr<std::vector<InputRange>> inputRanges(const OperatorDecl&, size_t count);

/// The dimensions of a header's type as they are written, "M, 3, ..., *S"; `computed` stands for each expression.
std::string dimensionsText(const TensorRule&, std::string_view computed);

class Binding {
public:
  /// `interpreter` already knows inputs and attributes by name: conditions of types read them.
  Binding(const OperatorDecl& op, Interpreter& interpreter) : op_(op), interpreter_(interpreter) {}

  /// Binds every symbol; then gives them to the interpreter. An absent input is nullptr.
  Status bindInputs(std::span<const TensorType* const> types);
  /// After bindInputs failed: the declaration of the input that did not fit; line 0 if none.
  Span failedInput() const { return failedInput_; }
  /// Computes what the header says of the results. Before the body runs, because a body may reassign names.
  Status expectResults(Span* at);
  /// Compares with the expected results (residuals included); `at` is the place of the type that did not hold.
  Status checkResults(std::span<const TensorType> types, Span* at);

private:
  struct Bound {
    Symbol name;
    int64_t extent;
    Symbol by; // the input that bound it
  };
  StatusOr<const TensorRule*> choose(const TypeRule&);
  Status bindInput(Symbol input, const TensorRule&, const TensorType&);
  Status bindDim(Symbol input, const Dim&, int64_t extent, int axis);
  Status bindOpen(Symbol input, const Dim&, const Shape& extents);
  Status bindDType(Symbol input, const DTypeRule&, DType);
  struct Expected {
    const TensorRule* rule;
    Shape shape;
    bool known;                 // false where the rule leaves the shape open
    std::optional<DType> dtype; // where the rule fixes it
  };
  StatusOr<Shape> shapeOf(const TensorRule&, bool& known, Span* at);

  const OperatorDecl& op_;
  Interpreter& interpreter_;
  std::vector<Bound> dims_;
  std::vector<std::pair<Symbol, Shape>> groups_;
  std::vector<std::pair<Symbol, DType>> dtypes_;
  std::optional<Shape> ellipsis_;
  std::vector<Expected> expected_;
  Span failedInput_;
};

} // namespace tegula::lang
