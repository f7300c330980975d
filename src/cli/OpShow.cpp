// `tegula op show`: one operator at any stage between its source and machine code.
#include "cli/Op.h"

#include "compiler/Compiler.h"
#include "graph/Plan.h"
#include "lang/Ast.h"
#include "lang/Format.h"
#include "verify/Operation.h"

namespace tegula::cli {
namespace {

using Library = std::shared_ptr<const OperatorLibrary>;

/// The kernel of that name, or null.
const lang::KernelDecl* findKernel(const OperatorLibrary& library, std::string_view name) {
  for (Symbol op : library.names())
    if (const lang::KernelDecl* kernel = library.kernelFor(op); kernel && kernel->name.text() == name) return kernel;
  return nullptr;
}

struct Subject {
  Symbol op;
  const lang::KernelDecl* kernel = nullptr; // where the name was a kernel's
  std::string line;                         // the problem, empty if there is none
};

StatusOr<Subject> resolve(const OperatorLibrary& library, const std::string& line) {
  Subject s;
  size_t space = line.find(' ');
  std::string name = line.substr(0, space);
  s.op = Symbol(name);
  if (!library.find(s.op)) {
    s.kernel = findKernel(library, name);
    if (s.kernel) s.op = s.kernel->implements;
  }
  const OperatorInfo* info = library.find(s.op);
  if (space != std::string::npos)
    s.line = std::string(s.op.text()) + line.substr(space);
  else if (info)
    s.line = info->example;
  if (info || !s.line.empty()) return s;
  // A primitive without a problem, or a mistyped name: the parser of problem lines knows the nearest.
  TG_RETURN_IF_ERROR(parseProblem(line, library).status());
  s.line = line;
  return s;
}

std::string sourceText(const OperatorLibrary& library, const Subject& s) {
  if (s.kernel) return lang::formatFunction(*s.kernel->function);
  return library.find(s.op) ? library.sourceOf(s.op)
                            : fmt::format("# {} is a primitive (src/primitives)\n", s.op.text());
}

StatusOr<Problem> problemOf(const Library& library, const Subject& s) {
  if (s.line.empty())
    return invalid("op show: {} has no @example; give a problem line, for example: {} x=4,1000 f32", s.op.text(),
                   s.op.text());
  return parseProblem(s.line, *library);
}

StatusOr<Graph> graphOf(const Library& library, const Problem& p) {
  return forwardGraph(library, p.op, makeInputs(p), p.attributes);
}

StatusOr<std::string> compiledText(const Library& library, const Subject& s, Stage stage,
                                   const std::string& targetName) {
  TG_ASSIGN_OR_RETURN(Problem problem, problemOf(library, s));
  TG_ASSIGN_OR_RETURN(Graph graph, graphOf(library, problem));
  TG_ASSIGN_OR_RETURN(Target target, targetName.empty() ? detectTarget() : targetByName(targetName));
  TG_ASSIGN_OR_RETURN(std::unique_ptr<Compiler> compiler, Compiler::create(target, library));
  TG_ASSIGN_OR_RETURN(Plan plan, makePlan(graph, *compiler));
  std::string out = fmt::format("# {}, target {}: {} kernels\n", s.line, target.name, plan.kernels.size());
  TG_ASSIGN_OR_RETURN(std::vector<std::string> unused, unusedKernels(graph, *compiler));
  for (const std::string& line : unused) out += fmt::format("# {}\n", line);
  for (const KernelRef& kernel : plan.kernels) {
    TG_ASSIGN_OR_RETURN(std::string text, compiler->show(*kernel, stage));
    out += fmt::format("\n# {}\n{}", kernel->name, text);
    if (!out.ends_with('\n')) out += '\n';
  }
  return out;
}

} // namespace

StatusOr<std::string> showOperator(const std::string& line, const std::string& stageName,
                                   const std::string& targetName) {
  TG_ASSIGN_OR_RETURN(Stage stage, parseStage(stageName));
  if (!targetName.empty()) TG_RETURN_IF_ERROR(targetByName(targetName).status()); // even where a stage needs none
  TG_ASSIGN_OR_RETURN(Library library, OperatorLibrary::loadEmbedded());
  TG_ASSIGN_OR_RETURN(Subject subject, resolve(*library, line));
  switch (stage) {
  case Stage::Source:
    return sourceText(*library, subject);
  case Stage::Pattern: {
    TG_ASSIGN_OR_RETURN(Problem problem, problemOf(library, subject));
    TG_ASSIGN_OR_RETURN(Graph graph, graphOf(library, problem));
    TG_ASSIGN_OR_RETURN(std::string text, patternText(graph, problem));
    return "# " + subject.line + "\n" + text;
  }
  case Stage::Graph: {
    TG_ASSIGN_OR_RETURN(Problem problem, problemOf(library, subject));
    TG_ASSIGN_OR_RETURN(Graph graph, graphOf(library, problem));
    return "# " + subject.line + "\n" + toText(graph);
  }
  default:
    return compiledText(library, subject, stage, targetName);
  }
}

} // namespace tegula::cli
