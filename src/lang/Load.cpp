// Loading a library: parse, declare, resolve names across files, check bodies, check shapes. Each step runs on what the
// steps before it accepted, so that one mistake is reported once.
#include "lang/Builtins.h"
#include "lang/Declarations.h"
#include "lang/Embedded.h"
#include "lang/Library.h"
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace tegula {

using namespace lang;

namespace {

class Loader {
public:
  explicit Loader(OperatorLibrary::Impl& impl) : impl_(impl) {}

  Status run(bool probe) {
    for (size_t i = 0; i < impl_.sources.size(); ++i)
      impl_.modules.push_back(parseModule(impl_.sources[i].text, static_cast<int32_t>(i), diagnostics_));
    syntaxErrors_ = !diagnostics_.empty();
    for (const ParsedModule& m : impl_.modules)
      for (const auto& f : m.module->functions) declareFunction(*f, m.broken.count(f.get()) > 0);
    for (GradDecl& g : grads_) resolveGrad(g);
    for (KernelDecl& k : kernels_) resolveKernel(k);
    for (auto& [name, e] : impl_.entries) kernelNeedsGrad(e);
    refuseRecursion();
    checkBodies();
    if (probe && diagnostics_.empty()) probeShapes(impl_, order_, diagnostics_);
    // A kernel is measured by its operator, so the operator must be right first.
    if (diagnostics_.empty()) checkKernels();
    TG_RETURN_IF_ERROR(diagnostics_.status(impl_.sources));
    for (auto& [name, e] : impl_.entries) describe(e);
    return OkStatus();
  }

private:
  void declareFunction(const Function& f, bool broken) {
    Diagnostics ignored;
    bool ok = true;
    Declaration d = declare(f, broken ? ignored : diagnostics_, ok);
    if (auto* g = std::get_if<GradDecl>(&d)) {
      if (!broken && ok)
        grads_.push_back(std::move(*g));
      else
        brokenGrads_.push_back(g->op);
      return;
    }
    if (auto* k = std::get_if<KernelDecl>(&d)) {
      if (!broken && ok) kernels_.push_back(std::move(*k));
      return;
    }
    Symbol name = f.name;
    if (auto it = impl_.entries.find(name); it != impl_.entries.end()) {
      if (!broken)
        diagnostics_.report(DiagnosticId::DuplicateDefinition, f.nameSpan,
                            "a second operator named '{}'; the first is at {}", name.text(),
                            place(it->second.op->span));
      return;
    }
    OperatorDecl op;
    if (auto* o = std::get_if<OperatorDecl>(&d)) op = std::move(*o);
    op.function = &f;
    op.name = name;
    op.span = f.nameSpan;
    op.broken = broken || !ok || std::holds_alternative<std::monostate>(d);
    impl_.entries[name].op = std::make_unique<OperatorDecl>(std::move(op));
  }

  std::string place(Span s) const { return fmt::format("{}:{}", impl_.sources[s.file].path, s.line); }
  bool isBroken(Symbol op) const { return impl_.entries.at(op).op->broken; }

  OperatorLibrary::Impl::Entry* resolve(Symbol op, Span at) {
    auto it = impl_.entries.find(op);
    if (it != impl_.entries.end()) return &it->second;
    if (syntaxErrors_) return nullptr;
    std::vector<std::string_view> names;
    for (const auto& [n, e] : impl_.entries) names.push_back(n.text());
    std::sort(names.begin(), names.end());
    std::string hint = didYouMean(op.text(), names);
    diagnostics_.report(DiagnosticId::UnknownOperator, at, "no operator is named '{}'{}", op.text(),
                        hint.empty() ? "; expected the name of a @tile_op" : hint);
    return nullptr;
  }

  // ---- @grad
  void resolveGrad(GradDecl& g) {
    auto* e = resolve(g.op, g.span);
    if (!e || isBroken(g.op)) return;
    if (!e->op->differentiable) {
      diagnostics_.report(DiagnosticId::DecoratorArguments, g.span,
                          "'{}' is declared differentiable=False, so nothing asks for its gradient; leave one out",
                          g.op.text());
      return;
    }
    if (e->grad) {
      diagnostics_.report(DiagnosticId::DuplicateGrad, g.span, "a second @grad of '{}'; the first is at {}",
                          g.op.text(), place(e->grad->span));
      return;
    }
    if (checkGradParameters(g, *e->op, diagnostics_))
      e->grad = std::make_unique<GradDecl>(std::move(g));
    else
      brokenGrads_.push_back(e->op->name);
  }

  // ---- @tile_kernel
  void resolveKernel(KernelDecl& k) {
    auto* e = resolve(k.implements, k.implementsSpan);
    if (!e || isBroken(k.implements)) return;
    if (e->kernel) {
      diagnostics_.report(DiagnosticId::DuplicateKernel, k.implementsSpan,
                          "a second kernel of '{}'; the first is at {}", k.implements.text(), place(e->kernel->span));
      return;
    }
    e->kernel = std::make_unique<KernelDecl>(std::move(k));
  }

  void kernelNeedsGrad(const OperatorLibrary::Impl::Entry& e) {
    if (!e.kernel || e.grad || !e.op->differentiable || isBroken(e.op->name)) return;
    if (std::find(brokenGrads_.begin(), brokenGrads_.end(), e.op->name) != brokenGrads_.end()) return;
    diagnostics_.report(DiagnosticId::KernelNeedsGrad, e.kernel->implementsSpan,
                        "'{}' has a kernel but no @grad; add @grad({}), or say @tile_op(differentiable=False)",
                        e.op->name.text(), e.op->name.text());
  }

  // ---- recursion
  void refuseRecursion() {
    absl::flat_hash_map<Symbol, int> state; // 1: on the path, 2: done
    std::vector<Symbol> names;
    for (const auto& [n, e] : impl_.entries) names.push_back(n);
    std::sort(names.begin(), names.end());
    for (Symbol n : names) visit(n, state);
  }
  /// Depth first with an explicit stack: libraries may chain thousands of operators.
  void visit(Symbol root, absl::flat_hash_map<Symbol, int>& state) {
    struct Frame {
      Symbol op;
      std::vector<const Expr*> calls;
      size_t next = 0;
    };
    if (state[root]) return;
    std::vector<Frame> stack;
    auto push = [&](Symbol n) {
      state[n] = 1;
      Frame f{n, {}};
      collectCalls(impl_.entries[n].op->body(), f.calls);
      stack.push_back(std::move(f));
    };
    push(root);
    while (!stack.empty()) {
      Frame& f = stack.back();
      if (f.next == f.calls.size()) {
        state[f.op] = 2;
        boundDepth(f.op, f.calls);
        order_.push_back(f.op);
        stack.pop_back();
        continue;
      }
      const Expr& call = *f.calls[f.next++];
      Symbol callee = call.callee();
      if (findBuiltin(callee) || !impl_.entries.contains(callee)) continue;
      if (state[callee] == 1) {
        diagnostics_.report(DiagnosticId::RecursiveOperator, call.span,
                            "'{}' calls itself by way of '{}'; operators cannot be recursive", callee.text(),
                            f.op.text());
      } else if (state[callee] == 0) {
        push(callee);
      }
    }
  }

  /// Operators nest at most kMaxNesting deep, because instantiation follows calls by recursion.
  void boundDepth(Symbol op, const std::vector<const Expr*>& calls) {
    constexpr int kMaxNesting = 32;
    int depth = 1;
    for (const Expr* c : calls)
      if (auto it = depth_.find(c->callee()); it != depth_.end()) depth = std::max(depth, it->second + 1);
    if (depth > kMaxNesting)
      diagnostics_.report(DiagnosticId::TooDeep, impl_.entries.at(op).op->span,
                          "the calls below '{}' nest more than {} operators deep", op.text(), kMaxNesting);
    depth_[op] = std::min(depth, kMaxNesting); // said where the limit is passed, and again every kMaxNesting above it
  }

  void checkBodies() {
    for (Symbol name : order_) {
      OperatorLibrary::Impl::Entry& e = impl_.entries.at(name);
      if (isBroken(name)) continue;
      checkOperator(*e.op, impl_, !syntaxErrors_, diagnostics_);
      if (e.grad) checkGrad(*e.grad, *e.op, impl_, !syntaxErrors_, diagnostics_);
    }
  }

  void checkKernels() {
    for (auto& [name, e] : impl_.entries)
      if (e.kernel) checkKernel(*e.kernel, *e.op, diagnostics_);
  }

  void describe(OperatorLibrary::Impl::Entry& e) {
    const OperatorDecl& op = *e.op;
    OperatorInfo& info = e.info;
    info.name = op.name;
    info.differentiable = op.differentiable;
    for (const InputDecl& in : op.inputs) info.inputs.push_back({in.name, in.optional, in.variadic, in.differentiable});
    for (const AttributeDecl& a : op.attributes) {
      AttributeType plain = a.type;
      plain.length = -1;
      plain.optional = false;
      info.attributes.push_back({a.name, toString(plain), a.defaultValue, a.required});
    }
    info.results = op.resultCount();
    info.residuals = op.residualCount();
    info.hasGrad = e.grad != nullptr;
    info.hasKernel = e.kernel != nullptr;
    info.doc = op.function->doc;
    info.example = op.example;
    info.file = impl_.sources[op.span.file].path;
    info.line = op.span.line;
  }

  OperatorLibrary::Impl& impl_;
  Diagnostics diagnostics_;
  std::vector<GradDecl> grads_;
  std::vector<KernelDecl> kernels_;
  std::vector<Symbol> brokenGrads_;
  std::vector<Symbol> order_; // callees before callers
  absl::flat_hash_map<Symbol, int> depth_;
  bool syntaxErrors_ = false; // a definition may be missing, so names that nothing defines are not reported
};

} // namespace

namespace {
StatusOr<std::shared_ptr<const OperatorLibrary>> loadSources(std::vector<SourceFile> sources, bool probe) {
  auto impl = std::make_unique<OperatorLibrary::Impl>();
  impl->sources = std::move(sources);
  TG_RETURN_IF_ERROR(Loader(*impl).run(probe));
  return std::make_shared<const OperatorLibrary>(std::move(impl));
}

StatusOr<std::vector<SourceFile>> readFolder(const std::string& folder) {
  std::error_code error;
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error))
    if (entry.path().extension() == ".tile") paths.push_back(entry.path());
  if (error) return notFound("TEGULA_OPS names {}, which cannot be read: {}", folder, error.message());
  if (paths.empty()) return notFound("TEGULA_OPS names {}, which holds no .tile file", folder);
  std::sort(paths.begin(), paths.end());
  std::vector<SourceFile> sources;
  for (const auto& p : paths) {
    std::ifstream in(p, std::ios::binary);
    std::stringstream text;
    text << in.rdbuf();
    if (!in) return failed("{} cannot be read", p.string());
    sources.push_back({p.string(), text.str()});
  }
  return sources;
}
} // namespace

StatusOr<std::shared_ptr<const OperatorLibrary>> OperatorLibrary::load(std::span<const SourceFile> sources) {
  return loadSources({sources.begin(), sources.end()}, true);
}

StatusOr<std::shared_ptr<const OperatorLibrary>> OperatorLibrary::loadEmbedded() {
  if (const char* folder = std::getenv("TEGULA_OPS"); folder && *folder) {
    TG_ASSIGN_OR_RETURN(std::vector<SourceFile> sources, readFolder(folder));
    return loadSources(std::move(sources), true);
  }
  // Shapes of the embedded library are probed by tests/lang, not by every process that starts.
  std::vector<SourceFile> sources;
  for (const EmbeddedSource& s : embeddedSources()) sources.push_back({std::string(s.path), std::string(s.text)});
  return loadSources(std::move(sources), false);
}

} // namespace tegula
