// `tegula op check` and `tegula op bench`: an operator through a session, as training runs it.
#include "cli/Op.h"

#include "compiler/Compiler.h"
#include "runtime/Session.h"
#include "verify/Check.h"
#include "verify/SessionOperation.h"
#include <algorithm>
#include <chrono>

namespace tegula::cli {
#if TEGULA_REFERENCE
namespace {

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

/// The gradient's mathematics, derived or @grad, in f64 against finite differences. Says what was done.
StatusOr<std::string> checkMathematics(const Problem& problem, const std::shared_ptr<const OperatorLibrary>& library) {
  TG_ASSIGN_OR_RETURN(std::string why, whyNoDifferences(problem, library));
  if (!why.empty()) return fmt::format("gradient not compared with differences: {}", why);
  TG_RETURN_IF_ERROR(checkDerivative(problem, library));
  return "gradient agrees with differences in f64";
}

} // namespace
#endif

StatusOr<std::string> checkOperator(const std::string& given) {
#if TEGULA_REFERENCE
  TG_ASSIGN_OR_RETURN(std::unique_ptr<Session> session, Session::create({}));
  const OperatorInfo* info = session->library()->find(Symbol(given));
  const std::string& line = info && !info->example.empty() ? info->example : given; // a name alone
  TG_ASSIGN_OR_RETURN(Problem problem, parseProblem(line, *session->library()));
  TG_ASSIGN_OR_RETURN(CheckReport report, checkProblem(problem, sessionOperation(*session), session->library()));
  TG_RETURN_IF_ERROR(checkSmallBlocks(problem, session->library()));
  TG_ASSIGN_OR_RETURN(std::string mathematics, checkMathematics(problem, session->library()));
  return fmt::format("ok {}: {} comparisons, worst error {:.2f} of its tolerance, {} elements undecided; {}; {}", line,
                     report.comparisons, report.worstRatio, report.undecided, mathematics, session->kernelLine());
#else
  return unsupported("op check {}: this build has no reference evaluator; configure with -DTEGULA_REFERENCE=ON", given);
#endif
}

StatusOr<std::string> benchOperator(const std::string& line, int threads, int rounds) {
  using Clock = std::chrono::steady_clock;
  SessionOptions options;
  options.threads = threads;
  TG_ASSIGN_OR_RETURN(std::unique_ptr<Session> session, Session::create(options));
  TG_ASSIGN_OR_RETURN(Problem problem, parseProblem(line, *session->library()));
  // Inputs are states: they lie in device memory, and copying them is not timed.
  std::vector<int32_t> states;
  for (const HostArray& a : makeInputs(problem))
    states.push_back(isPresent(a) ? session->addState(fmt::format("input{}", states.size()), a) : -1);
  std::vector<double> seconds;
  constexpr int kWarmUps = 3;
  for (int i = 0; i < kWarmUps + rounds; ++i) {
    std::vector<Tensor> in;
    for (int32_t s : states) in.push_back(s < 0 ? Tensor() : session->read(s));
    std::vector<Tensor> results = callAll(*session, problem.op, in, problem.attributes);
    Clock::time_point start = Clock::now();
    TG_RETURN_IF_ERROR(session->evaluate(results));
    if (i >= kWarmUps) seconds.push_back(std::chrono::duration<double>(Clock::now() - start).count());
  }
  std::ranges::nth_element(seconds, seconds.begin() + rounds / 2);
  double median = seconds[rounds / 2], bytes = 0;
  if (const Plan* plan = session->lastPlan())
    for (const PlanStep& step : plan->steps) bytes += step.bytes;
  std::string text = fmt::format("{}: median {:.3f} ms of {}", line, 1e3 * median, rounds);
  if (double flops = session->stats().planFlops; flops > 0)
    text += fmt::format(", {:.1f} Gflop/s", flops / median / 1e9);
  if (bytes > 0) text += fmt::format(", {:.1f} GB/s", bytes / median / 1e9);
  return text;
}

} // namespace tegula::cli
