// Inside OperatorLibrary: the parsed modules, the declarations, and running them. Private to lang.
#pragma once

#include "absl/container/flat_hash_map.h"
#include "lang/Ast.h"
#include "lang/Diagnostics.h"
#include "lang/Interpreter.h"
#include "lang/OperatorLibrary.h"
#include "lang/Parser.h"

namespace tegula {

struct OperatorLibrary::Impl : lang::OperatorTable {
  using Span = lang::Span;
  struct Entry {
    std::unique_ptr<lang::OperatorDecl> op;
    std::unique_ptr<lang::GradDecl> grad;
    std::unique_ptr<lang::KernelDecl> kernel;
    OperatorInfo info;
  };
  std::vector<SourceFile> sources;
  std::vector<lang::ParsedModule> modules;
  absl::flat_hash_map<Symbol, Entry> entries;

  const lang::OperatorDecl* find(Symbol) const override;
  std::vector<Symbol> names() const override;
  StatusOr<Attributes> complete(const lang::OperatorDecl&, const Attributes&) const override;

  /// The place of an error: in a body or result declaration, or the input declaration that refused its type.
  struct Failure {
    Span body, header;
  };
  /// Runs a body; `failure` may be null.
  StatusOr<Values> run(const Entry&, std::span<const Value> inputs, const Attributes&, Builder&,
                       Failure* failure) const;
  StatusOr<Values> runGrad(const Entry&, std::span<const Value> inputs, std::span<const Value> outputs,
                           std::span<const Value> outputGradients, const Attributes&, Builder&, Failure* failure) const;
  /// `budget` (may be null) counts down operators looked into, so that a library whose operators multiply each other's
  /// calls is refused and not followed.
  StatusOr<TensorTypes> infer(const Entry&, std::span<const TensorType* const>, const Attributes&, Failure* failure,
                              int64_t* budget = nullptr) const;
};

namespace lang {

/// A builder that only computes types.
class TypeBuilder : public Builder {
public:
  static constexpr int64_t kMostCalls = 20000;
  explicit TypeBuilder(const OperatorLibrary::Impl& library, int64_t* budget = nullptr)
      : library_(library), budget_(budget ? budget : &own_) {}
  Value input(const TensorType&);
  TensorType typeOf(Value v) const override { return types_[v.node][v.result]; }
  StatusOr<Values> primitive(Symbol, std::span<const Value>, const Attributes&) override;
  StatusOr<Values> call(Symbol, std::span<const Value>, const Attributes&) override;

private:
  Values add(TensorTypes);
  const OperatorLibrary::Impl& library_;
  int64_t own_ = kMostCalls;
  int64_t* budget_;
  std::vector<TensorTypes> types_;
};

/// The names and order of a @grad's parameters; fills in the attributes that it takes. False when something was reported.
bool checkGradParameters(GradDecl&, const OperatorDecl&, Diagnostics&);
/// Names, arity, kinds and uses in the bodies of operators and gradients (Checker.cpp) and of kernels
/// (KernelChecker.cpp). `complete`: every definition was read, so a function that nothing defines is an error.
void checkOperator(const OperatorDecl&, const OperatorTable&, bool complete, Diagnostics&);
void checkGrad(const GradDecl&, const OperatorDecl&, const OperatorTable&, bool complete, Diagnostics&);
void checkKernel(const KernelDecl&, const OperatorDecl&, Diagnostics&);
/// Shapes and types: instantiates every body at distinct prime extents and at its example (Probe.cpp). `order` has
/// callees before their callers; callers of what failed are left out.
void probeShapes(const OperatorLibrary::Impl&, std::span<const Symbol> order, Diagnostics&);

} // namespace lang
} // namespace tegula
