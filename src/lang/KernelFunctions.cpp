// Functions that tile kernels may call.
#include "lang/KernelExpressions.h"

#include "lang/Diagnostics.h"
#include <algorithm>

namespace tegula::lang {

/// A function of tiles. The compiler reads arguments by position, so a keyword is only right at its own place, and the
/// elementwise functions take none.
struct KernelFunction {
  std::string_view name;
  std::vector<std::string_view> parameters;
  bool keywords = false;
  std::string_view form = {}; // how a call is written, where names of the parameters do not say it
};

namespace {

const std::vector<KernelFunction>& kernelFunctions() {
  static const auto* functions = new std::vector<KernelFunction>{
      {"exp", {"t"}},
      {"log", {"t"}},
      {"sqrt", {"t"}},
      {"rsqrt", {"t"}},
      {"tanh", {"t"}},
      {"erf", {"t"}},
      {"sin", {"t"}},
      {"cos", {"t"}},
      {"floor", {"t"}},
      {"abs", {"t"}},
      {"maximum", {"a", "b"}},
      {"minimum", {"a", "b"}},
      {"where", {"c", "a", "b"}},
      {"cast", {"t", "dtype"}, true},
      {"transpose", {"t"}, true},
      {"dot", {"a", "b"}, true},
      {"zeros", {"rows", "columns", "dtype"}, true},
      {"full", {"rows", "columns", "value", "dtype"}, true},
      {"rows", {"i"}, true},
      {"cols", {"j"}, true},
      {"sum", {"t", "axis", "keepdim"}, true, "sum(t, axis=0, keepdim=True)"},
      {"max", {"t", "axis", "keepdim"}, true, "max(t, axis=0, keepdim=True)"},
      {"min", {"t", "axis", "keepdim"}, true, "min(t, axis=0, keepdim=True)"},
  };
  return *functions;
}

const KernelFunction* findFunction(Symbol name) {
  for (const KernelFunction& f : kernelFunctions())
    if (f.name == name.text()) return &f;
  return nullptr;
}

std::string formOf(const KernelFunction& f) {
  if (!f.form.empty()) return std::string(f.form);
  std::string s;
  for (std::string_view p : f.parameters) s += fmt::format("{}{}", s.empty() ? "" : ", ", p);
  return fmt::format("{}({})", f.name, s);
}

std::string unknownFunction(std::string_view name) {
  std::vector<std::string_view> names;
  for (const KernelFunction& f : kernelFunctions()) names.push_back(f.name);
  std::string near = didYouMean(name, names);
  return near.empty() ? "; spec/tile-language.md lists them" : near;
}

} // namespace

TileValue KernelExpressions::call(const Expr& e) {
  Symbol name = e.callee();
  if (name.empty()) return method(e);
  const KernelFunction* f = findFunction(name);
  if (!f) {
    report(DiagnosticId::KernelFunction, e.arg(0).span, "'{}' is not a function of tiles{}", name.text(),
           unknownFunction(name.text()));
    for (size_t i = 1; i < e.args.size(); ++i) value(e.arg(i));
    return {};
  }
  std::string_view n = f->name;
  if (!takes(e, *f)) return {};
  if (!f->form.empty()) return reduce(e);
  if (n == "zeros" || n == "full") return make(e, n == "full");
  if (n == "dot") return dot(e);
  if (n == "where") return where(e);
  if (n == "maximum" || n == "minimum") return extremum(e);
  if (n == "cast") return castTo(e);
  if (n == "rows" || n == "cols") return positions(e, n == "rows");
  if (n == "transpose") {
    TileValue v = requireTile(value(e.arg(1)), e.arg(1));
    std::swap(v.row, v.column);
    return v;
  }
  return unaryFunction(e, n == "abs");
}

/// A call of something that is not a name.
TileValue KernelExpressions::method(const Expr& e) {
  const Expr& callee = e.arg(0);
  if (!callee.is(ExprKind::Member)) {
    report(DiagnosticId::KernelFunction, callee.span, "this cannot be called; functions are called by name: exp(t)");
    return {};
  }
  const KernelFunction* f = findFunction(callee.name);
  report(DiagnosticId::KernelFunction, callee.span, "'{}' is a method here; functions are called by name: {}",
         callee.name.text(), f ? formOf(*f) : "exp(t)");
  return {};
}

/// Whether the arguments fit the parameters, by number and by name.
bool KernelExpressions::takes(const Expr& e, const KernelFunction& f) {
  bool reduction = !f.form.empty();
  for (size_t i = 1; i < e.args.size(); ++i) {
    Symbol keyword = e.keywords[i];
    if (keyword.empty()) continue;
    auto at = std::find(f.parameters.begin(), f.parameters.end(), keyword.text());
    std::string_view wrong;
    if (at == f.parameters.end())
      wrong = "has no parameter";
    else if (!f.keywords)
      wrong = "takes no keyword";
    else if (!reduction && at - f.parameters.begin() != static_cast<ptrdiff_t>(i) - 1)
      wrong = "has another place for";
    if (wrong.empty()) continue;
    report(DiagnosticId::UnknownArgument, e.arg(i).span, "'{}' {} '{}'; expected {}", f.name, wrong, keyword.text(),
           formOf(f));
    return false;
  }
  if (reduction || e.args.size() == f.parameters.size() + 1) return true;
  report(DiagnosticId::ArgumentCount, e.span, "'{}' takes {} {} in a kernel, found {}; expected {}", f.name,
         f.parameters.size(), f.parameters.size() == 1 ? "argument" : "arguments", e.args.size() - 1, formOf(f));
  return false;
}

TileValue KernelExpressions::requireTile(TileValue v, const Expr& at) {
  if (v.failed() || v.isTile()) return v;
  report(DiagnosticId::ArgumentType, at.span, "{} is given; expected a tile", describe(v));
  return {};
}

// ---- elementwise

/// Of floats; `integersToo`: of integers also. A number counts as a tile [1, 1].
TileValue KernelExpressions::unaryFunction(const Expr& e, bool integersToo) {
  TileValue v = value(e.arg(1));
  if (v.failed()) return {};
  if (!v.isTile() && !v.isNumber()) return requireTile(v, e.arg(1));
  bool integers = v.isTile() ? v.elements == Elements::Integer : !v.isReal();
  bool truth = v.isTile() && v.elements == Elements::Truth;
  if (truth || (integers && !integersToo)) {
    report(DiagnosticId::TileType, e.span, "{} of {}; expected {}; {}", e.callee().text(), describe(v),
           integersToo ? "numbers" : "floats", v.isTile() ? "cast it: cast(t, f32)" : "write a float, as 2.0");
    return {};
  }
  if (v.isTile()) return v;
  return integers ? tileOf("1", "1", Elements::Integer, DType::I64) : tileOf("1", "1", Elements::Float);
}

TileValue KernelExpressions::extremum(const Expr& e) {
  TileValue a = value(e.arg(1)), b = value(e.arg(2));
  if (a.failed() || b.failed()) return {};
  for (size_t i = 1; i <= 2; ++i)
    if (const TileValue& v = i == 1 ? a : b; !v.isTile() && !v.isNumber()) return requireTile(v, e.arg(i));
  std::string_view n = e.callee().text();
  if (!noTruth(n, a, e.span) || !noTruth(n, b, e.span)) return {};
  TileValue elements = meet(n, a, b, e.span);
  if (elements.failed()) return {};
  TileValue v = broadcast(a, b, e.span);
  return v.failed() ? v : tileOf(v.row, v.column, elements);
}

TileValue KernelExpressions::where(const Expr& e) {
  TileValue c = requireTile(value(e.arg(1)), e.arg(1)), a = value(e.arg(2)), b = value(e.arg(3));
  if (c.isTile() && c.elements != Elements::Truth && c.elements != Elements::Unknown)
    report(DiagnosticId::ArgumentType, e.arg(1).span,
           "the condition of 'where' is {}; expected truth values, as a comparison gives", describe(c));
  if (c.failed() || a.failed() || b.failed()) return {};
  for (size_t i = 2; i <= 3; ++i)
    if (const TileValue& v = i == 2 ? a : b; !v.isTile() && !v.isNumber()) {
      report(DiagnosticId::ArgumentType, e.arg(i).span, "{} is given; expected a tile or a number", describe(v));
      return {};
    }
  TileValue elements = meet("where", a, b, e.span);
  if (elements.failed()) return {};
  TileValue v = broadcast(a, b, e.span);
  if (v.failed()) return {};
  v = broadcast(c, v, e.span);
  return v.failed() ? v : tileOf(v.row, v.column, elements);
}

TileValue KernelExpressions::castTo(const Expr& e) {
  TileValue v = requireTile(value(e.arg(1)), e.arg(1)), d = elementType(e.arg(2), "cast");
  if (v.failed() || d.failed()) return {};
  return tileOf(v.row, v.column, d);
}

TileValue KernelExpressions::elementType(const Expr& e, std::string_view function) {
  TileValue d = value(e);
  if (d.failed()) return {};
  if (!d.is(kind::DType)) {
    report(DiagnosticId::ArgumentType, e.span, "'dtype' of '{}' is {}; expected an element type: f32, or x.dtype",
           function, describe(d));
    return {};
  }
  if (d.dtype != DType::F8E4M3 && d.dtype != DType::F8E5M2) return d;
  report(DiagnosticId::TileType, e.span, "8-bit floats have no tiles, found {}; expected f16, bf16, f32 or f64",
         tegula::name(*d.dtype));
  return {};
}

// ---- sources

/// zeros(rows, columns, dtype), full(rows, columns, value, dtype).
TileValue KernelExpressions::make(const Expr& e, bool withValue) {
  std::string row = extent(e.arg(1)), column = extent(e.arg(2));
  const Expr& last = *e.args.back();
  TileValue fill = withValue ? value(e.arg(3)) : TileValue(), d = elementType(last, e.callee().text());
  if (withValue && !fill.failed()) {
    if (!fill.isNumber() || !fill.runtime.empty()) {
      report(DiagnosticId::ArgumentType, e.arg(3).span, "the value of 'full' is {}; expected a constant number",
             fill.runtime.empty() ? describe(fill) : fmt::format("{}, known only when the kernel runs", fill.runtime));
      return {};
    }
    if (fill.isReal() && !d.failed() && d.elements != Elements::Float && d.elements != Elements::Unknown) {
      report(DiagnosticId::TileType, e.arg(3).span, "a float fills {}; expected a whole number, or floats",
             describe(tileOf(row, column, d)));
      return {};
    }
    if (!fitsElements(fill, d, e.arg(3).span)) return {};
  }
  if (d.failed() || row.empty() || column.empty()) return {};
  return tileOf(row, column, d);
}

/// An extent of a tile that a function makes; empty when it is none.
std::string KernelExpressions::extent(const Expr& e) {
  bool fits = e.is(ExprKind::Int) && e.intValue == 1;
  if (e.is(ExprKind::Name)) {
    scope_.use(e);
    const KernelParam* p = k_.param(e.name);
    bool dimension = !p && isDimension(e.name);
    if (dimension && !whole_.contains(e.name)) {
      report(DiagnosticId::TileShape, e.span,
             "the kernel never reads or stores {} whole, so a tile cannot hold it; expected a block size, or ':' where "
             "{} is indexed",
             e.name.text(), e.name.text());
      return {};
    }
    fits = dimension || (p && p->role == KernelParam::Role::Tunable);
  }
  if (fits) return axisName(e);
  report(DiagnosticId::TileShape, e.span, "expected an extent of a tile: a block size, a dimension or 1");
  return {};
}

TileValue KernelExpressions::positions(const Expr& e, bool rows) {
  TileValue v = value(e.arg(1));
  if (v.failed()) return {};
  if (!v.is(kind::Range)) {
    report(DiagnosticId::ArgumentType, e.arg(1).span, "'{}' takes the index of a tile loop, found {}",
           e.callee().text(), describe(v));
    return {};
  }
  return rows ? tileOf(v.row, "1", Elements::Integer, DType::I64) : tileOf("1", v.row, Elements::Integer, DType::I64);
}

// ---- products and reductions

TileValue KernelExpressions::dot(const Expr& e) {
  TileValue a = requireTile(value(e.arg(1)), e.arg(1)), b = requireTile(value(e.arg(2)), e.arg(2));
  if (a.failed() || b.failed()) return {};
  for (size_t i = 1; i <= 2; ++i) {
    const TileValue& v = i == 1 ? a : b;
    if (v.elements == Elements::Float || v.elements == Elements::Unknown) continue;
    report(DiagnosticId::TileType, e.arg(i).span, "dot of {}; expected floats; cast it: cast(t, f32)", describe(v));
    return {};
  }
  if (a.column != b.row) {
    report(DiagnosticId::TileShape, e.span, "dot of {} and {}: the inner axes differ, {} and {}", shapeOf(a),
           shapeOf(b), a.column, b.row);
    return {};
  }
  return tileOf(a.row, b.column, Elements::Float);
}

/// sum(t, axis=1, keepdim=True): tiles keep two axes.
TileValue KernelExpressions::reduce(const Expr& e) {
  std::string_view n = e.callee().text();
  const Expr *axis = e.keyword("axis"), *keep = e.keyword("keepdim");
  if (e.args.size() < 2 || !e.keywords[1].empty()) {
    report(DiagnosticId::ArgumentCount, e.span, "expected a tile as the first argument: {}(t, axis=0, keepdim=True)",
           n);
    return {};
  }
  TileValue v = requireTile(value(e.arg(1)), e.arg(1));
  if (v.failed()) return {};
  bool fits = e.args.size() == 4 && axis && axis->is(ExprKind::Int) && axis->intValue >= 0 && axis->intValue <= 1 &&
              keep && keep->is(ExprKind::Bool) && keep->intValue;
  if (!fits) {
    bool ofTwo = n != "sum" && e.args.size() == 3 && e.keywords[2].empty();
    report(DiagnosticId::ArgumentType, e.span, "expected {}(t, axis=0 or 1, keepdim=True): tiles keep two axes{}", n,
           ofTwo ? fmt::format("; {}imum(a, b) is of two tiles", n) : "");
    return {};
  }
  if (n == "sum" && !noTruth("sum", v, e.span)) return {};
  (axis->intValue == 0 ? v.row : v.column) = "1";
  return v;
}

} // namespace tegula::lang
