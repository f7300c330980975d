// TileKernel: facts read from a kernel's text, and the key of a use.
#include "compiler/matrix/TileKernel.h"

#include <algorithm>

namespace tegula::matrix {

namespace {

using lang::Block;
using lang::Expr;
using lang::ExprKind;
using lang::KernelDecl;
using lang::KernelParam;
using lang::StmtKind;

struct FactReader {
  const KernelDecl& kernel;
  KernelFacts facts;

  void addAxes(const Expr& call, bool grid) {
    // grid(M, BM, N, BN), tiles(K, BK, start=…, stop=…)
    std::vector<const Expr*> positional;
    for (size_t i = 1; i < call.args.size(); ++i)
      if (call.keywords[i].empty()) positional.push_back(call.args[i].get());
    for (size_t i = 0; i + 1 < positional.size(); i += 2) {
      KernelFacts::Axis axis{positional[i]->name, positional[i + 1]->name};
      auto& axes = grid ? facts.grid : facts.tiles;
      if (std::none_of(axes.begin(), axes.end(), [&](const auto& a) { return a.dimension == axis.dimension; }))
        axes.push_back(axis);
    }
  }

  void visit(const Expr& e) {
    if (e.is(ExprKind::Name)) ++facts.mentions[e.name];
    if (e.is(ExprKind::Member) && (e.name == Symbol("start") || e.name == Symbol("stop"))) facts.usesPositions = true;
    if (e.is(ExprKind::Call)) {
      if (e.callee() == Symbol("dot")) ++facts.dots;
      if (e.callee() == Symbol("rows") || e.callee() == Symbol("cols")) facts.usesPositions = true;
    }
    if (e.is(ExprKind::Index) && e.args[0]->is(ExprKind::Name))
      if (const KernelParam* p = kernel.param(e.args[0]->name))
        for (size_t d = 1; d < e.args.size() && d - 1 < p->tensor.dims.size(); ++d) {
          const lang::Dim& dim = p->tensor.dims[d - 1];
          bool whole = e.args[d]->is(ExprKind::Slice) && dim.kind == lang::Dim::Kind::Symbol;
          if (whole && std::find(facts.wholeDims.begin(), facts.wholeDims.end(), dim.name) == facts.wholeDims.end())
            facts.wholeDims.push_back(dim.name);
        }
    for (const auto& arg : e.args)
      if (arg) visit(*arg);
  }

  void visit(const Block& block) {
    for (const auto& stmt : block) {
      if (stmt->kind == StmtKind::For && stmt->value->is(ExprKind::Call))
        addAxes(*stmt->value, stmt->value->callee() == Symbol("grid"));
      for (const Expr* e : {stmt->target.get(), stmt->value.get()})
        if (e) visit(*e);
      for (const auto& branch : stmt->branches) visit(branch.body);
      visit(stmt->body);
      visit(stmt->orElse);
    }
  }
};

char letter(StrideClass c) { return c == StrideClass::One ? '1' : c == StrideClass::Any ? 's' : '0'; }

void write(std::string& out, const Program& p) {
  switch (p.kind) {
  case Program::Kind::Absent:
    out += "none";
    return;
  case Program::Kind::Window:
    out += fmt::format("w{}", p.index);
    return;
  case Program::Kind::Result:
    out += fmt::format("r{}", p.index);
    return;
  case Program::Kind::Constant:
    out += isFloat(p.dtype) ? fmt::format("{:a}", p.constant) : fmt::format("{}", p.integer);
    out += fmt::format(":{}", name(p.dtype));
    return;
  case Program::Kind::Apply:
    break;
  }
  out += fmt::format("{}:{}(", p.function.text(), name(p.dtype));
  for (size_t i = 0; i < p.args.size(); ++i) {
    if (i) out += ",";
    write(out, p.args[i]);
  }
  out += ")";
}

} // namespace

KernelFacts factsOf(const KernelDecl& kernel) {
  FactReader reader{kernel, {}};
  reader.visit(kernel.body());
  return std::move(reader.facts);
}

std::string keyOf(const TileKernelSource& s, const Target& target) {
  std::string out = fmt::format("tile-kernel 1\n{}", s.library->sourceOf(s.kernel->implements));
  out += fmt::format("attributes {}\npinned", toString(s.attributes));
  for (const auto& [dim, extent] : s.pinnedDims) out += fmt::format(" {}={}", dim.text(), extent);
  out += "\nwindows";
  for (const Window& w : s.windows) out += fmt::format(" {}:{}{}", name(w.dtype), letter(w.row), letter(w.col));
  out += "\ninputs";
  for (const Program& p : s.inputs) write(out += ' ', p);
  out += "\noutputs";
  for (DType d : s.outputs) out += fmt::format(" {}", name(d));
  out += "\nstores";
  for (const Store& st : s.stores) {
    out += fmt::format(" {}@w{}=", st.result, st.window);
    write(out, st.value);
  }
  out += fmt::format("\nschedule {}\ntarget {} {}", toString(s.schedule), target.name, target.cpu);
  for (const std::string& f : target.features) out += " " + f;
  return out;
}

} // namespace tegula::matrix
