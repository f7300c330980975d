// The parameters of a @grad against its operator: inputs by their names, a name for each result and residual, d<name>
// for each result, then attributes by name. A wrong list is told together with the list that was meant.
#include "lang/Library.h"

#include <algorithm>

namespace tegula::lang {

namespace {

bool contains(const std::vector<Symbol>& v, Symbol s) { return std::find(v.begin(), v.end(), s) != v.end(); }

Symbol gradientOf(Symbol result) { return Symbol(fmt::format("d{}", result.text())); }
/// y of dy; empty when the name does not begin with d.
Symbol resultOf(Symbol gradient) {
  std::string_view s = gradient.text();
  return s.size() > 1 && s[0] == 'd' ? Symbol(s.substr(1)) : Symbol();
}

class GradParameters {
public:
  GradParameters(GradDecl& g, const OperatorDecl& op, Diagnostics& diagnostics)
      : g_(g), op_(op), diagnostics_(diagnostics), results_(static_cast<size_t>(op.resultCount())) {
    for (const Parameter& p : g.function->parameters) found_.push_back(p.name);
  }

  bool check() {
    const auto& p = g_.function->parameters;
    for (size_t i = 0; i < p.size(); ++i)
      if (p[i].annotation || p[i].defaultValue || p[i].kind != Parameter::Kind::Plain)
        return wrong(i, "the parameters of a @grad are plain names; their types come from the operator");
    expect();
    auto [i, k] = std::mismatch(found_.begin(), found_.end(), expected_.begin(), expected_.end());
    if (i != found_.end() || k != expected_.end()) {
      auto at = static_cast<size_t>(i - found_.begin());
      return wrong(at, fmt::format("expected ({}): {}", list(), difference(at)));
    }
    return true;
  }

private:
  bool wrong(size_t i, const std::string& message) {
    const auto& p = g_.function->parameters;
    diagnostics_.report(DiagnosticId::GradParameters, i < p.size() ? p[i].span : g_.function->nameSpan, "{}", message);
    return false;
  }

  /// The list that was meant. Results have no names of their own: they are what the author calls them.
  void expect() {
    for (const InputDecl& in : op_.inputs) expected_.push_back(in.name);
    std::vector<Symbol> names = resultNames();
    for (Symbol n : names) expected_.push_back(n);
    for (size_t i = 0; i < results_; ++i) expected_.push_back(gradientOf(names[i]));
    for (Symbol n : found_)
      if (op_.attribute(n) && !contains(expected_, n)) {
        expected_.push_back(n);
        g_.attributes.push_back(n);
      }
  }

  std::vector<Symbol> resultNames() const {
    size_t count = op_.results.size();
    std::vector<Symbol> free = freeNames(), plain, gradients;
    for (Symbol n : free)
      if (!contains(free, resultOf(n))) plain.push_back(n);
    if (plain.size() >= count && !missesResult(plain, free)) {
      auto hasGradient = [&](Symbol n) { return contains(free, gradientOf(n)); };
      if (std::ranges::count_if(plain, hasGradient) == op_.resultCount()) // residuals come after
        std::ranges::sort(
            plain, {}, [&](Symbol n) { return std::pair(!hasGradient(n), std::ranges::find(free, n) - free.begin()); });
      plain.resize(count);
      return plain;
    }
    // A gradient without its result: the result is missing.
    plain.clear();
    for (Symbol n : free) (resultOf(n).empty() || contains(free, gradientOf(n)) ? plain : gradients).push_back(n);
    std::vector<Symbol> names;
    for (Symbol n : gradients)
      if (names.size() < results_) names.push_back(resultOf(n));
    for (Symbol n : plain)
      if (names.size() < count && !contains(names, n)) names.push_back(n);
    while (names.size() < count) names.push_back(unused(names));
    return names;
  }

