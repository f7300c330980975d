// Shape and type checking at load, by trial: every body is instantiated on types alone, at its example and at extents
// that are distinct primes, with several numbers of leading axes, with and without optional inputs. Shapes are computed
// by polynomials of the extents, so two that differ for some sizes differ at these; what a body's `assert` refuses is
// left to its example. The exact check happens whenever the operator is instantiated.
#include "absl/container/flat_hash_set.h"
#include "lang/Binding.h"
#include "lang/Library.h"
#include "lang/ProblemText.h"
#include "lang/Trial.h"
#include <algorithm>

namespace tegula::lang {

namespace {

using Entry = OperatorLibrary::Impl::Entry;

class Prober {
public:
  Prober(const OperatorLibrary::Impl& library, const Entry& entry, Diagnostics& diagnostics)
      : library_(library), e_(entry), op_(*entry.op), diagnostics_(diagnostics) {}

  /// The body, or the gradient of an operator whose body is right. False when something was reported.
  bool run(bool gradient) {
    gradient_ = gradient;
    if (!op_.example.empty() && !example()) return false;
    for (int leading = 1; leading <= 2; ++leading)
      for (bool optional : {true, false})
        if (std::optional<Trial> t = trial(leading, optional); t && !attempt(*t, false)) return false;
    return true;
  }

private:
  /// False when something was reported.
  bool example() {
    std::optional<Trial> t = readExample(op_, diagnostics_);
    if (!t) return false;
    if (Status s = library_.complete(op_, t->attributes).status(); !s.ok()) {
      diagnostics_.report(DiagnosticId::ExampleMismatch, op_.exampleSpan, "the example does not fit '{}': {}",
                          op_.name.text(), message(s));
      return false;
    }
    return attempt(*t, true);
  }

  /// Extents: every symbol its own prime, in order of appearance, larger ones first.
  std::optional<Trial> trial(int leading, bool optional) {
    static constexpr int64_t kPrimes[] = {61, 59, 53, 47, 43, 41, 37, 31, 29, 23, 19, 17, 13, 11, 7, 5};
    Trial t;
    // The example's value of a required attribute fits the example's shapes only.
    for (const AttributeDecl& a : op_.attributes)
      if (a.required) return {};
    std::vector<Symbol> symbols;
    auto extent = [&](Symbol s) {
      auto it = std::find(symbols.begin(), symbols.end(), s);
      if (it == symbols.end()) it = symbols.insert(symbols.end(), s);
      return kPrimes[(it - symbols.begin()) % std::size(kPrimes)];
    };
    bool anyOptional = false;
    for (const InputDecl& in : op_.inputs) {
      anyOptional |= in.optional;
      Shape s;
      const TensorRule& rule = in.type.alternatives.back().tensor;
      // Choices depend on the types themselves, and what fits "any shape" only the body knows.
      if (in.type.alternatives.size() > 1 || rule.anyShape) return {};
      for (const Dim& d : rule.dims) {
        if (d.kind == Dim::Kind::Symbol)
          s.push_back(extent(d.name));
        else if (d.kind == Dim::Kind::Constant)
          s.push_back(d.value);
        else
          for (int i = 0; i < leading && s.rank() < kMaxRank; ++i) s.push_back(i == 0 ? 3 : 2);
        if (s.rank() == kMaxRank) break;
      }
      if (in.optional && !optional)
        t.addAbsent();
      else
        for (int n = in.variadic ? 2 : 1; n > 0; --n) t.add(in, {statedType(in).value_or(DType::F32), s});
    }
    if (!optional && !anyOptional) return {};
    if (symbols.empty()) return t;
    std::string sizes;
    for (Symbol s : symbols) sizes += fmt::format("{}{}={}", sizes.empty() ? "" : ", ", s.text(), extent(s));
    t.sizes = fmt::format("; every operator is also checked at sizes that are primes ({}); if {} must be even, say so: "
                          "assert {} % 2 == 0",
                          sizes, symbols[0].text(), symbols[0].text());
    return t;
  }

