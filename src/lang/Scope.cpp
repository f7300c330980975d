// Names in bodies, and the flow of returns.
#include "lang/Scope.h"
#include "lang/Builtins.h"
#include "lang/Declarations.h"
#include "lang/ForeignNames.h"

namespace tegula::lang {

void Scope::declare(Symbol name, Span at, NameState state, std::string unusedText) {
  names_[name] = state;
  origins_[name] = {at, std::move(unusedText)};
  used_[name] |= false;
}

void Scope::set(Symbol name, Span at, NameState state) {
  names_[name] = state;
  if (origins_.emplace(name, Origin{at, fmt::format("'{}' is never used", name.text())}).second) used_[name] |= false;
}

const NameState* Scope::use(const Expr& e) {
  used_[e.name] = true;
  auto it = names_.find(e.name);
  if (it != names_.end()) {
    if (!it->second.always && !unknown_.contains(e.name))
      diagnostics_.report(DiagnosticId::MaybeUndefined, e.span,
                          "'{}' is not set on every path that leads here; set it before the 'if' or loop",
                          e.name.text());
    return &it->second;
  }
  static const NameState number{kind::Float}, dtype{kind::DType};
  if (e.name == Symbol("inf") || e.name == Symbol("nan") || e.name == Symbol("pi")) return &number;
  if (dtypeNamed(e.name)) return &dtype;
  std::string hint = insteadOfName(e.name.text()) + didYouMeanForeignType(e.name.text());
  if (hint.empty() && unknown_.size() < kMostHints) hint = nearName(e.name);
  if (hint.empty()) hint = didYouMeanType(e.name.text());
  if (hint.empty() && findBuiltin(e.name)) hint = "; it is a function: call it";
  diagnostics_.report(DiagnosticId::UnknownName, e.span, "unknown name '{}'{}", e.name.text(),
                      hint.empty() ? "; expected a parameter, a dimension or a name set before" : hint);
  unknown_.insert(e.name);
  // Known from here on, so that one mistake is said once.
  names_[e.name] = {};
  return nullptr;
}

std::string Scope::nearName(Symbol name) const {
  std::vector<std::string_view> names;
  for (const auto& [n, state] : names_) names.push_back(n.text());
  return didYouMean(name.text(), names);
}

Scope::Names Scope::merge(const std::vector<Names>& ends) {
  if (ends.empty()) return {};
  Names out = ends[0];
  for (size_t i = 1; i < ends.size(); ++i) {
    for (auto& [name, state] : out) {
      auto it = ends[i].find(name);
      if (it == ends[i].end()) {
        state.always = false;
        continue;
      }
      state.always &= it->second.always;
      state.kinds |= it->second.kinds;
      if (state.count != it->second.count) state.count = -1;
    }
    for (const auto& [name, state] : ends[i]) {
      if (out.contains(name)) continue;
      out[name] = state;
      out[name].always = false;
    }
  }
  return out;
}

void Scope::reportUnused() {
  if (diagnostics_.size() > before_) return;
  for (const auto& [name, origin] : origins_) {
    if (used_[name] || origin.unusedText.empty() || name.text().starts_with('_')) continue;
    diagnostics_.report(DiagnosticId::UnusedName, origin.at, "{}", origin.unusedText);
  }
}

bool alwaysReturns(const Block& b) {
  for (const StmtPtr& s : b) {
    if (s->kind == StmtKind::Return) return true;
    if (s->kind != StmtKind::If || s->orElse.empty() || !alwaysReturns(s->orElse)) continue;
    bool all = true;
    for (const Stmt::Branch& branch : s->branches) all &= alwaysReturns(branch.body);
    if (all) return true;
  }
  return false;
}

namespace {
void unreachable(const Block& b, Diagnostics& diagnostics) {
  for (size_t i = 0; i < b.size(); ++i) {
    const Stmt& s = *b[i];
    for (const Stmt::Branch& branch : s.branches) unreachable(branch.body, diagnostics);
    unreachable(s.orElse, diagnostics);
    unreachable(s.body, diagnostics);
    bool ends = s.kind == StmtKind::Return;
    if (s.kind == StmtKind::If && !s.orElse.empty()) {
      ends = alwaysReturns(s.orElse);
      for (const Stmt::Branch& branch : s.branches) ends &= alwaysReturns(branch.body);
    }
    if (ends && i + 1 < b.size()) {
      diagnostics.report(DiagnosticId::Unreachable, b[i + 1]->span,
                         "this is never reached: every path before it returns");
      return;
    }
  }
}
} // namespace

void checkReturns(const Function& f, Diagnostics& diagnostics) {
  unreachable(f.body, diagnostics);
  if (alwaysReturns(f.body)) return;
  Span at = f.body.empty() ? f.nameSpan : f.body.back()->span;
  diagnostics.report(DiagnosticId::MissingReturn, at,
                     "'{}' can end here without a return; expected 'return' on every path", f.name.text());
}

} // namespace tegula::lang
