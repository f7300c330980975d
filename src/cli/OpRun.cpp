// `tegula op check` and `tegula op bench`: an operator through a session, as training runs it.
#include "cli/Op.h"

#include "compiler/Compiler.h"
#include "runtime/Session.h"
#include "verify/Check.h"
#include "verify/SessionOperation.h"
#include <algorithm>
#include <chrono>
#include <new>

namespace tegula::cli {
namespace {

/// The line, or the @example of an operator that is named alone.
std::string lineOrExample(const std::string& given, const OperatorLibrary& library) {
  const OperatorInfo* info = library.find(Symbol(given));
  return info && !info->example.empty() ? info->example : given;
}

/// What a std::bad_alloc meant.
Status notEnoughMemory(const Problem& problem) {
  double bytes = 0; // as double: it may be past 2^63
  for (const ProblemInput& in : problem.inputs) {
    if (!in.present) continue;
    double size = static_cast<double>(sizeBytes(in.type.dtype));
    for (int64_t extent : in.type.shape) size *= static_cast<double>(extent);
    bytes += size;
  }
  return failed("{}: there is not enough memory; the inputs alone take {:.2f} GiB", toString(problem),
                bytes / (1 << 30));
}

#if TEGULA_REFERENCE

/// A problem of usual size is one step of a tile kernel's loops: with small blocks it is several, so that what they
/// carry is checked too.
Status checkSmallBlocks(const Problem& problem, const std::shared_ptr<const OperatorLibrary>& library) {
  if (!library->kernelFor(problem.op)) return OkStatus();
  TG_ASSIGN_OR_RETURN(Target target, detectTarget());
  TG_ASSIGN_OR_RETURN(auto compiler, Compiler::create(withSmallBlocks(std::move(target)), library));
  TG_ASSIGN_OR_RETURN(auto session, Session::create({}, library, std::move(compiler)));
  CheckOptions forward;
  forward.gradients = false;
  Status checked = checkProblem(problem, sessionOperation(*session), library, forward).status();
  return addContext(checked, "with small blocks");
}

/// What the report says of tile kernels that the problem does not run: "; wi's tile kernel is not used: …", or nothing.
StatusOr<std::string> unusedText(const Problem& problem, const Session& session) {
  auto compiler = session.compiler();
  if (!compiler.ok()) return ""; // no code is made here
  TG_ASSIGN_OR_RETURN(Graph graph,
                      forwardGraph(session.library(), problem.op, makeInputs(problem), problem.attributes));
  TG_ASSIGN_OR_RETURN(std::vector<std::string> lines, unusedKernels(graph, **compiler));
  std::string text;
  for (const std::string& line : lines) text += "; " + line;
  return text;
}

/// The gradient's mathematics, derived or @grad, in f64 against finite differences. Says what was done.
StatusOr<std::string> checkMathematics(const Problem& problem, const std::shared_ptr<const OperatorLibrary>& library) {
  TG_ASSIGN_OR_RETURN(std::string why, whyNoDifferences(problem, library));
  if (!why.empty()) return fmt::format("gradient not compared with differences: {}", why);
  TG_RETURN_IF_ERROR(checkDerivative(problem, library));
  return "gradient agrees with differences in f64";
}

#endif

/// The median and what follows from it, as text after the problem line.
StatusOr<std::string> timeProblem(Session& session, const Problem& problem, int rounds) {
  using Clock = std::chrono::steady_clock;
  // Inputs are states: they lie in device memory, and copying them is not timed.
  std::vector<int32_t> states;
  for (const HostArray& a : makeInputs(problem))
    states.push_back(isPresent(a) ? session.addState(fmt::format("input{}", states.size()), a) : -1);
  std::vector<double> seconds;
  constexpr int kWarmUps = 3;
  for (int i = 0; i < kWarmUps + rounds; ++i) {
    std::vector<Tensor> in;
    for (int32_t s : states) in.push_back(s < 0 ? Tensor() : session.read(s));
    std::vector<Tensor> results = callAll(session, problem.op, in, problem.attributes);
    Clock::time_point start = Clock::now();
    TG_RETURN_IF_ERROR(session.evaluate(results));
    if (i >= kWarmUps) seconds.push_back(std::chrono::duration<double>(Clock::now() - start).count());
  }
  std::ranges::nth_element(seconds, seconds.begin() + rounds / 2);
  double median = seconds[rounds / 2], bytes = 0;
  if (const Plan* plan = session.lastPlan())
    for (const PlanStep& step : plan->steps) bytes += step.bytes;
  std::string text = fmt::format("median {:.3f} ms of {}", 1e3 * median, rounds);
  if (double flops = session.stats().planFlops; flops > 0)
    text += fmt::format(", {:.1f} Gflop/s", flops / median / 1e9);
  if (bytes > 0) text += fmt::format(", {:.1f} GB/s", bytes / median / 1e9);
  return text;
}

} // namespace

StatusOr<std::string> checkOperator(const std::string& given) {
#if TEGULA_REFERENCE
  TG_ASSIGN_OR_RETURN(std::unique_ptr<Session> session, Session::create({}));
  std::string line = lineOrExample(given, *session->library());
  TG_ASSIGN_OR_RETURN(Problem problem, parseProblem(line, *session->library()));
  try {
    TG_ASSIGN_OR_RETURN(CheckReport report, checkProblem(problem, sessionOperation(*session), session->library()));
    TG_RETURN_IF_ERROR(checkSmallBlocks(problem, session->library()));
    TG_ASSIGN_OR_RETURN(std::string mathematics, checkMathematics(problem, session->library()));
    TG_ASSIGN_OR_RETURN(std::string unused, unusedText(problem, *session));
    return fmt::format("ok {}: {} comparisons, worst error {:.2f} of its tolerance, {} elements undecided; {}{}; {}",
                       line, report.comparisons, report.worstRatio, report.undecided, mathematics, unused,
                       session->kernelLine());
  } catch (const std::bad_alloc&) {
    return notEnoughMemory(problem);
  }
#else
  return unsupported("op check {}: this build has no reference evaluator; configure with -DTEGULA_REFERENCE=ON", given);
#endif
}

StatusOr<std::string> benchOperator(const std::string& given, int threads, int rounds) {
  SessionOptions options;
  options.threads = threads;
  TG_ASSIGN_OR_RETURN(std::unique_ptr<Session> session, Session::create(options));
  std::string line = lineOrExample(given, *session->library());
  TG_ASSIGN_OR_RETURN(Problem problem, parseProblem(line, *session->library()));
  try {
    TG_ASSIGN_OR_RETURN(std::string times, timeProblem(*session, problem, rounds));
    return fmt::format("{}: {}", line, times);
  } catch (const std::bad_alloc&) {
    return notEnoughMemory(problem);
  }
}

} // namespace tegula::cli
