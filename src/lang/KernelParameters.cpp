// The parameters of tile kernels against the operator that they implement.
#include "lang/Binding.h"
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
    missingInputs();
    if (outputs.size() != op_.results.size())
      report(DiagnosticId::KernelOutputs, outputs.empty() ? k_.span : outputs.back()->span,
             "{} outputs; '{}' has {} results (residuals included)", outputs.size(), op_.name.text(),
             op_.results.size());
    for (size_t i = 0; i < outputs.size(); ++i) {
      const KernelParam& p = *outputs[i];
      bool bound = true;
      for (const Dim& d : p.tensor.dims) {
        if (d.kind != Dim::Kind::Symbol || std::find(dims.begin(), dims.end(), d.name) != dims.end()) continue;
        bound = false;
        if (refused_ == 0) // else the input that has it may be one that was refused
          report(DiagnosticId::UnboundDimension, d.span, "no input has the dimension '{}' of this output",
                 d.name.text());
      }
      if (bound && outputs.size() == op_.results.size()) outputParameter(p, i);
      scope_.declare(p.name, p.span, {kind::Tensor});
    }
    for (Symbol d : dims)
      if (!scope_.has(d)) scope_.declare(d, k_.span, {kind::Int});
  }

private:
  template <typename... A> void report(DiagnosticId id, Span at, fmt::format_string<A...> text, A&&... args) {
    diagnostics_.report(id, at, text, std::forward<A>(args)...);
  }

  /// An input that another parameter was written for is said there.
  void missingInputs() {
    std::vector<const InputDecl*> missing;
    for (const InputDecl& in : op_.inputs)
      if (!k_.param(in.name)) missing.push_back(&in);
    if (missing.size() <= refused_) return;
    for (const InputDecl* in : missing)
      report(DiagnosticId::KernelParameters, k_.span, "'{}' has no parameter for the input '{}' of '{}'",
             k_.name.text(), in->name.text(), op_.name.text());
  }

  void inputParameter(const KernelParam& p, std::vector<Symbol>& dims) {
    int at = op_.inputIndex(p.name);
    if (at < 0) {
      ++refused_;
      report(DiagnosticId::KernelParameters, p.span, "'{}' has no input '{}'{}", op_.name.text(), p.name.text(),
             hint(p.name));
      return;
    }
    if (p.optional != op_.inputs[at].optional)
      report(DiagnosticId::KernelParameters, p.span, "'{}' is {} in '{}'; write its type with {}'| None'",
             p.name.text(), op_.inputs[at].optional ? "optional" : "not optional", op_.name.text(),
             op_.inputs[at].optional ? "" : "no ");
    elementType(p, op_.inputs[at].type, fmt::format("the input '{}'", p.name.text()));
    inputAxes(p, op_.inputs[at].type, dims);
    scope_.declare(p.name, p.span, {static_cast<Kinds>(kind::Tensor | (p.optional ? kind::None : 0))},
                   fmt::format("the input '{}' is never used", p.name.text()));
  }

  /// The dimensions of an input are those that the operator gives it: each of its axes once, or part of it would not be
  /// read, or an axis that it does not have.
  void inputAxes(const KernelParam& p, const TypeRule& rule, std::vector<Symbol>& dims) {
    std::vector<Symbol> declared;
    for (const auto& a : rule.alternatives) collectSymbols(a.tensor, declared);
    bool known = true;
    for (const Dim& d : p.tensor.dims) {
      if (d.kind != Dim::Kind::Symbol) continue;
      dims.push_back(d.name);
      if (std::find(declared.begin(), declared.end(), d.name) != declared.end()) continue;
      known = false;
      report(DiagnosticId::KernelParameters, d.span, "the input '{}' of '{}' has no dimension '{}'", p.name.text(),
             op_.name.text(), d.name.text());
    }
    auto fits = [&](const TypeRule::Alternative& a) { return presents(p.tensor, a.tensor, true); };
    if (!known || std::all_of(rule.alternatives.begin(), rule.alternatives.end(), fits)) return;
    report(DiagnosticId::KernelParameters, p.span,
           "'{}' is Tensor[{}] but this input of '{}' is {}; expected each of its axes once", p.name.text(),
           dimensionsText(p.tensor, "(…)"), op_.name.text(), describe(rule));
    dims.insert(dims.end(), declared.begin(), declared.end()); // an output may name what this parameter lacks
  }

  /// What a kernel says about elements holds for every use of the operator, so the operator says it too.
  void elementType(const KernelParam& p, const TypeRule& rule, std::string_view what) {
    using Kind = DTypeRule::Kind;
    const DTypeRule& stated = p.tensor.dtype;
    if (stated.kind == Kind::Any || stated.kind == Kind::Variable) return;
    for (const TypeRule::Alternative& a : rule.alternatives) {
      const DTypeRule& r = a.tensor.dtype;
      bool fixed = r.kind == Kind::Fixed;
      if (stated.kind == Kind::Fixed && fixed && stated.dtype == r.dtype) continue;
      if (stated.kind == Kind::Float && (r.kind == Kind::Float || (fixed && isFloat(r.dtype)))) continue;
      if (stated.kind == Kind::Int && (r.kind == Kind::Int || (fixed && isInteger(r.dtype)))) continue;
      report(p.role == KernelParam::Role::Output ? DiagnosticId::KernelOutputs : DiagnosticId::KernelParameters, p.span,
             "'{}' is {} here but {} of '{}' is {}; write the same element type in both", p.name.text(),
             describe(stated), what, op_.name.text(), describe(r));
      return;
    }
  }

  static std::string describe(const DTypeRule& r) {
    switch (r.kind) {
    case DTypeRule::Kind::Fixed:
      return std::string(name(r.dtype));
    case DTypeRule::Kind::Float:
      return "a float";
    case DTypeRule::Kind::Int:
      return "an integer";
    case DTypeRule::Kind::Variable:
    case DTypeRule::Kind::Any:
      break;
    }
    return "of any type";
  }

  // ---- outputs
  void outputParameter(const KernelParam& p, size_t at) {
    const TypeRule& rule = op_.results[at].type;
    auto fits = [&](const TypeRule::Alternative& a) { return presents(p.tensor, a.tensor, false); };
    if (std::none_of(rule.alternatives.begin(), rule.alternatives.end(), fits)) {
      report(DiagnosticId::KernelOutputs, p.span,
             "'{}' is Out[{}] but result {} of '{}' is {}; outputs stand in the order of the results, with their axes",
             p.name.text(), dims(p.tensor), at + 1, op_.name.text(), describe(rule));
      return;
    }
    elementType(p, rule, fmt::format("result {}", at + 1));
  }

  /// Whether the two dimensions of a parameter are the axes of a result or an input, each once and in any order; an axis
  /// that it lacks is 1, and of an input, which may have one in another alternative of its type, a name.
  static bool presents(const TensorRule& parameter, const TensorRule& tensor, bool input) {
    if (tensor.anyShape) return true;
    std::vector<const Dim*> axes;
    for (const Dim& d : tensor.dims)
      if (d.kind != Dim::Kind::Ellipsis && d.kind != Dim::Kind::Group) axes.push_back(&d);
    std::vector<bool> taken(axes.size());
    auto has = [&](Symbol n) {
      return std::any_of(axes.begin(), axes.end(), [&](const Dim* a) { return a->name == n; });
    };
    for (size_t i = 0; i < parameter.dims.size(); ++i) {
      const Dim& d = parameter.dims[i];
      bool found = false;
      for (size_t k = 0; k < axes.size() && !found; ++k) {
        const Dim& axis = *axes[k];
        bool computed = axis.kind == Dim::Kind::Computed && axes.size() == 2 && k == i; // matched by place
        found = !taken[k] && (computed || (axis.kind == d.kind && axis.name == d.name && axis.value == d.value));
        if (found) taken[k] = true;
      }
      bool one = d.kind == Dim::Kind::Constant ? d.value == 1 : input && !has(d.name);
      if (!found && !one) return false;
    }
    return std::all_of(taken.begin(), taken.end(), [](bool t) { return t; });
  }

  static std::string dims(const TensorRule& t) { return dimensionsText(t, "(…)"); }

  static std::string describe(const TypeRule& rule) {
    std::string s;
    for (const TypeRule::Alternative& a : rule.alternatives)
      s += fmt::format("{}Tensor[{}]", s.empty() ? "" : " or ", dims(a.tensor));
    return s;
  }

  // ---- attributes
  void attributeParameter(const KernelParam& p) {
    const AttributeDecl* a = op_.attribute(p.name);
    if (!a) {
      ++refused_;
      std::string near = hint(p.name);
      if (near.empty() && p.attribute.kind == AttributeType::Kind::Int)
        near = fmt::format("; if it is a block size, write '{}: Tunable'", p.name.text());
      report(DiagnosticId::KernelParameters, p.span, "'{}' has no attribute '{}'{}", op_.name.text(), p.name.text(),
             near);
      return;
    }
    using Kind = AttributeType::Kind;
    bool number = a->type.kind == Kind::Int || a->type.kind == Kind::Float || a->type.kind == Kind::Bool;
    if (!number || a->type.optional) {
      report(DiagnosticId::KernelParameters, p.span, "the attribute '{}' is {}; a kernel can use int, float and bool",
             p.name.text(), toString(a->type));
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
  size_t refused_ = 0; // parameters that stand for nothing of the operator
};

} // namespace

void checkKernelParameters(const KernelDecl& k, const OperatorDecl& op, Scope& scope, Diagnostics& diagnostics) {
  KernelParameters(k, op, scope, diagnostics).check();
}

} // namespace tegula::lang
