// Shape and type checking at load, by trial: every body is instantiated on types alone, at its example and at extents
// that are distinct primes, with several numbers of leading axes, with and without optional inputs. Shapes are computed
// by polynomials of the extents, so two that differ for some sizes differ at these; what a body's `assert` refuses is
// left to its example. The exact check happens whenever the operator is instantiated.
#include "absl/container/flat_hash_set.h"
#include "lang/Binding.h"
#include "lang/Library.h"
#include <algorithm>

namespace tegula::lang {

namespace {

using Entry = OperatorLibrary::Impl::Entry;

/// The types of one trial.
struct Trial {
  std::string text; // for messages: "x f32[3,4]"
  std::vector<TensorType> types;
  std::vector<bool> present;
  Attributes attributes;
  std::vector<const TensorType*> pointers() const {
    std::vector<const TensorType*> p;
    for (size_t i = 0; i < types.size(); ++i) p.push_back(present[i] ? &types[i] : nullptr);
    return p;
  }
};

std::vector<std::string_view> split(std::string_view s, char at) {
  std::vector<std::string_view> out;
  while (!s.empty()) {
    size_t end = std::min(s.find(at), s.size());
    if (end > 0) out.push_back(s.substr(0, end));
    s.remove_prefix(std::min(end + 1, s.size()));
  }
  return out;
}

std::optional<int64_t> integer(std::string_view s) {
  if (s.empty() || s.size() > 18) return {};
  bool negative = s[0] == '-';
  int64_t v = 0;
  for (char c : s.substr(negative)) {
    if (c < '0' || c > '9') return {};
    v = v * 10 + (c - '0');
  }
  return negative ? -v : v;
}

std::optional<Shape> shapeOf(std::string_view s) {
  Shape shape;
  s = s.substr(0, s.find(':'));
  for (std::string_view part : split(s, ',')) {
    std::optional<int64_t> d = integer(part);
    if (!d || *d < 0 || shape.rank() == kMaxRank) return {};
    shape.push_back(*d);
  }
  return shape;
}

AttrValue attributeOf(std::string_view s, const AttributeType& type) {
  if (s == "true" || s == "false") return s == "true";
  if (std::optional<int64_t> i = integer(s)) return *i;
  if (type.kind == AttributeType::Kind::Ints)
    if (std::optional<Shape> shape = shapeOf(s)) return *shape;
  char* end = nullptr;
  std::string text(s);
  double d = std::strtod(text.c_str(), &end);
  if (!text.empty() && *end == 0) return d;
  return Symbol(s);
}

DType dtypeFor(const InputDecl& in, DType d) {
  const DTypeRule& r = in.type.alternatives.back().tensor.dtype;
  if (r.kind == DTypeRule::Kind::Fixed) return r.dtype;
  if (r.kind == DTypeRule::Kind::Int) return DType::I64;
  return d;
}

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
    Trial t;
    std::vector<std::string_view> parts = split(op_.example, ' ');
    DType d = DType::F32;
    for (std::string_view p : parts)
      if (std::optional<DType> named = parseDType(p)) d = *named;
    std::vector<std::vector<Shape>> given(op_.inputs.size());
    for (size_t i = 1; i < parts.size(); ++i) {
      size_t eq = parts[i].find('=');
      if (eq == std::string_view::npos) {
        if (!parseDType(parts[i])) return wrong("'{}' is neither name=value nor an element type", parts[i]);
        continue;
      }
      Symbol name(parts[i].substr(0, eq));
      std::string_view value = parts[i].substr(eq + 1);
      if (int at = op_.inputIndex(name); at >= 0) {
        std::optional<Shape> s = shapeOf(value);
        if (!s) return wrong("'{}' is not a shape such as 4,1000", value);
        given[at].push_back(*s);
      } else if (const AttributeDecl* a = op_.attribute(name)) {
        t.attributes.set(name, attributeOf(value, a->type));
      } else {
        return wrong("'{}' is neither an input nor an attribute", name.text());
      }
    }
    for (size_t i = 0; i < op_.inputs.size(); ++i) {
      const InputDecl& in = op_.inputs[i];
      if (given[i].empty() && !in.optional && !in.variadic)
        return wrong("it has no shape for the input '{}'", in.name.text());
      if (given[i].empty() && in.optional) add(t, in, {}, d, false);
      for (const Shape& s : given[i]) add(t, in, s, d, true);
    }
    if (Status s = library_.complete(op_, t.attributes).status(); !s.ok()) return wrong("{}", message(s));
    t.text = op_.example;
    return attempt(t, true);
  }
  template <typename... A> bool wrong(fmt::format_string<A...> text, A&&... args) {
    diagnostics_.report(DiagnosticId::ExampleMismatch, op_.exampleSpan, "the example does not fit '{}': {}",
                        op_.name.text(), fmt::format(text, std::forward<A>(args)...));
    return false;
  }

  void add(Trial& t, const InputDecl& in, const Shape& s, DType d, bool present) {
    TensorType type{dtypeFor(in, d), s};
    t.types.push_back(type);
    t.present.push_back(present);
    if (present) t.text += fmt::format("{}{} {}", t.text.empty() ? "" : ", ", in.name.text(), toString(type));
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
        add(t, in, {}, DType::F32, false);
      else
        for (int n = in.variadic ? 2 : 1; n > 0; --n) add(t, in, s, DType::F32, true);
    }
    if (!optional && !anyOptional) return {};
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
                          op_.name.text(), message(s), t.text);
      return false;
    }
    bool result = message(s).find("its declaration") != std::string_view::npos;
    diagnostics_.report(result ? DiagnosticId::ResultMismatch : DiagnosticId::ShapeMismatch,
                        at.body.line ? at.body : fallback, "{} (with {})", message(s), t.text);
    return false;
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
