// Where the time of a training step goes: every dispatch of the plan alone, best of several rounds, summed by kernel,
// beside the matrix-product rate of this device measured in the same run.
//
// usage: bench_step CONFIG [--set section.key=value]… [ROUNDS]
#include "train/RunFolder.h"
#include "train/TrainStep.h"
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

using namespace tegula;

namespace {

struct Row {
  int dispatches = 0;
  double seconds = 0, flops = 0, bytes = 0;
};

void print(const std::map<std::string, Row>& byKernel, double peak) {
  std::vector<std::pair<std::string, Row>> rows(byKernel.begin(), byKernel.end());
  std::ranges::sort(rows, [](auto& a, auto& b) { return a.second.seconds > b.second.seconds; });
  double total = 0, flops = 0;
  for (const auto& [name, row] : rows) {
    total += row.seconds;
    flops += row.flops;
  }
  std::printf("%9s %6s %4s %9s %7s %8s  kernel\n", "ms", "part", "n", "Gflop/s", "of peak", "GB/s");
  for (const auto& [name, row] : rows) {
    std::printf("%9.3f %5.1f%% %4d ", 1e3 * row.seconds, 100 * row.seconds / total, row.dispatches);
    if (row.flops > 0)
      std::printf("%9.1f %6.1f%%", row.flops / row.seconds / 1e9, 100 * row.flops / row.seconds / peak);
    else
      std::printf("%9s %7s", "", "");
    std::printf(" %8.1f  %s\n", row.bytes / row.seconds / 1e9, name.c_str());
  }
  std::printf("%9.3f ms in all, each dispatch alone; matrix products at peak (%.1f Gflop/s) would take %.3f ms\n",
              1e3 * total, peak / 1e9, 1e3 * flops / peak);
}

Status run(TrainRequest request, int rounds) {
  RunConfig config;
  request.sets.insert(request.sets.begin(), "data.path=(none)"); // a step needs no text
  TG_RETURN_IF_ERROR(resolveConfig(request, config));
  TG_ASSIGN_OR_RETURN(std::unique_ptr<Session> session, Session::create(config.sessionOptions()));
  constexpr int64_t kByteVocabulary = 256;
  TG_ASSIGN_OR_RETURN(GptConfig modelConfig, config.modelConfig(kByteVocabulary));
  Gpt model(modelConfig);
  TG_RETURN_IF_ERROR(model.parameters().create(*session, static_cast<uint64_t>(config.training.seed)));
  TG_ASSIGN_OR_RETURN(TrainStep step, TrainStep::create(*session, model.parameters(), meanLossOf(model), {}));
  Shape shape{config.training.batch, config.training.sequence};
  HostArray tokens = HostArray::zeros(DType::I32, shape);
  for (int64_t i = 0; i < tokens.elements(); ++i) tokens.setInt(i, i * 31 % 251);
  TG_RETURN_IF_ERROR(step.run(tokens, tokens, 1e-4).status());
  TG_ASSIGN_OR_RETURN(double peak, session->peakFlops(config.training.dtype == "bf16" ? DType::BF16 : DType::F32));
  TG_ASSIGN_OR_RETURN(std::vector<double> seconds, session->stepSeconds(rounds));
  const Plan& plan = *session->lastPlan();
  std::map<std::string, Row> byKernel;
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const PlanStep& s = plan.steps[i];
    Row& row = byKernel[s.label];
    ++row.dispatches;
    row.seconds += seconds[i];
    row.flops += s.flops;
    row.bytes += s.bytes;
  }
  print(byKernel, peak);
  return OkStatus();
}

} // namespace

int main(int argc, char** argv) {
  TrainRequest request;
  int rounds = 20;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--set") == 0 && i + 1 < argc)
      request.sets.emplace_back(argv[++i]);
    else if (std::atoi(argv[i]) > 0)
      rounds = std::atoi(argv[i]);
    else
      request.source = argv[i];
  }
  if (request.source.empty()) {
    std::fprintf(stderr, "usage: bench_step CONFIG [--set section.key=value]... [ROUNDS]\n");
    return 2;
  }
  Status s = run(std::move(request), rounds);
  if (!s.ok()) std::fprintf(stderr, "bench_step: %s\n", std::string(message(s)).c_str());
  return s.ok() ? 0 : 1;
}