  /// `certain`: the types are known to be right. False when something was reported.
  bool attempt(const Trial& t, bool certain) {
    std::vector<const TensorType*> inputs = t.pointers();
    OperatorLibrary::Impl::Failure at;
    StatusOr<TensorTypes> results = library_.infer(e_, inputs, t.attributes, &at);
    if (!results.ok())
      return failed(results.status(), at, t, certain,
                    op_.results.empty() ? op_.span : op_.results[0].type.alternatives[0].tensor.span);
    if (!gradient_) return true;
    TypeBuilder builder(library_);
    Values in, out, gradients;
    for (const TensorType* p : inputs) in.push_back(p ? builder.input(*p) : Value());
    for (const TensorType& r : *results) out.push_back(builder.input(r));
    for (int i = 0; i < op_.resultCount(); ++i)
      gradients.push_back(isFloat((*results)[i].dtype) ? builder.input((*results)[i]) : Value());
    auto span = [](const Values& v) { return std::span<const Value>(v.data(), v.size()); };
    OperatorLibrary::Impl::Failure gradAt;
    StatusOr<Values> g = library_.runGrad(e_, span(in), span(out), span(gradients), t.attributes, builder, &gradAt);
    return g.ok() || failed(g.status(), gradAt, t, certain, e_.grad->function->nameSpan);
  }

  bool failed(const Status& s, const OperatorLibrary::Impl::Failure& at, const Trial& t, bool certain, Span fallback) {
    bool refused = s.code() == absl::StatusCode::kFailedPrecondition; // an assert said no
    if (!certain && (refused || at.body.line == 0)) return true;
    if (certain && (refused || at.body.line == 0)) {
      // The example and the header disagree; shown at the input that refuses.
      Span place = at.header.line ? at.header : refused && at.body.line ? at.body : op_.exampleSpan;
      diagnostics_.report(DiagnosticId::ExampleMismatch, place, "the example does not fit '{}': {} (with {})",
                          op_.name.text(), message(s), with(t));
      return false;
    }
    bool result = message(s).find("its declaration") != std::string_view::npos;
    DiagnosticId id = idOf(s, result ? DiagnosticId::ResultMismatch : DiagnosticId::ShapeMismatch);
    bool shapes = id == DiagnosticId::ResultMismatch || id == DiagnosticId::ShapeMismatch;
    diagnostics_.report(id, at.body.line ? at.body : fallback, "{} (with {}{})", message(s), with(t),
                        shapes ? t.sizes : "");
    return false;
  }

  /// The trial and the defaults of attributes that it leaves out.
  std::string with(const Trial& t) const {
    std::string text = t.text;
    for (const AttributeDecl& a : op_.attributes)
      if (!a.required && !t.attributes.find(a.name))
        text += fmt::format(", {}={}", a.name.text(), toString(a.defaultValue));
    return text;
  }

  const OperatorLibrary::Impl& library_;
  const Entry& e_;
  const OperatorDecl& op_;
  Diagnostics& diagnostics_;
  bool gradient_ = false;
};

} // namespace

void probeShapes(const OperatorLibrary::Impl& library, std::span<const Symbol> order, Diagnostics& diagnostics) {
  absl::flat_hash_set<Symbol> failed;
  auto reliable = [&](const Block& body) {
    std::vector<const Expr*> calls;
    collectCalls(body, calls);
    return std::none_of(calls.begin(), calls.end(), [&](const Expr* c) { return failed.contains(c->callee()); });
  };
  for (Symbol name : order) {
    const Entry& e = library.entries.at(name);
    if (!reliable(e.op->body()) || !Prober(library, e, diagnostics).run(false)) failed.insert(name);
  }
  for (Symbol name : order) {
    const Entry& e = library.entries.at(name);
    if (e.grad && !failed.contains(name) && reliable(e.grad->body())) Prober(library, e, diagnostics).run(true);
  }
}

} // namespace tegula::lang
