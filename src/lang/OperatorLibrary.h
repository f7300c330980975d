// The operator library: every @tile_op, @grad and @tile_kernel of a set of .tile sources, checked, ready to be asked
// for types and to be instantiated. The one face of `lang` towards graph, compiler and tools.
//
//   TG_ASSIGN_OR_RETURN(OperatorLibrary lib, OperatorLibrary::loadEmbedded());       // ops/*.tile in the binary
//   TG_ASSIGN_OR_RETURN(TensorTypes t, lib.infer("softmax", {types}, {{"axis", -1}}));
//   TG_ASSIGN_OR_RETURN(Values y, lib.instantiate("softmax", inputs, attrs, builder));
//
// Threads: immutable after loading; all const functions may be called from any thread.
#pragma once

#include "base/Status.h"
#include "lang/Builder.h"
#include "primitives/Attributes.h"
#include "primitives/Primitive.h"
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tegula {

namespace lang {
struct OperatorDecl; // syntax tree of an @tile_op, lang/Ast.h
struct GradDecl;
struct KernelDecl;
} // namespace lang

struct SourceFile {
  std::string path, text;
};

/// What callers may ask about an operator without its syntax tree.
struct OperatorInfo {
  Symbol name;
  struct Input {
    Symbol name;
    bool optional = false;      // `mask: Tensor[...] | None`
    bool variadic = false;      // `*xs`
    bool differentiable = true; // false when its declared type is an integer or bool
  };
  std::vector<Input> inputs;
  struct Attribute {
    Symbol name;
    std::string type; // "int", "float", "bool", "str", "dtype", "ints"
    AttrValue defaultValue;
    bool required = false;
  };
  std::vector<Attribute> attributes;
  int results = 1;            // without residuals
  int residuals = 0;          // extra results that only its @grad sees
  bool differentiable = true; // not declared @tile_op(differentiable=False)
  bool hasGrad = false;       // an @grad exists
  bool hasKernel = false;     // an @tile_kernel implements it
  std::string doc, example, file;
  int line = 0;
};

class OperatorLibrary {
public:
  /// Parses and checks; on errors the status holds every diagnostic, rendered with carets.
  static StatusOr<std::shared_ptr<const OperatorLibrary>> load(std::span<const SourceFile>);
  /// The library built into the binary, or the folder named by TEGULA_OPS.
  static StatusOr<std::shared_ptr<const OperatorLibrary>> loadEmbedded();

  const OperatorInfo* find(Symbol name) const;
  std::vector<Symbol> names() const; // sorted

  /// Fills defaults, refuses unknown or ill-typed attributes naming the nearest.
  StatusOr<Attributes> completeAttributes(Symbol op, const Attributes&) const;

  /// Result types (residuals last) of an operator applied to inputs; an absent optional input is nullptr.
  StatusOr<TensorTypes> infer(Symbol op, std::span<const TensorType* const> inputs, const Attributes&) const;

  /// Runs the body: one builder call per primitive or library operator in it (one level: calls to other operators
  /// arrive as Builder::call). `if` on attributes, `for` over constants and presence of optional inputs are resolved
  /// here.
  StatusOr<Values> instantiate(Symbol op, std::span<const Value> inputs, const Attributes&, Builder&) const;

  /// Runs the @grad body of `op`. `outputs` holds results and residuals, `outputGradients` one per result (absent:
  /// zeros). Returns one gradient per element of `inputs`, in the type of that input; absent where the author returned
  /// None, the input is absent or not differentiable. Gradients wider than their input because of broadcasting are the
  /// caller's to reduce.
  StatusOr<Values> instantiateGrad(Symbol op, std::span<const Value> inputs, std::span<const Value> outputs,
                                   std::span<const Value> outputGradients, const Attributes&, Builder&) const;

  const lang::OperatorDecl* declaration(Symbol op) const;
  const lang::KernelDecl* kernelFor(Symbol op) const; // null if there is none
  /// Canonical source text of a definition (what images are keyed by).
  std::string sourceOf(Symbol op) const;

  struct Impl;
  explicit OperatorLibrary(std::unique_ptr<Impl>);
  ~OperatorLibrary();

private:
  std::unique_ptr<Impl> impl_;
};

} // namespace tegula
