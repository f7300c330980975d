// `tegula config`
#include "cli/Commands.h"

#include "train/RunFolder.h"

namespace tegula::cli {

void addConfig(CLI::App& app, Outcome& outcome) {
  CLI::App* config = app.add_subcommand("config", "Check a run's configuration, or list its keys.");
  config->require_subcommand(1);
  config->footer("example: tegula config check run.toml");

  auto request = std::make_shared<TrainRequest>();
  CLI::App* check =
      config->add_subcommand("check", "Print the resolved configuration, or every error in it. Texts are not read.");
  check->footer("example: tegula config check run.toml --set training.steps=500");
  check->add_option("config", request->source, "A run's TOML file")->required();
  check->add_option("--data", request->dataPath, "What [data] path would be");
  check->add_option("--set", request->sets, "section.key=value, over the file; may be repeated")
      ->take_all()
      ->allow_extra_args(false);
  check->callback([=, &outcome] {
    RunConfig c;
    outcome.status = resolveConfig(*request, c);
    if (outcome.status.ok()) outcome.status = checkSurroundings(c);
    if (!outcome.status.ok()) return;
    fmt::print("{}", RunSchema(c)->toToml());
    c.logDoubts();
  });

  CLI::App* reference =
      config->add_subcommand("reference", "Print every section and key with type, default and meaning.");
  reference->footer("example: tegula config reference > docs/config.md");
  reference->callback([] {
    RunConfig c;
    fmt::print("{}", RunSchema(c)->reference());
  });
}

} // namespace tegula::cli
