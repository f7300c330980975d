// Expressions of tile kernels' bodies: what each is, with a diagnostic for whatever the compiler could not make code
// from, so that a kernel that is accepted compiles.
//
//   KernelExpressions.cpp  names, loads, members, conditions
//   KernelOperators.cpp    operators on tiles and numbers
//   KernelFunctions.cpp    calls
#pragma once

#include "lang/Scope.h"
#include "lang/TileValue.h"
#include <map>
#include <set>

namespace tegula::lang {

class KernelExpressions {
public:
  KernelExpressions(const KernelDecl&, const OperatorDecl&, Scope&, Diagnostics&);

  TileValue value(const Expr&);
  /// `a op b`; `at` is where it is wrong.
  TileValue operate(Op, const TileValue& a, const TileValue& b, Span at);
  /// Reports unless `e` is a constant truth value.
  void condition(const Expr& e);
  /// The tile that p[index, index] names. `loops`: which loops' indices stand there (may be null).
  TileValue access(const KernelParam& p, const Expr& index, std::vector<int>* loops = nullptr);

  bool isDimension(Symbol) const;
  /// "BM", "16", "?": an extent or block size as axes name it.
  static std::string axisName(const Expr&);

  /// What a name holds, as last set; null when it was never set.
  const TileValue* find(Symbol) const;
  void set(Symbol, TileValue);
  void unset(Symbol name) { values_.erase(name); }

  /// What differs between paths besides names: numbers, and which optional inputs are there.
  struct Facts {
    struct Number {
      std::string runtime;
      std::optional<Operand> constant;
    };
    std::map<Symbol, Number> numbers;
    std::set<Symbol> present;
  };
  const Facts& facts() const { return facts_; }
  void restore(Facts f) { facts_ = std::move(f); }
  /// What is known after paths that ended in `ends`.
  static Facts merge(const std::vector<Facts>& ends);
  /// From here on `condition` is `truth`: `x is not None` says that x is there.
  void assume(const Expr& condition, bool truth);

private:
  template <typename... A> void report(DiagnosticId id, Span at, fmt::format_string<A...> text, A&&... args) {
    diagnostics_.report(id, at, text, std::forward<A>(args)...);
  }

  TileValue name(const Expr&);
  TileValue parameter(const KernelParam&, const NameState&, Span at);
  TileValue load(const Expr&);
  TileValue member(const Expr&);
  TileValue isNone(const Expr&);
  TileValue logic(const Expr&);
  TileValue unary(const Expr&);
  /// A tile or number with the elements of a parameter.
  TileValue elementsOfParameter(const KernelParam&) const;

  // Operators.
  TileValue operateOnTiles(Op, const TileValue& a, const TileValue& b, Span at);
  TileValue compareNumbers(Op, const TileValue& a, const TileValue& b, Span at);
  TileValue operateOnNumbers(Op, const TileValue& a, const TileValue& b, Span at);
  TileValue fold(Op, const TileValue& a, const TileValue& b, TileValue result, Span at);
  bool fitsElements(const TileValue& number, const TileValue& elements, Span at);
  TileValue broadcast(const TileValue& a, const TileValue& b, Span at);
  /// The elements of `what` (an operator or function, quoted) applied to both; a failed value when they do not meet.
  TileValue meet(std::string_view what, const TileValue& a, const TileValue& b, Span at);
  bool noTruth(std::string_view what, const TileValue&, Span at);
  bool divides(Op, const TileValue& a, const TileValue& b, Span at);

  // Functions.
  TileValue call(const Expr&);
  TileValue method(const Expr&);
  bool takes(const Expr& call, const struct KernelFunction&);
  TileValue unaryFunction(const Expr&, bool integersToo);
  TileValue extremum(const Expr&);
  TileValue castTo(const Expr&);
  TileValue make(const Expr&, bool value);
  TileValue dot(const Expr&);
  TileValue where(const Expr&);
  TileValue reduce(const Expr&);
  TileValue positions(const Expr&, bool rows);
  std::string extent(const Expr&);
  /// The element type that an argument names.
  TileValue elementType(const Expr&, std::string_view function);
  TileValue requireTile(TileValue, const Expr& at);

  const KernelDecl& k_;
  const OperatorDecl& op_;
  Scope& scope_;
  Diagnostics& diagnostics_;
  std::map<Symbol, TileValue> values_;
  std::set<Symbol> whole_; // dimensions that the kernel reads whole: constants when it is compiled
  Facts facts_;
  int inCondition_ = 0;
};

} // namespace tegula::lang
