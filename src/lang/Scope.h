// Names of a body while it is checked: what kind of value each may hold, whether every path sets it, whether anything
// reads it. Shared by the checkers of operators and kernels.
#pragma once

#include "lang/Ast.h"
#include "lang/Diagnostics.h"
#include "lang/Signature.h"
#include <map>
#include <set>

namespace tegula::lang {

struct NameState {
  Kinds kinds = kind::Any;
  bool always = true; // set on every path that leads here
  int count = -1;     // a Sequence whose length is known
};

class Scope {
public:
  explicit Scope(Diagnostics& diagnostics) : diagnostics_(diagnostics), before_(diagnostics.size()) {}

  /// A parameter or dimension. `unusedText` is the message when nothing reads it; empty: that is fine.
  void declare(Symbol name, Span at, NameState, std::string unusedText = {});
  /// An assignment.
  void set(Symbol name, Span at, NameState);
  /// A use: reports unknown and maybe-undefined names. Null when unknown.
  const NameState* use(const Expr& name);
  bool has(Symbol name) const { return names_.contains(name); }
  /// Whether every path that leads here sets it.
  bool always(Symbol name) const {
    auto it = names_.find(name);
    return it != names_.end() && it->second.always;
  }
  void markUsed(Symbol name) { used_[name] = true; }
  bool used(Symbol name) const {
    auto it = used_.find(name);
    return it != used_.end() && it->second;
  }

  // Branches: every path starts from the same names and they are merged after it.
  using Names = std::map<Symbol, NameState>;
  Names snapshot() const { return names_; }
  void restore(Names n) { names_ = std::move(n); }
  /// The names after paths that ended in `ends` (paths that returned are left out).
  static Names merge(const std::vector<Names>& ends);

  /// Reports what was set and never read; nothing when other errors were reported, because their places may be the uses
  /// that are missing.
  void reportUnused();

private:
  static constexpr size_t kMostHints = 16; // each looks at all names, and only the first errors are shown
  /// `; did you mean 'axis'?` for the nearest name that is known.
  std::string nearName(Symbol) const;

  struct Origin {
    Span at;
    std::string unusedText;
  };
  Diagnostics& diagnostics_;
  size_t before_;            // diagnostics when the body began
  std::set<Symbol> unknown_; // names that were reported: said once
  Names names_;
  std::map<Symbol, Origin> origins_;
  std::map<Symbol, bool> used_;
};

/// Whether every path through the block returns.
bool alwaysReturns(const Block&);
/// `unreachable` for statements after a return, `missing-return` when a path does not.
void checkReturns(const Function&, Diagnostics&);

/// A kernel's parameters against its operator; declares them, and the dimensions, in the scope.
void checkKernelParameters(const KernelDecl&, const OperatorDecl&, Scope&, Diagnostics&);

} // namespace tegula::lang
