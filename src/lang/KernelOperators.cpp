// Operators of tile kernels. What they may meet is what compiler/matrix makes code for:
//
//   tiles              + - * / % ** and < <= > >= of floats, or of integers of one type; == != of one kind; & | ~ of
//                      truth values; with a number in place of one tile
//   constants          + - * / of numbers; comparisons of integers and truth values; and, or, not
//   run-time integers  + - *
#include "lang/Interpreter.h"
#include "lang/KernelExpressions.h"

namespace tegula::lang {

namespace {

bool isComparison(Op op) { return op >= Op::Less && op <= Op::NotEqual; }
bool isLogic(Op op) { return op == Op::BitAnd || op == Op::BitOr; }

std::string quoted(Op op) { return fmt::format("'{}'", spelling(op)); }

/// What to write in place of an operator that tiles do not have; empty: they have it.
std::string_view insteadOnTiles(Op op, const TileValue& a) {
  if (op == Op::FloorDiv)
    return a.elements == Elements::Integer ? "write '/': of integer tiles it rounds down" : "write floor(a / b)";
  if (op == Op::BitXor) return "'!=' of truth values is the same";
  if (op == Op::MatMul) return "dot(a, b) multiplies tiles";
  return "";
}

} // namespace

TileValue KernelExpressions::unary(const Expr& e) {
  TileValue v = value(e.arg(0));
  if (v.failed()) return {};
  std::string op = quoted(e.op);
  if (e.op == Op::Not) {
    if (v.is(kind::Bool) || v.is(kind::Int)) return numberOf(kind::Bool, {}, v.runtime);
    report(DiagnosticId::OperandType, e.span, "'not' of {}; {}", describe(v),
           v.isTile() ? "'~' negates each element" : "expected a constant truth value or integer");
    return {};
  }
  if (e.op == Op::Invert) {
    if (v.isTile() && (v.elements == Elements::Truth || v.elements == Elements::Unknown)) return v;
    report(v.isTile() ? DiagnosticId::TileType : DiagnosticId::OperandType, e.span,
           "'~' of {}; expected truth values: a comparison, or an input of type Tensor[…, … : bool]", describe(v));
    return {};
  }
  if (v.isTile()) return noTruth(op, v, e.span) ? v : TileValue();
  if (!v.isNumber()) {
    report(DiagnosticId::OperandType, e.span, "{} of {}; expected a number or a tile", op, describe(v));
    return {};
  }
  if (e.op == Op::Pos) return v;
  bool real = v.isReal();
  TileValue zero = real ? numberOf(kind::Float, Operand(-0.0)) : numberOf(kind::Int, Operand(int64_t{0}));
  return fold(Op::Sub, zero, v, numberOf(v.kinds, {}, v.runtime), e.span);
}

TileValue KernelExpressions::operate(Op op, const TileValue& a, const TileValue& b, Span at) {
  if (a.failed() || b.failed()) return {};
  if (a.isTile() || b.isTile()) return operateOnTiles(op, a, b, at);
  return isComparison(op) ? compareNumbers(op, a, b, at) : operateOnNumbers(op, a, b, at);
}

// ---- tiles

TileValue KernelExpressions::operateOnTiles(Op op, const TileValue& a, const TileValue& b, Span at) {
  bool fits = (a.isTile() || a.isNumber()) && (b.isTile() || b.isNumber());
  if (!fits) {
    report(DiagnosticId::OperandType, at, "{} {} {} has no meaning; expected tiles and numbers", describe(a),
           spelling(op), describe(b));
    return {};
  }
  if (std::string_view way = insteadOnTiles(op, a.isTile() ? a : b); !way.empty()) {
    report(DiagnosticId::OperandType, at, "{} of {} in a kernel; {}", quoted(op), describe(a.isTile() ? a : b), way);
    return {};
  }
  if (isLogic(op)) {
    for (const TileValue* v : {&a, &b}) {
      if (v->isTile() && (v->elements == Elements::Truth || v->elements == Elements::Unknown)) continue;
      report(DiagnosticId::TileType, at,
             "{} of {}; expected truth values: comparisons, in parentheses, or inputs of type Tensor[…, … : bool]",
             quoted(op), describe(*v));
      return {};
    }
  } else if (op != Op::Equal && op != Op::NotEqual) {
    if (!noTruth(quoted(op), a, at) || !noTruth(quoted(op), b, at)) return {};
  }
  TileValue elements = meet(quoted(op), a, b, at);
  if (elements.failed() || !divides(op, elements, b, at)) return {};
  TileValue v = broadcast(a, b, at);
  if (v.failed()) return {};
  if (isComparison(op)) return tileOf(v.row, v.column, Elements::Truth, DType::Bool);
  return tileOf(v.row, v.column, elements);
}

/// Integers, because floats have an infinity to give.
bool KernelExpressions::divides(Op op, const TileValue& elements, const TileValue& b, Span at) {
  bool zero = b.constant && b.constant->isNumber() && b.constant->number() == 0;
  if ((op != Op::Div && op != Op::Mod) || elements.elements != Elements::Integer || !zero) return true;
  report(DiagnosticId::ConstantValue, at, "{} {} 0: division by zero; expected another divisor",
         describe(tileOf("", "", elements)), spelling(op));
  return false;
}

bool KernelExpressions::noTruth(std::string_view what, const TileValue& v, Span at) {
  if (!v.isTile() || v.elements != Elements::Truth) return true;
  report(DiagnosticId::TileType, at, "{} of {}; expected numbers; cast it: cast(t, f32)", what, describe(v));
  return false;
}

TileValue KernelExpressions::meet(std::string_view what, const TileValue& a, const TileValue& b, Span at) {
  auto refuse = [&](std::string_view way) {
    report(DiagnosticId::TileType, at, "{} of {} and {}; {}", what, describe(a), describe(b), way);
    return TileValue();
  };
  if (a.isTile() && b.isTile()) {
    if (elementsDiffer(a, b)) return refuse("expected one element type; cast one of them");
    const TileValue& known = a.elements == Elements::Unknown ? b : a;
    bool same = a.elements == b.elements && a.dtype != b.dtype;
    TileValue v = dtypeOf(known.elements, known.dtype);
    if (same) v.dtype = v.elements == Elements::Integer ? (a.dtype ? a.dtype : b.dtype) : std::nullopt;
    return v;
  }
  if (!a.isTile() && !b.isTile()) {
    if (a.isReal() || b.isReal()) return dtypeOf(Elements::Float);
    return dtypeOf(Elements::Integer, DType::I64);
  }
  const TileValue &t = a.isTile() ? a : b, &number = a.isTile() ? b : a;
  if (t.elements == Elements::Truth) return refuse("expected one element type; a truth value is not a number");
  if (t.elements == Elements::Integer && number.isReal()) return refuse("cast the tile, or write a whole number");
  if (!fitsElements(number, t, at)) return {};
  return dtypeOf(t.elements, t.dtype);
}

/// Whether a constant integer is an element of the type, where both are known.
bool KernelExpressions::fitsElements(const TileValue& number, const TileValue& elements, Span at) {
  const int64_t* i = number.constant ? number.constant->integer() : nullptr;
  Status s = i && elements.dtype ? fitsType(*i, *elements.dtype) : OkStatus();
  if (!s.ok()) report(DiagnosticId::ConstantValue, at, "{}", message(s));
  return s.ok();
}

/// The axes of both; the elements of neither.
TileValue KernelExpressions::broadcast(const TileValue& a, const TileValue& b, Span at) {
  if (!a.isTile() && !b.isTile()) return tileOf("1", "1", Elements::Unknown);
  if (!a.isTile()) return tileOf(b.row, b.column, Elements::Unknown);
  if (!b.isTile()) return tileOf(a.row, a.column, Elements::Unknown);
  auto axis = [](const std::string& x, const std::string& y) {
    return x == y || y == "1" ? x : x == "1" ? y : std::string();
  };
  TileValue v = tileOf(axis(a.row, b.row), axis(a.column, b.column), Elements::Unknown);
  if (!v.row.empty() && !v.column.empty()) return v;
  report(DiagnosticId::TileShape, at, "tiles {} and {} do not fit; each axis must be equal or 1", shapeOf(a),
         shapeOf(b));
  return {};
}

// ---- numbers

TileValue KernelExpressions::compareNumbers(Op op, const TileValue& a, const TileValue& b, Span at) {
  auto whole = [](const TileValue& v) { return v.is(kind::Int) || v.is(kind::Bool); };
  if (!whole(a) || !whole(b)) {
    report(DiagnosticId::OperandType, at, "{} of {} and {}; a kernel compares tiles, integers and bools", quoted(op),
           describe(a), describe(b));
    return {};
  }
  const std::string& runtime = a.runtime.empty() ? b.runtime : a.runtime;
  if (!runtime.empty() && !inCondition_) {
    report(DiagnosticId::OperandType, at,
           "{} is known only when the kernel runs; expected constants, or tiles, which are compared by element: "
           "rows(i) {} n",
           runtime, spelling(op));
    return {};
  }
  bool integers = a.is(kind::Int) && b.is(kind::Int);
  TileValue result = numberOf(kind::Bool, {}, runtime);
  return integers ? fold(op, a, b, result, at) : result;
}

TileValue KernelExpressions::operateOnNumbers(Op op, const TileValue& a, const TileValue& b, Span at) {
  if (!a.isNumber() || !b.isNumber()) {
    report(DiagnosticId::OperandType, at, "{} {} {} has no meaning; expected tiles and numbers", describe(a),
           spelling(op), describe(b));
    return {};
  }
  bool real = a.isReal() || b.isReal(), ring = op == Op::Add || op == Op::Sub || op == Op::Mul;
  const std::string& runtime = a.runtime.empty() ? b.runtime : a.runtime;
  if (!runtime.empty() && (real || !ring)) {
    report(DiagnosticId::OperandType, at,
           "{} is known only when the kernel runs; expected '+', '-' or '*' of integers, or a tile: t {} n", runtime,
           ring || op == Op::Div ? spelling(op) : "/");
    return {};
  }
  if (!ring && op != Op::Div) {
    report(DiagnosticId::OperandType, at, "{} of numbers in a kernel; expected '+', '-', '*' or '/'", quoted(op));
    return {};
  }
  return fold(op, a, b, numberOf(real || op == Op::Div ? kind::Float : kind::Int, {}, runtime), at);
}

/// `result` with the value that both constants give.
TileValue KernelExpressions::fold(Op op, const TileValue& a, const TileValue& b, TileValue result, Span at) {
  bool byZero = op == Op::Div && b.constant && b.constant->isNumber() && b.constant->number() == 0;
  if (!b.constant || (!a.constant && !byZero)) return result;
  StatusOr<Operand> r = applyConstants(op, a.constant ? *a.constant : Operand(int64_t{1}), *b.constant);
  if (r.ok()) {
    result.constant = *r;
    return result;
  }
  std::string text =
      a.constant ? std::string(message(r.status())) : fmt::format("{} / 0: division by zero", describe(a));
  report(DiagnosticId::ConstantValue, at, "{}; expected {}", text, byZero ? "another divisor" : "a smaller number");
  return {};
}

} // namespace tegula::lang
