// Values of attributes: literals, and conversion to the type that a header declares.
#include "lang/Declarations.h"
#include <algorithm>
#include <limits>

namespace tegula::lang {

std::optional<DType> dtypeNamed(Symbol s) { return parseDType(s.text()); }

std::optional<AttrValue> literal(const Expr& e) {
  switch (e.kind) {
  case ExprKind::Int:
    return AttrValue(e.intValue);
  case ExprKind::Float:
    return AttrValue(e.floatValue);
  case ExprKind::Bool:
    return AttrValue(e.intValue != 0);
  case ExprKind::String:
    return AttrValue(Symbol(e.text));
  case ExprKind::None:
    return AttrValue(std::monostate());
  case ExprKind::Name:
    if (e.name == Symbol("inf")) return AttrValue(std::numeric_limits<double>::infinity());
    if (e.name == Symbol("nan")) return AttrValue(std::numeric_limits<double>::quiet_NaN());
    if (std::optional<DType> d = dtypeNamed(e.name)) return AttrValue(*d);
    return {};
  case ExprKind::Unary: {
    if (e.op != Op::Neg) return {};
    std::optional<AttrValue> v = literal(e.arg(0));
    if (!v) return {};
    if (const int64_t* i = std::get_if<int64_t>(&*v)) return AttrValue(-*i);
    if (const double* d = std::get_if<double>(&*v)) return AttrValue(-*d);
    return {};
  }
  case ExprKind::Tuple:
  case ExprKind::List: {
    if (e.args.size() > kMaxRank) return {};
    Shape s;
    for (const ExprPtr& a : e.args) {
      std::optional<AttrValue> v = literal(*a);
      const int64_t* i = v ? std::get_if<int64_t>(&*v) : nullptr;
      if (!i) return {};
      s.push_back(*i);
    }
    return AttrValue(s);
  }
  default:
    return {};
  }
}

std::optional<AttrValue> convertAttribute(const AttrValue& v, const AttributeType& t) {
  if (std::holds_alternative<std::monostate>(v)) return t.optional ? std::optional<AttrValue>(v) : std::nullopt;
  const int64_t* i = std::get_if<int64_t>(&v);
  switch (t.kind) {
  case AttributeType::Kind::Int:
    if (i) return v;
    return {};
  case AttributeType::Kind::Float:
    if (i) return AttrValue(static_cast<double>(*i));
    return std::holds_alternative<double>(v) ? std::optional<AttrValue>(v) : std::nullopt;
  case AttributeType::Kind::Bool:
    return std::holds_alternative<bool>(v) ? std::optional<AttrValue>(v) : std::nullopt;
  case AttributeType::Kind::String:
    return std::holds_alternative<Symbol>(v) ? std::optional<AttrValue>(v) : std::nullopt;
  case AttributeType::Kind::DType: {
    if (const Symbol* s = std::get_if<Symbol>(&v)) {
      std::optional<DType> d = dtypeNamed(*s);
      return d ? std::optional<AttrValue>(*d) : std::nullopt;
    }
    return std::holds_alternative<DType>(v) ? std::optional<AttrValue>(v) : std::nullopt;
  }
  case AttributeType::Kind::Ints: {
    if (i) {
      Shape s;
      for (int n = 0; n < std::max(t.length, 1); ++n) s.push_back(*i);
      return AttrValue(s);
    }
    const Shape* s = std::get_if<Shape>(&v);
    return s && (t.length < 0 || s->rank() == t.length) ? std::optional<AttrValue>(v) : std::nullopt;
  }
  }
  return {};
}

std::string toString(const AttributeType& t) {
  static const char* names[] = {"int", "float", "bool", "str", "dtype", "ints"};
  std::string s = names[static_cast<int>(t.kind)];
  if (t.length >= 0) s += fmt::format("[{}]", t.length);
  return t.optional ? s + " | None" : s;
}

} // namespace tegula::lang
