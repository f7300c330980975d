// The parameters of tile kernels against the operator that they implement.
#include "lang/Library.h"
#include "lang/Scope.h"
#include <algorithm>

namespace tegula::lang {

namespace {

class KernelParameters {
public:
  KernelParameters(const KernelDecl& k, const OperatorDecl& op, Scope& scope, Diagnostics& diagnostics)
      : k_(k), op_(op), scope_(scope), diagnostics_(diagnostics) {}

  void check() {
    std::vector<Symbol> dims;
    std::vector<const KernelParam*> outputs;
    for (const KernelParam& p : k_.params) {
      switch (p.role) {
      case KernelParam::Role::Input:
        inputParameter(p, dims);
        break;
      case KernelParam::Role::Output:
        outputs.push_back(&p);
        break;
      case KernelParam::Role::Tunable:
        scope_.declare(p.name, p.span, {kind::Int}, fmt::format("the block size '{}' is never used", p.name.text()));
        break;
      case KernelParam::Role::Attribute:
        attributeParameter(p);
        break;
      }
    }
    for (const InputDecl& in : op_.inputs)
      if (!k_.param(in.name))
        report(DiagnosticId::KernelParameters, k_.span, "'{}' has no parameter for the input '{}' of '{}'",
               k_.name.text(), in.name.text(), op_.name.text());
    if (outputs.size() != op_.results.size())
      report(DiagnosticId::KernelOutputs, outputs.empty() ? k_.span : outputs.back()->span,
             "{} outputs; '{}' has {} results (residuals included)", outputs.size(), op_.name.text(),
             op_.results.size());
    for (const KernelParam* p : outputs) {
      for (const Dim& d : p->tensor.dims)
        if (d.kind == Dim::Kind::Symbol && std::find(dims.begin(), dims.end(), d.name) == dims.end())
          report(DiagnosticId::UnboundDimension, d.span, "no input has the dimension '{}' of this output",
                 d.name.text());
      scope_.declare(p->name, p->span, {kind::Tensor});
    }
    for (Symbol d : dims)
      if (!scope_.has(d)) scope_.declare(d, k_.span, {kind::Int});
  }

private:
  template <typename... A> void report(DiagnosticId id, Span at, fmt::format_string<A...> text, A&&... args) {
    diagnostics_.report(id, at, text, std::forward<A>(args)...);
  }

  void inputParameter(const KernelParam& p, std::vector<Symbol>& dims) {
    int at = op_.inputIndex(p.name);
    if (at < 0) {
      report(DiagnosticId::KernelParameters, p.span, "'{}' has no input '{}'{}", op_.name.text(), p.name.text(),
             hint(p.name));
      return;
    }
    if (p.optional != op_.inputs[at].optional)
      report(DiagnosticId::KernelParameters, p.span, "'{}' is {} in '{}'; write its type with {}'| None'",
             p.name.text(), op_.inputs[at].optional ? "optional" : "not optional", op_.name.text(),
             op_.inputs[at].optional ? "" : "no ");
    std::vector<Symbol> declared;
    for (const auto& a : op_.inputs[at].type.alternatives) collectSymbols(a.tensor, declared);
    for (const Dim& d : p.tensor.dims) {
      if (d.kind != Dim::Kind::Symbol) continue;
      if (std::find(declared.begin(), declared.end(), d.name) == declared.end())
        report(DiagnosticId::KernelParameters, d.span, "the input '{}' of '{}' has no dimension '{}'", p.name.text(),
               op_.name.text(), d.name.text());
      dims.push_back(d.name);
    }
    scope_.declare(p.name, p.span, {static_cast<Kinds>(kind::Tensor | (p.optional ? kind::None : 0))},
                   fmt::format("the input '{}' is never used", p.name.text()));
  }

  void attributeParameter(const KernelParam& p) {
    const AttributeDecl* a = op_.attribute(p.name);
    if (!a) {
      report(DiagnosticId::KernelParameters, p.span, "'{}' has no attribute '{}'{}", op_.name.text(), p.name.text(),
             hint(p.name));
      return;
    }
    if (a->type.kind != p.attribute.kind)
      report(DiagnosticId::KernelParameters, p.span, "the attribute '{}' is {} in '{}', not {}", p.name.text(),
             toString(a->type), op_.name.text(), toString(p.attribute));
    static const Kinds kinds[] = {kind::Int, kind::Float, kind::Bool, kind::String, kind::DType, kind::Tuple};
    scope_.declare(p.name, p.span, {kinds[static_cast<int>(a->type.kind)]},
                   fmt::format("the attribute '{}' is never used", p.name.text()));
  }

  std::string hint(Symbol name) const {
    std::vector<std::string_view> names;
    for (const InputDecl& in : op_.inputs) names.push_back(in.name.text());
    for (const AttributeDecl& a : op_.attributes) names.push_back(a.name.text());
    return didYouMean(name.text(), names);
  }

  const KernelDecl& k_;
  const OperatorDecl& op_;
  Scope& scope_;
  Diagnostics& diagnostics_;
};

} // namespace

void checkKernelParameters(const KernelDecl& k, const OperatorDecl& op, Scope& scope, Diagnostics& diagnostics) {
  KernelParameters(k, op, scope, diagnostics).check();
}

} // namespace tegula::lang
