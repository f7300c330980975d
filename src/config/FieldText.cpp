// The type and range rules of one key, and how its value is written.
#include "config/FieldText.h"

#include "base/Utf8.h"
#include <algorithm>
#include <cmath>

namespace tegula::config {
namespace {

std::string number(double x) {
  if (std::isnan(x)) return "nan";
  if (std::isinf(x)) return x > 0 ? "inf" : "-inf";
  std::string text = fmt::format("{}", x); // shortest text that reads back as the same double
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}
std::string text(bool x) { return x ? "true" : "false"; }
std::string text(int64_t x) { return fmt::format("{}", x); }
std::string text(double x) { return number(x); }
std::string text(const std::string& x) { return quoteToml(x); }

template <typename T> std::string listText(const std::vector<T>& xs) {
  std::string out = "[";
  for (size_t i = 0; i < xs.size(); ++i) out += (i ? ", " : "") + text(xs[i]);
  return out + "]";
}

struct Overloads {
  std::string operator()(bool* x) const { return text(*x); }
  std::string operator()(int* x) const { return text(static_cast<int64_t>(*x)); }
  std::string operator()(int64_t* x) const { return text(*x); }
  std::string operator()(double* x) const { return text(*x); }
  std::string operator()(std::string* x) const { return text(*x); }
  template <typename T> std::string operator()(std::vector<T>* x) const { return listText(*x); }
  template <typename T> std::string operator()(std::optional<T>* x) const { return *x ? text(**x) : std::string(); }
};

/// Reads one scalar, or says what is wrong. An integer is welcome where a number is expected.
std::string read(const Item& item, bool& out) {
  if (item.kind != Item::Kind::Bool) return fmt::format("found {}, expected true or false", describe(item.kind));
  out = std::get<bool>(item.scalar);
  return {};
}
std::string read(const Item& item, int64_t& out) {
  if (item.kind != Item::Kind::Integer) return fmt::format("found {}, expected an integer", describe(item.kind));
  out = std::get<int64_t>(item.scalar);
  return {};
}
std::string read(const Item& item, double& out) {
  if (item.kind == Item::Kind::Integer) {
    out = static_cast<double>(std::get<int64_t>(item.scalar));
    return {};
  }
  if (item.kind != Item::Kind::Float) return fmt::format("found {}, expected a number", describe(item.kind));
  out = std::get<double>(item.scalar);
  return {};
}
std::string read(const Item& item, std::string& out) {
  if (item.kind != Item::Kind::String) return fmt::format("found {}, expected a string", describe(item.kind));
  out = std::get<std::string>(item.scalar);
  return {};
}

std::string outside(double x, const std::string& shown, const KeyOptions& o) {
  bool ok = (!o.min || x >= *o.min) && (!o.max || x <= *o.max) && (!o.above || x > *o.above);
  return ok ? std::string() : fmt::format("{} is out of range: must be {}", shown, rangeText(o));
}
std::string check(bool, const KeyOptions&) { return {}; }
std::string check(int64_t x, const KeyOptions& o) { return outside(static_cast<double>(x), text(x), o); }
std::string check(double x, const KeyOptions& o) {
  if (!std::isfinite(x)) return fmt::format("{} is out of range: must be finite", text(x));
  return outside(x, text(x), o);
}
std::string check(const std::string& x, const KeyOptions& o) {
  if (size_t at = findInvalidUtf8(x); at != std::string::npos) // no TOML file could hold it
    return fmt::format("byte 0x{:02x} at offset {} is not UTF-8", static_cast<unsigned char>(x[at]), at);
  if (o.choices.empty() || std::find(o.choices.begin(), o.choices.end(), x) != o.choices.end()) return {};
  return fmt::format("found '{}', expected {}", x, rangeText(o));
}

template <typename T> std::string readChecked(const Item& item, const KeyOptions& o, T& out) {
  T value{};
  std::string wrong = read(item, value);
  if (wrong.empty()) wrong = check(value, o);
  if (wrong.empty()) out = std::move(value);
  return wrong;
}

struct Assign {
  const Item& item;
  const KeyOptions& options;
  std::string operator()(int* out) const {
    int64_t wide = *out;
    std::string wrong = readChecked(item, options, wide);
    if (wrong.empty() && wide != static_cast<int>(wide)) return fmt::format("{} does not fit 32 bits", wide);
    if (wrong.empty()) *out = static_cast<int>(wide);
    return wrong;
  }
  template <typename T> std::string operator()(T* out) const { return readChecked(item, options, *out); }
  template <typename T> std::string operator()(std::optional<T>* out) const {
    T value{};
    std::string wrong = readChecked(item, options, value);
    if (wrong.empty()) *out = value;
    return wrong;
  }
  template <typename T> std::string operator()(std::vector<T>* out) const {
    if (item.kind != Item::Kind::Array) return fmt::format("found {}, expected an array", describe(item.kind));
    std::vector<T> values(item.items.size());
    for (size_t i = 0; i < values.size(); ++i)
      if (std::string wrong = readChecked(item.items[i], options, values[i]); !wrong.empty())
        return fmt::format("element {}: {}", i, wrong);
    *out = std::move(values);
    return {};
  }
};

struct TypeName {
  std::string operator()(bool*) const { return "true or false"; }
  std::string operator()(int*) const { return "integer"; }
  std::string operator()(int64_t*) const { return "integer"; }
  std::string operator()(double*) const { return "number"; }
  std::string operator()(std::string*) const { return "string"; }
  std::string operator()(std::vector<int64_t>*) const { return "list of integers"; }
  std::string operator()(std::vector<double>*) const { return "list of numbers"; }
  std::string operator()(std::vector<std::string>*) const { return "list of strings"; }
  std::string operator()(std::optional<double>*) const { return "number, may be left out"; }
  std::string operator()(std::optional<int64_t>*) const { return "integer, may be left out"; }
};

} // namespace

std::string fieldToToml(const Field& field) { return std::visit(Overloads{}, field); }
std::string fieldTypeName(const Field& field) { return std::visit(TypeName{}, field); }
std::string assignField(const Field& field, const KeyOptions& options, const Item& value) {
  return std::visit(Assign{value, options}, field);
}

std::string rangeText(const KeyOptions& o) {
  if (!o.choices.empty()) {
    std::string all;
    for (const std::string& c : o.choices) all += (all.empty() ? "" : ", ") + c;
    return "one of " + all;
  }
  std::string out;
  auto add = [&](std::string_view relation, double x) {
    out += fmt::format("{}{} {}", out.empty() ? "" : " and ", relation, x);
  };
  if (o.above) add(">", *o.above);
  if (o.min) add(">=", *o.min);
  if (o.max) add("<=", *o.max);
  return out;
}

std::string quoteToml(std::string_view s) {
  std::string out = "\"";
  for (char c : s) {
    switch (c) {
    case '"':
      out += "\\\"";
      break;
    case '\\':
      out += "\\\\";
      break;
    case '\n':
      out += "\\n";
      break;
    case '\t':
      out += "\\t";
      break;
    case '\r':
      out += "\\r";
      break;
    default:
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
        out += fmt::format("\\u{:04X}", static_cast<unsigned char>(c));
      else
        out += c;
    }
  }
  return out + '"';
}

} // namespace tegula::config
