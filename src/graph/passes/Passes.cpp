// The way from a recorded graph to a plan. Read it from top to bottom.
#include "graph/passes/Passes.h"
#include "absl/container/flat_hash_map.h"
#include "graph/fusion/Fuse.h"
#include "graph/layout/Layout.h"
#include "graph/passes/Body.h"
#include "graph/plan/MakePlan.h"

namespace tegula {

namespace {

struct Context {
  const TargetModel& target;
  const PlanOptions& options;
};

struct Pass {
  const char* name;
  StatusOr<Graph> (*run)(const Graph&, const Context&);
};

constexpr Pass kPasses[] = {
    // Free of targets. Gradients first: a simpler graph may lack, or have merged, the values that they are taken by.
    {"differentiate", [](const Graph& g, const Context&) { return differentiate(g); }},
    {"simplify", [](const Graph& g, const Context&) { return simplify(g); }},
    {"precision", [](const Graph& g, const Context& c) { return applyPrecision(g, c.options.precision); }},
    // Asks the target.
    {"decompose", [](const Graph& g, const Context& c) { return decompose(g, c.target); }},
    {"simplify-primitives", [](const Graph& g, const Context&) { return simplify(g); }},
    {"relayout", [](const Graph& g, const Context& c) { return insertRelayouts(g, c.target); }},
    {"common-subexpressions", [](const Graph& g, const Context&) { return mergeCommonSubexpressions(g); }},
    {"dead-code", [](const Graph& g, const Context&) { return removeDeadCode(g); }},
};
// Then the graph stays as it is: `fuse` partitions it, `layout` gives its values storages, `memory` makes steps and an
// arena.
constexpr const char* kPlanning[] = {"fuse", "layout", "memory"};

Status checkAssigns(const Graph& g) {
  std::vector<bool> assigned(g.inputs().size(), false);
  for (const Graph::Assign& a : g.assigns()) {
    if (assigned[a.input])
      return invalid("state `{}` is assigned twice in one graph; keep the last",
                     g.node(g.inputs()[a.input].node).op.text());
    assigned[a.input] = true;
  }
  return OkStatus();
}

/// Multiply-adds times two of all matrix products. Bodies are looked at once for each operator and types.
StatusOr<double> countFlops(const Graph& g) {
  absl::flat_hash_map<std::string, double> known;
  double flops = productFlops(g);
  for (const Node& n : g.nodes()) {
    if (n.kind != Node::Kind::Operator) continue;
    std::string key = fmt::format("{}({})", n.op.text(), toString(n.attrs));
    for (Value v : n.inputs) key += v.present() ? toString(g.typeOf(v)) : "-";
    auto it = known.find(key);
    if (it == known.end()) {
      TG_ASSIGN_OR_RETURN(Graph body, bodyOf(g, n));
      it = known.emplace(key, productFlops(body)).first;
    }
    flops += it->second;
  }
  return flops;
}

} // namespace

StatusOr<Plan> makePlan(const Graph& recorded, const TargetModel& target, const PlanOptions& options) {
  TG_RETURN_IF_ERROR(checkAssigns(recorded));
  auto observe = [&](const char* pass, const Graph& g) {
    if (options.observe) options.observe(pass, g);
  };
  Graph g = recorded;
  for (const Pass& pass : kPasses) {
    auto next = pass.run(g, {target, options});
    if (!next.ok()) return addContext(next.status(), fmt::format("pass {}", pass.name));
    g = *std::move(next);
    observe(pass.name, g);
  }
  TG_ASSIGN_OR_RETURN(Partition partition, fuse(g, target));
  observe(kPlanning[0], g);
  TG_ASSIGN_OR_RETURN(LayoutResult laidOut, layout(g, partition, target));
  observe(kPlanning[1], g);
  TG_ASSIGN_OR_RETURN(Plan plan, planMemoryAndSteps(g, std::move(laidOut), target));
  observe(kPlanning[2], g);
  TG_ASSIGN_OR_RETURN(plan.flops, countFlops(g));
  return plan;
}

std::vector<std::string> passNames() {
  std::vector<std::string> names;
  for (const Pass& p : kPasses) names.push_back(p.name);
  names.insert(names.end(), std::begin(kPlanning), std::end(kPlanning));
  return names;
}

} // namespace tegula
