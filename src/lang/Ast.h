// The syntax tree of the tile language, in two tiers.
//
//   Function    what the parser saw: decorators, parameters with annotations, statements. The formatter prints it.
//   *Decl       what it means: OperatorDecl (@tile_op), GradDecl (@grad), KernelDecl (@tile_kernel), with typed inputs,
//               attributes and results. Made by Declarations.cpp; the checker, the instantiator and the compiler's
//               lowering of kernels read these.
//
// Nodes own their children; the depth of a tree is bounded by kMaxDepth, so recursion over it is safe. A tree is
// immutable once the library has been loaded.
#pragma once

#include "base/Symbol.h"
#include "lang/Span.h"
#include "primitives/Attributes.h"
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tegula::lang {

constexpr int kMaxDepth = 128; // expression depth and nesting; deeper input is refused (`too-deep`)

enum class ExprKind : uint8_t {
  Name,        // name
  Int,         // intValue
  Float,       // floatValue
  String,      // text (escapes resolved)
  Bool,        // intValue 0 or 1
  None,        //
  Ellipsis,    // ...
  Unary,       // op, args[0]
  Binary,      // op, args[0], args[1]: arithmetic, comparisons, `and`/`or`, `is`/`is not`
  Conditional, // args[0] if args[1] else args[2]
  Call,        // args[0] is the callee; keywords[i] names args[i] (empty: positional)
  Index,       // args[0][args[1], args[2], …]
  Slice,       // args[0]:args[1]:args[2], each may be null; only inside Index
  Member,      // args[0].name
  Tuple,       // (args…)
  List,        // [args…]
  Star,        // *args[0]; only in Index and in types
};

enum class Op : uint8_t {
  None,
  // Unary
  Neg,
  Pos,
  Invert /* ~ */,
  Not /* not */,
  // Arithmetic
  Add,
  Sub,
  Mul,
  Div,
  FloorDiv,
  Mod,
  Pow,
  MatMul,
  BitAnd,
  BitOr,
  BitXor,
  // Comparison
  Less,
  LessEqual,
  Greater,
  GreaterEqual,
  Equal,
  NotEqual,
  Is,
  IsNot,
  // Logical on constants
  And,
  Or,
};
/// The operator as written: "+", "is not".
std::string_view spelling(Op);

struct Expr;
using ExprPtr = std::unique_ptr<Expr>;

struct Expr {
  ExprKind kind;
  Span span;
  Op op = Op::None;
  Symbol name;
  int64_t intValue = 0;
  double floatValue = 0;
  std::string text;
  std::vector<ExprPtr> args;
  std::vector<Symbol> keywords; // Call: as long as args
  int depth = 1;                // 1 + depth of the deepest child
  bool parenthesized = false;   // written in parentheses (the formatter keeps tuples' parentheses)

  const Expr& arg(size_t i) const { return *args[i]; }
  bool is(ExprKind k) const { return kind == k; }
  bool isName(Symbol n) const { return kind == ExprKind::Name && name == n; }
  /// Call: the called name, or empty when the callee is not a plain name.
  Symbol callee() const { return kind == ExprKind::Call && args[0]->is(ExprKind::Name) ? args[0]->name : Symbol(); }
  /// Call: the argument passed by keyword, or null.
  const Expr* keyword(Symbol k) const {
    for (size_t i = 1; i < args.size(); ++i)
      if (keywords[i] == k) return args[i].get();
    return nullptr;
  }
};

enum class StmtKind : uint8_t {
  Assign,    // target = value; target is a Name, an Index (kernel stores) or a Tuple of Names
  AugAssign, // target op= value; target is a Name
  Return,    // value (a Tuple for several results)
  If,        // branches (condition, body), orElse
  For,       // for target in value: body; target is a Name or a Tuple of Names
  Assert,    // assert value, message (String, may be null)
  Pass,
  Expr, // value: refused by the checker unless it is a docstring (which parsing moves to Function::doc)
};

struct Stmt;
using StmtPtr = std::unique_ptr<Stmt>;
using Block = std::vector<StmtPtr>;

struct Stmt {
  struct Branch {
    ExprPtr condition;
    Block body;
  };
  StmtKind kind;
  Span span; // of the header for If and For
  Op op = Op::None;
  ExprPtr target, value, message;
  std::vector<Branch> branches; // If: `if` and each `elif`
  Block body;                   // For
  Block orElse;                 // If
};

/// A parameter as written.
struct Parameter {
  enum class Kind : uint8_t { Plain, Variadic /* *xs */, KeywordMarker /* bare * */ };
  Symbol name;
  Span span;
  Kind kind = Kind::Plain;
  ExprPtr annotation, defaultValue; // may be null
};

struct Function {
  Symbol name;
  Span span, nameSpan;
  std::vector<ExprPtr> decorators; // Name or Call
  std::vector<Parameter> parameters;
  ExprPtr returns; // may be null
  std::string doc;
  Span docSpan;
  bool hasDoc = false;
  Block body;
  int32_t endLine = 0;
};

struct Comment {
  Span span;
  std::string text; // with the leading '#'
  bool ownLine;     // nothing but spaces before it
};

/// One file.
struct Module {
  int32_t file = 0;
  std::string doc; // leading docstring of the file
  bool hasDoc = false;
  Span docSpan;
  std::vector<std::unique_ptr<Function>> functions;
  std::vector<Comment> comments;
};

// ---- meaning ------------------------------------------------------------------------------------------------------

/// One entry of Tensor[…].
struct Dim {
  enum class Kind : uint8_t {
    Symbol,   // M: bound by the first input that has it, equal everywhere
    Constant, // 3
    Ellipsis, // ...: any axes; those of several inputs broadcast together
    Group,    // *S: any axes; equal everywhere
    Computed, // an expression over symbols and integer attributes (results only)
  };
  Kind kind;
  Symbol name;
  int64_t value = 0;
  const Expr* expr = nullptr;
  Span span;
};

/// What Tensor[… : T] says about the element type.
struct DTypeRule {
  enum class Kind : uint8_t { Any, Fixed, Float, Int, Variable };
  Kind kind = Kind::Any;
  DType dtype = DType::F32; // Fixed
  Symbol name;              // Variable: equal wherever it stands
  Span span;                // as written; line 0: not written
};

struct TensorRule {
  Span span;
  bool anyShape = false; // plain `Tensor`
  std::vector<Dim> dims;
  DTypeRule dtype;
};

/// `A if cond else B if cond else C`: the first whose condition (over attributes and ranks) holds; the last has none.
struct TypeRule {
  struct Alternative {
    const Expr* condition = nullptr;
    TensorRule tensor;
  };
  std::vector<Alternative> alternatives;
};

struct InputDecl {
  Symbol name;
  Span span;
  TypeRule type;
  bool optional = false, variadic = false;
  bool differentiable = true; // its declared type may be a float
};

/// int, float, bool, str, dtype, ints, ints[n]; `| None` makes it optional.
struct AttributeType {
  enum class Kind : uint8_t { Int, Float, Bool, String, DType, Ints };
  Kind kind = Kind::Int;
  int length = -1; // Ints: fixed length (a single int is repeated), or any
  bool optional = false;
};
std::string toString(const AttributeType&);

struct AttributeDecl {
  Symbol name;
  Span span;
  AttributeType type;
  bool required = true;
  AttrValue defaultValue;
};

struct ResultDecl {
  TypeRule type;
  bool residual = false;
};

struct OperatorDecl {
  const Function* function = nullptr;
  Symbol name;
  Span span; // of the name
  std::vector<InputDecl> inputs;
  std::vector<AttributeDecl> attributes;
  std::vector<ResultDecl> results; // residuals last
  std::string example;
  Span exampleSpan;
  bool differentiable = true; // false: @tile_op(differentiable=False)
  bool broken = false;        // while loading: its header had errors, so calls of it are not checked

  const Block& body() const { return function->body; }
  int resultCount() const; // without residuals
  int residualCount() const { return static_cast<int>(results.size()) - resultCount(); }
  const AttributeDecl* attribute(Symbol) const;
  int inputIndex(Symbol) const; // -1: none
};

struct GradDecl {
  const Function* function = nullptr;
  Symbol op;
  Span span;                      // of the name in @grad(name)
  std::vector<Symbol> attributes; // trailing parameters: names of attributes of the operator
  const Block& body() const { return function->body; }
};

/// A parameter of a tile kernel.
struct KernelParam {
  enum class Role : uint8_t {
    Input,     // a: Tensor[M, K]: the operator's input of that name
    Output,    // c: Out[M, N]: the operator's results (residuals included) in order
    Tunable,   // BM: Tunable: a block size that the schedule chooses
    Attribute, // causal: bool: the operator's attribute of that name, a constant when the kernel is instantiated
  };
  Symbol name;
  Span span;
  Role role = Role::Input;
  TensorRule tensor;       // Input, Output: two dims, each a symbol or a constant; dtype may be stated
  bool optional = false;   // Input: `| None`
  AttributeType attribute; // Attribute
};

/// @tile_kernel(implements=op): an algorithm over rank-2 tiles. spec/tile-language.md section 6 defines the statements
/// and functions that a body may hold; the checker has accepted it.
struct KernelDecl {
  const Function* function = nullptr;
  Symbol name;
  Symbol implements;
  Span span;           // of the name
  Span implementsSpan; // of the operator's name in the decorator
  std::vector<KernelParam> params;

  const Block& body() const { return function->body; }
  const KernelParam* param(Symbol) const;
};

/// Every call in a block, nested ones too.
void collectCalls(const Block&, std::vector<const Expr*>& out);
/// Every name that is a dimension symbol in `rule`.
void collectSymbols(const TensorRule& rule, std::vector<Symbol>& out);

} // namespace tegula::lang
