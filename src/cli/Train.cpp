// `tegula train`
#include "cli/Commands.h"

#include "cli/Ranges.h"
#include "train/Trainer.h"
#include <csignal>

namespace tegula::cli {

void addTrain(CLI::App& app, Outcome& outcome) {
  auto request = std::make_shared<TrainRequest>();
  auto resumed = std::make_shared<std::string>();
  auto stopAt = std::make_shared<int64_t>(0);
  CLI::App* c = app.add_subcommand("train", "Train a model on a text, or go on with a run that stopped.");
  c->footer("examples: tegula train --data my.txt\n"
            "          tegula train my.toml --set training.steps=500\n"
            "          tegula train --resume runs/my-1");
  c->add_option("config", request->source, "A run's TOML file; not needed with --data");
  c->add_option("--data", request->dataPath, "A text file, a folder of texts, or a folder of `tegula data prepare`");
  c->add_option("--set", request->sets, "section.key=value, over the file; may be repeated")
      ->take_all()
      ->allow_extra_args(false);
  CLI::Option* resume =
      c->add_option("--resume", *resumed, "Go on from the latest checkpoint of RUN (or of the config's folder)");
  resume->expected(0, 1)->type_name("[RUN]");
  CLI::Option* fresh = c->add_flag("--new", request->fresh, "Start a new run beside a folder that is taken");
  fresh->excludes(resume);
  CLI::Option* stop = c->add_option("--stop-at", *stopAt, "Save and stop after this step");
  stop->transform(wholeNumber(1));
  c->callback([=, &outcome] {
    request->resume = resume->count() > 0;
    if (!resumed->empty()) {
      if (!request->source.empty()) {
        outcome.status =
            invalid("--resume names {}, but {} was given too; give one of them", *resumed, request->source);
        return;
      }
      request->source = *resumed;
    }
    if (stop->count() > 0) request->stopAt = *stopAt;
    if (!request->resume && request->source.empty() && request->dataPath.empty() && request->sets.empty()) {
      outcome.status =
          invalid("train: nothing to train on; give --data FILE or a config file, see: tegula train --help");
      return;
    }
    std::signal(SIGPIPE, SIG_IGN); // a reader that leaves must not end the run unsaved
    outcome.status = train(*request, stdout);
  });
}

} // namespace tegula::cli
