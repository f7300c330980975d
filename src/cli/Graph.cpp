// `tegula graph`
#include "cli/Commands.h"

#include "compiler/Compiler.h"
#include "graph/Plan.h"
#include "train/Trainer.h"
#include <algorithm>

namespace tegula::cli {
namespace {

struct DumpOptions {
  TrainRequest request;
  std::string after = "recorded";
  bool json = false;
};

Status dump(const DumpOptions& o) {
  std::vector<std::string> passes = passNames();
  bool known = o.after == "recorded" || o.after == "plan" || std::ranges::find(passes, o.after) != passes.end();
  if (!known) {
    std::string all = "recorded";
    for (const std::string& p : passes) all += ", " + p;
    return invalid("--after {}: no such pass; there are {}, plan", o.after, all);
  }
  if (o.json && o.after == "plan")
    return invalid("--json --after plan: a plan has no JSON form; leave --json out, or name a pass");
  RunConfig config;
  TrainRequest request = o.request;
  if (request.dataPath.empty())
    request.sets.insert(request.sets.begin(), "data.path=(none)"); // the graph needs no text
  TG_RETURN_IF_ERROR(resolveConfig(request, config));
  TG_ASSIGN_OR_RETURN(std::unique_ptr<Session> session, Session::create(config.sessionOptions()));
  TG_ASSIGN_OR_RETURN(Graph graph, trainingGraph(config, *session));
  auto print = [&](const Graph& g) { fmt::print("{}", o.json ? toJson(g) + "\n" : toText(g)); };
  if (o.after == "recorded") {
    print(graph);
    return OkStatus();
  }
  PlanOptions options;
  options.precision = config.sessionOptions().precision;
  options.observe = [&](std::string_view pass, const Graph& g) {
    if (pass == o.after) print(g);
  };
  TG_ASSIGN_OR_RETURN(const Compiler* compiler, session->compiler());
  TG_ASSIGN_OR_RETURN(Plan plan, makePlan(graph, *compiler, options));
  if (o.after == "plan") fmt::print("{}", plan.text());
  return OkStatus();
}

} // namespace

void addGraph(CLI::App& app, Outcome& outcome) {
  CLI::App* graph = app.add_subcommand("graph", "Look at the graph of a training step.");
  graph->require_subcommand(1);
  graph->footer("example: tegula graph dump run.toml --after fuse");
  auto o = std::make_shared<DumpOptions>();
  CLI::App* c = graph->add_subcommand("dump", "Print the training step of a config between any two passes.");
  c->footer("examples: tegula graph dump run.toml --after fuse\n          tegula graph dump run.toml --after plan");
  c->add_option("config", o->request.source, "A run's TOML file");
  c->add_option("--set", o->request.sets, "section.key=value, over the file; may be repeated")
      ->take_all()
      ->allow_extra_args(false);
  c->add_option("--after", o->after, "The pass: recorded, one of the passes, or plan")->capture_default_str();
  c->add_flag("--json", o->json, "In the JSON form compute_graph");
  c->callback([=, &outcome] { outcome.status = dump(*o); });
}

} // namespace tegula::cli
