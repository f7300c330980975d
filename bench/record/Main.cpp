// Time to record a node of a lazy graph and to find its plan, per node: an imperative training step is recorded again
// at every step, so this is the price of "imperative code, static plan". The other side is the same number of
// std::vector push_backs of a 64-byte node, what any recorder at least does.
//
// usage: bench_record [NODES]
#include "runtime/Session.h"
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

using namespace tegula;

namespace {

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }
double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

/// Records about `nodes` nodes on a small state, evaluates, and returns the recording and lookup time per node. The
/// kernels' time is measured by evaluating a graph of the same state with two nodes and is subtracted.
Status step(Session& s, int32_t state, int64_t nodes, double& recording, double& total) {
  double start = seconds();
  Tensor x = s.read(state);
  for (int64_t i = 0; i < nodes; i += 2) x = (x + 1.0) * 0.5;
  recording = seconds() - start;
  TG_RETURN_IF_ERROR(s.evaluate(std::span<const Tensor>(&x, 1)));
  total = seconds() - start;
  return OkStatus();
}

struct Node {
  int64_t words[8];
};

double baseline(int64_t nodes, std::vector<Node>& arena) {
  double start = seconds();
  arena.clear();
  for (int64_t i = 0; i < nodes; ++i) arena.push_back({{i, i + 1, i + 2}});
  return (seconds() - start) / double(nodes);
}

Status run(int64_t nodes) {
  TG_ASSIGN_OR_RETURN(auto session, Session::create({}));
  int32_t state = session->addState("x", HostArray::zeros(DType::F32, {16}));
  std::vector<double> recordNs, lookupNs, baseNs;
  std::vector<Node> arena;
  for (int i = 0; i < 60; ++i) {
    double recording = 0, total = 0;
    TG_RETURN_IF_ERROR(step(*session, state, nodes, recording, total));
    double base = baseline(nodes, arena);
    if (i < 10) continue; // the first steps make the plan and warm the arenas
    recordNs.push_back(recording / double(nodes) * 1e9);
    lookupNs.push_back(total / double(nodes) * 1e9);
    baseNs.push_back(base * 1e9);
  }
  std::printf("record: %.0f ns a node to record, %.0f ns with lookup and one small fused kernel (bar: 200); "
              "vector of 64-byte nodes %.1f ns, ratio %.1f\n",
              median(recordNs), median(lookupNs), median(baseNs), median(lookupNs) / median(baseNs));
  return OkStatus();
}

} // namespace

int main(int argc, char** argv) {
  int64_t nodes = argc > 1 ? std::atoll(argv[1]) : 2000;
  if (Status s = run(nodes); !s.ok()) {
    std::fprintf(stderr, "bench_record: %s\n", std::string(message(s)).c_str());
    return 1;
  }
}
