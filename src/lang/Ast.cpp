// Questions to the syntax tree.
#include "lang/Ast.h"
#include <algorithm>

namespace tegula::lang {

int OperatorDecl::resultCount() const {
  return static_cast<int>(
      std::count_if(results.begin(), results.end(), [](const ResultDecl& r) { return !r.residual; }));
}
const AttributeDecl* OperatorDecl::attribute(Symbol s) const {
  for (const AttributeDecl& a : attributes)
    if (a.name == s) return &a;
  return nullptr;
}
int OperatorDecl::inputIndex(Symbol s) const {
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].name == s) return static_cast<int>(i);
  return -1;
}
const KernelParam* KernelDecl::param(Symbol s) const {
  for (const KernelParam& p : params)
    if (p.name == s) return &p;
  return nullptr;
}

namespace {
void collectCalls(const Expr& e, std::vector<const Expr*>& out) {
  if (e.is(ExprKind::Call)) out.push_back(&e);
  for (const ExprPtr& a : e.args)
    if (a) collectCalls(*a, out);
}
} // namespace

void collectCalls(const Block& b, std::vector<const Expr*>& out) {
  for (const StmtPtr& s : b) {
    if (s->value) collectCalls(*s->value, out);
    for (const auto& branch : s->branches) {
      collectCalls(*branch.condition, out);
      collectCalls(branch.body, out);
    }
    collectCalls(s->body, out);
    collectCalls(s->orElse, out);
  }
}

void collectSymbols(const TensorRule& rule, std::vector<Symbol>& out) {
  for (const Dim& d : rule.dims)
    if (d.kind == Dim::Kind::Symbol || d.kind == Dim::Kind::Group) out.push_back(d.name);
}

} // namespace tegula::lang
