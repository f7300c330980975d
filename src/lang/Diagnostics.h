// Diagnostics: what is wrong, where, found and expected. Every kind has an id; tests/errors holds a case for each.
//
//   ops/softmax.tile:4:15: error: unknown name 'axs'; did you mean 'axis'? [unknown-name]
//       e = exp(x, axs)
//                  ^~~
#pragma once

#include "base/Status.h"
#include "lang/Span.h"
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

namespace tegula {
struct SourceFile;
}

namespace tegula::lang {

// clang-format off
#define TG_DIAGNOSTICS(X)                                                                                              \
  /* text */                                                                                                           \
  X(NotUtf8, "not-utf8") X(BadCharacter, "bad-character") X(UnterminatedString, "unterminated-string") X(BadNumber, "bad-number")             \
  X(BadEscape, "bad-escape") X(BadIndent, "bad-indent") X(UnexpectedIndent, "unexpected-indent")                       \
  X(TabIndent, "tab-indent") X(UnmatchedBracket, "unmatched-bracket")                                                  \
  /* syntax */                                                                                                         \
  X(ExpectedToken, "expected-token") X(ExpectedExpression, "expected-expression")                                      \
  X(ExpectedDefinition, "expected-definition") X(ExpectedBlock, "expected-block") X(TooDeep, "too-deep")               \
  X(BadTarget, "bad-target") X(ChainedComparison, "chained-comparison") X(UnsupportedSyntax, "unsupported-syntax")     \
  X(DefaultOrder, "default-order") X(KeywordOrder, "keyword-order") X(DuplicateKeyword, "duplicate-keyword")           \
  /* declarations */                                                                                                   \
  X(MissingDecorator, "missing-decorator") X(UnknownDecorator, "unknown-decorator")                                    \
  X(DecoratorArguments, "decorator-arguments") X(DuplicateDefinition, "duplicate-definition")                          \
  X(DuplicateParameter, "duplicate-parameter") X(MissingAnnotation, "missing-annotation")                              \
  X(UnknownType, "unknown-type") X(BadDimension, "bad-dimension") X(TwoEllipses, "two-ellipses")                       \
  X(UnboundDimension, "unbound-dimension") X(UnboundDType, "unbound-dtype") X(BadDefault, "bad-default")               \
  X(MissingInput, "missing-input") X(MissingResult, "missing-result") X(ResidualOrder, "residual-order") X(InputOrder, "input-order")                   \
  X(ExampleMismatch, "example-mismatch") X(UnknownOperator, "unknown-operator") X(DuplicateGrad, "duplicate-grad")     \
  X(GradParameters, "grad-parameters") X(GradArity, "grad-arity") X(KernelNeedsGrad, "kernel-needs-grad")              \
  X(DuplicateKernel, "duplicate-kernel") X(KernelParameters, "kernel-parameters") X(KernelOutputs, "kernel-outputs")   \
  X(RecursiveOperator, "recursive-operator")                                                                           \
  /* bodies */                                                                                                         \
  X(UnknownName, "unknown-name") X(UnknownFunction, "unknown-function") X(UnknownMember, "unknown-member")             \
  X(ArgumentCount, "argument-count") X(UnknownArgument, "unknown-argument") X(ArgumentType, "argument-type")           \
  X(OperandType, "operand-type") X(BadIndex, "bad-index") X(ConditionType, "condition-type") X(LoopRange, "loop-range")\
  X(MaybeUndefined, "maybe-undefined") X(UnusedName, "unused-name") X(NoEffect, "no-effect")                           \
  X(Unreachable, "unreachable") X(MissingReturn, "missing-return") X(ResultCount, "result-count")                      \
  X(ElementType, "element-type") X(ShapeMismatch, "shape-mismatch") X(ResultMismatch, "result-mismatch")                                              \
  X(ConstantArithmetic, "constant-arithmetic") X(TupleSize, "tuple-size")                                              \
  /* kernels */                                                                                                        \
  X(KernelGrid, "kernel-grid") X(KernelStatement, "kernel-statement") X(KernelFunction, "kernel-function")             \
  X(TileIndex, "tile-index") X(TileShape, "tile-shape") X(TileType, "tile-type")                           \
  X(ConstantValue, "constant-value") X(StoreTarget, "store-target") X(StoreRace, "store-race")                         \
  X(OutputNotStored, "output-not-stored")
// clang-format on

enum class DiagnosticId : uint8_t {
#define X(name, text) name,
  TG_DIAGNOSTICS(X)
#undef X
};
std::string_view name(DiagnosticId); // "unknown-name"
std::span<const DiagnosticId> allDiagnosticIds();

struct Diagnostic {
  DiagnosticId id;
  Span span;
  std::string message;
};

/// Writes an id into an error, for idOf.
void attachId(Status&, DiagnosticId);

/// Collects; at most kShown are printed, in order of place, because the first ones explain the rest.
class Diagnostics {
public:
  static constexpr size_t kShown = 5;

  template <typename... A> void report(DiagnosticId id, Span at, fmt::format_string<A...> text, A&&... args) {
    add({id, at, fmt::format(text, std::forward<A>(args)...)});
  }
  void add(Diagnostic d);
  bool empty() const { return all_.empty(); }
  size_t size() const { return all_.size(); }
  /// Whether something was reported on lines first … last of a file.
  bool hasBetween(int32_t file, int32_t first, int32_t last) const;
  /// Sorted by place, cut to kShown.
  std::vector<Diagnostic> shown() const;
  /// Rendered with source lines and carets.
  std::string render(std::span<const SourceFile> sources) const;
  /// Ok, or InvalidArgument with render().
  Status status(std::span<const SourceFile> sources) const;

private:
  std::vector<Diagnostic> all_;
  std::set<std::tuple<DiagnosticId, int32_t, int32_t, int32_t>> said_; // id, file, line, column
  std::set<std::pair<int32_t, int32_t>> lines_;                        // file, line
};

/// An error of a body that runs, with the id that a diagnostic of it has: bad input, as `invalid` makes it.
template <typename... A> Status refused(DiagnosticId id, fmt::format_string<A...> text, A&&... args) {
  Status s = invalid(text, std::forward<A>(args)...);
  attachId(s, id);
  return s;
}
/// The id that `refused` gave, or `otherwise`.
DiagnosticId idOf(const Status&, DiagnosticId otherwise);
/// addContext that keeps the id.
Status withContext(const Status&, std::string_view context);

/// The file, line and caret of one place with a message: also for errors found when an operator is instantiated.
std::string renderAt(Span at, std::string_view message, std::string_view id, std::span<const SourceFile> sources);
/// Only the source line and the caret under it, each after a line break.
std::string renderLine(Span at, std::span<const SourceFile> sources);

/// `; did you mean 'axis'?` for the candidate nearest to `name` (base/NearestName.h), or nothing when none is near.
/// Names of one letter are near only to themselves, in the other case.
std::string didYouMean(std::string_view name, const std::vector<std::string_view>& candidates);

} // namespace tegula::lang