  /// Parameters that are no inputs and no attributes; one that stands for a misspelt input is left out.
  std::vector<Symbol> freeNames() const {
    std::vector<Symbol> free;
    size_t surplus = 0, needed = op_.results.size() + results_;
    for (Symbol n : found_) surplus += op_.inputIndex(n) < 0 && !op_.attribute(n);
    surplus -= std::min(surplus, needed);
    for (size_t i = 0; i < found_.size(); ++i) {
      if (op_.inputIndex(found_[i]) >= 0 || op_.attribute(found_[i])) continue;
      bool input = surplus > 0 && i < op_.inputs.size() && !contains(found_, op_.inputs[i].name);
      if (input)
        --surplus;
      else
        free.push_back(found_[i]);
    }
    return free;
  }

  /// Whether what counts as results are gradients: dy alone, of an operator with one result.
  bool missesResult(const std::vector<Symbol>& plain, const std::vector<Symbol>& free) const {
    return plain.size() == op_.results.size() && free.size() < op_.results.size() + results_ &&
           std::any_of(
               plain.begin(), plain.end(),
               [&](Symbol n) { return !resultOf(n).empty() && !contains(free, gradientOf(n)); });
  }

  Symbol unused(const std::vector<Symbol>& names) const {
    for (std::string_view s : {"y", "z", "out"})
      if (Symbol n(s); names.size() < results_ && !contains(names, n) && op_.inputIndex(n) < 0) return n;
    std::string kind = names.size() < results_ ? "result" : "residual", name = kind;
    for (int i = 2; contains(names, Symbol(name)) || op_.inputIndex(Symbol(name)) >= 0; ++i)
      name = fmt::format("{}{}", kind, i);
    return Symbol(name);
  }

  std::string list() const {
    std::string s;
    for (Symbol n : expected_) s += fmt::format("{}{}", s.empty() ? "" : ", ", n.text());
    return s;
  }

  /// "the result 'y'": what place `i` of the list stands for.
  std::string role(size_t i) const {
    size_t inputs = op_.inputs.size(), outputs = op_.results.size();
    std::string_view name = expected_[i].text();
    if (i < inputs) return fmt::format("the input '{}'", name);
    if (i < inputs + results_) return fmt::format("the result '{}'", name);
    if (i < inputs + outputs) return fmt::format("the residual '{}'", name);
    if (i < inputs + outputs + results_)
      return fmt::format("the gradient '{}' of '{}'", name, expected_[i - outputs].text());
    return fmt::format("the attribute '{}'", name);
  }

  /// The attribute that `name` is near to, or all of them.
  std::string attributeHint(Symbol name) const {
    std::vector<std::string_view> names;
    for (const AttributeDecl& a : op_.attributes) names.push_back(a.name.text());
    std::string near = didYouMean(name.text(), names);
    return near.empty() && !names.empty() ? fmt::format("; its attributes: {}", fmt::join(names, ", ")) : near;
  }

  /// How the lists differ at place `i`, the first where they do.
  std::string difference(size_t i) const {
    bool more = i < found_.size(), wanted = i < expected_.size();
    bool surplus = more && !contains(expected_, found_[i]);
    bool missing = wanted && !contains(found_, expected_[i]);
    if (surplus && missing) return fmt::format("'{}' should be {}", found_[i].text(), role(i));
    if (missing)
      return fmt::format("{} is missing {}", role(i),
                         more ? fmt::format("before '{}'", found_[i].text()) : "at the end");
    if (surplus)
      return fmt::format("'{}' is no input and no attribute of '{}'{}", found_[i].text(), op_.name.text(),
                         attributeHint(found_[i]));
    if (!wanted) return fmt::format("'{}' stands here again", found_[i].text());
    if (op_.attribute(found_[i])) return fmt::format("the attribute '{}' comes last", found_[i].text());
    return fmt::format("{} comes before '{}'", role(i), found_[i].text());
  }

  GradDecl& g_;
  const OperatorDecl& op_;
  Diagnostics& diagnostics_;
  size_t results_; // without residuals
  std::vector<Symbol> found_, expected_;
};

} // namespace

bool checkGradParameters(GradDecl& g, const OperatorDecl& op, Diagnostics& diagnostics) {
  return GradParameters(g, op, diagnostics).check();
}

} // namespace tegula::lang
