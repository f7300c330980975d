// Matching arguments to parameters.
#include "lang/Signature.h"
#include "lang/Diagnostics.h"
#include <algorithm>

namespace tegula::lang {

std::string describeKinds(Kinds k) {
  if (k == kind::Any) return "this value";
  static const std::pair<Kinds, std::string_view> names[] = {
      {kind::Tensor, "a tensor"},    {kind::Number, "a number"}, {kind::Int, "an integer"},
      {kind::Float, "a float"},      {kind::Bool, "a bool"},     {kind::DType, "an element type"},
      {kind::String, "a string"},    {kind::Tuple, "a tuple"},   {kind::Tile, "a tile"},
      {kind::Range, "a tile index"}, {kind::None, "None"}};
  std::vector<std::string_view> parts;
  for (auto [bits, text] : names)
    if ((k & bits) == bits) parts.push_back(text), k &= ~bits;
  std::string s;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) s += i + 1 == parts.size() ? " or " : ", ";
    s += parts[i];
  }
  return s.empty() ? "nothing" : s;
}

namespace {
std::string tooMany(const Signature& s, size_t most) {
  if (most < s.params.size())
    return fmt::format("'{}' takes '{}' by name only; write {}=…", s.name.text(), s.params[most].name.text(),
                       s.params[most].name.text());
  return fmt::format("'{}' takes at most {} {}, found more", s.name.text(), most, most == 1 ? "argument" : "arguments");
}
} // namespace

Matched matchArguments(const Signature& s, const Expr& call) {
  Matched m;
  m.arguments.resize(s.params.size());
  using Problem = Matched::Problem;
  size_t next = 0;
  for (size_t i = 1; i < call.args.size(); ++i) {
    Symbol keyword = call.keywords[i];
    if (keyword.empty()) {
      if (next >= s.params.size() || s.params[next].keywordOnly) {
        m.problems.push_back({Problem::Kind::TooMany, i, tooMany(s, next)});
        break;
      }
      m.arguments[next].push_back(i);
      if (!s.params[next].variadic) ++next;
      continue;
    }
    auto p = std::find_if(s.params.begin(), s.params.end(),
                          [&](const SignatureParam& q) { return q.name == keyword && !q.variadic; });
    if (p == s.params.end()) {
      std::vector<std::string_view> names;
      std::string all;
      for (const SignatureParam& q : s.params) {
        names.push_back(q.name.text());
        all += fmt::format("{}{}", all.empty() ? "" : ", ", q.name.text());
      }
      std::string hint = didYouMean(keyword.text(), names);
      m.problems.push_back({Problem::Kind::Unknown, i,
                            fmt::format("'{}' has no parameter '{}'{}", s.name.text(), keyword.text(),
                                        hint.empty() ? fmt::format("; it takes {}", all) : hint)});
      continue;
    }
    std::vector<size_t>& slot = m.arguments[p - s.params.begin()];
    if (!slot.empty())
      m.problems.push_back(
          {Problem::Kind::Twice, i, fmt::format("'{}' of '{}' is given twice", keyword.text(), s.name.text())});
    else
      slot.push_back(i);
  }
  if (!m.problems.empty()) return m;
  for (size_t p = 0; p < s.params.size(); ++p)
    if (m.arguments[p].empty() && s.params[p].required)
      m.problems.push_back({Problem::Kind::Missing, 0,
                            fmt::format("'{}' needs an argument for '{}'", s.name.text(), s.params[p].name.text())});
  return m;
}

namespace {
Kinds kindsOf(const AttributeType& t) {
  static constexpr Kinds kinds[] = {kind::Int,
                                    kind::Number,
                                    kind::Bool,
                                    kind::String,
                                    Kinds(kind::DType | kind::String),
                                    Kinds(kind::Int | kind::Tuple)};
  return kinds[static_cast<int>(t.kind)] | (t.optional ? kind::None : 0);
}
} // namespace

Signature signatureOf(const OperatorDecl& d) {
  Signature s;
  s.name = d.name;
  bool keywordOnly = false;
  for (const Parameter& p : d.function->parameters) {
    keywordOnly |= p.kind == Parameter::Kind::KeywordMarker;
    if (int i = d.inputIndex(p.name); i >= 0) {
      const InputDecl& in = d.inputs[i];
      Kinds kinds = kind::Tensor | (in.optional ? kind::None : 0) | (in.variadic ? kind::Tuple : 0);
      bool required = !in.variadic && !(in.optional && p.defaultValue);
      s.params.push_back({in.name, kinds, required, in.variadic, keywordOnly});
    } else if (const AttributeDecl* a = d.attribute(p.name)) {
      s.params.push_back({a->name, kindsOf(a->type), a->required, false, keywordOnly});
    }
  }
  s.results = d.resultCount();
  s.result = s.results > 1 ? kind::Tuple : kind::Tensor;
  return s;
}

} // namespace tegula::lang
