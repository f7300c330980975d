// Runs a body of a @tile_op or @grad against a Builder: constants are computed here, tensors become primitives and
// calls of other operators. One pass over the syntax tree; nothing is kept.
#pragma once

#include "lang/Ast.h"
#include "lang/Emitter.h"
#include <span>

namespace tegula::lang {

/// The operators that a body may call.
class OperatorTable {
public:
  virtual ~OperatorTable() = default;
  virtual const OperatorDecl* find(Symbol) const = 0;
  /// Sorted.
  virtual std::vector<Symbol> names() const = 0;
  virtual StatusOr<Attributes> complete(const OperatorDecl&, const Attributes&) const = 0;
};

class Interpreter {
public:
  Interpreter(const OperatorTable& operators, Builder& builder) : operators_(operators), emitter_(builder) {}

  void bind(Symbol name, Operand value);
  const Operand* lookup(Symbol name) const;

  /// Runs statements up to a return. The operand is what was returned.
  StatusOr<Operand> run(const Block&);
  StatusOr<Operand> evaluate(const Expr&);
  /// The truth of a condition. Fails on a tensor.
  StatusOr<bool> condition(const Expr&);

  Emitter& emitter() { return emitter_; }
  /// Where the innermost failure was; line 0 when nothing failed.
  Span failure() const { return failure_; }
  /// The value of the return statement that ended the body.
  Span returnedAt() const { return returnedAt_; }

private:
  enum class Flow { Next, Returned };
  StatusOr<Flow> block(const Block&);
  StatusOr<Flow> statement(const Stmt&);
  Status assign(const Expr& target, Operand value);

  StatusOr<Operand> compute(const Expr&);
  StatusOr<Operand> unary(const Expr&);
  StatusOr<Operand> binary(const Expr&);
  StatusOr<Operand> binary(Op, const Expr& left, const Expr& right);
  Status ofOperator(Op, const Status&, std::initializer_list<std::pair<const Expr*, const Operand*>>) const;
  StatusOr<Operand> call(const Expr&);
  StatusOr<Operand> callOperator(const OperatorDecl&, const Expr&);
  StatusOr<Operand> index(const Expr&);
  StatusOr<Operand> indexTensor(Value, const Expr&);
  StatusOr<Operand> indexSequence(const Sequence&, const Expr&);
  StatusOr<Operand> sequence(const Expr&);
  StatusOr<Operand> member(const Expr&);

  const OperatorTable& operators_;
  Emitter emitter_;
  std::vector<std::pair<Symbol, Operand>> names_;
  Operand returned_;
  int64_t steps_ = 0; // of loops, so far
  Span failure_, returnedAt_;
};

/// A tuple within kMostElements and kDeepestTuple. Fails: beyond them.
StatusOr<Operand> tupleOf(Sequence);
/// Adds elements to a tuple that is being made. Fails: more than kMostElements.
Status append(Sequence&, const Sequence& more);
/// Arithmetic of two constants or tensors, by Python's rules for numbers.
StatusOr<Operand> applyBinary(Emitter&, Op, const Operand& a, const Operand& b);
StatusOr<Operand> applyUnary(Emitter&, Op, const Operand& a);
/// Arithmetic of two constants. Fails on division by zero and on integers that do not fit 64 bits.
StatusOr<Operand> applyConstants(Op, const Operand& a, const Operand& b);

} // namespace tegula::lang
