// `tegula`: parses the command line and runs one command.
//
// Exit codes: 0 done, 1 failed or answered no, 2 the command line could not be understood.
#include "cli/Commands.h"

using namespace tegula;

int main(int argc, char** argv) {
  CLI::App app("Tegula trains large models; every kernel is compiled from the operator library in this process.",
               "tegula");
  app.set_version_flag("--version", "tegula " TEGULA_VERSION);
  app.require_subcommand(1);
  app.footer("example: tegula train --data my.txt");
  cli::Outcome outcome;
  cli::addTrain(app, outcome);
  cli::addGenerate(app, outcome);
  cli::addDevices(app, outcome);
  cli::addOp(app, outcome);
  cli::addGraph(app, outcome);
  cli::addFmt(app, outcome);
  cli::addConfig(app, outcome);
  cli::addData(app, outcome);
  cli::addCache(app, outcome);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    constexpr int kUsage = 2;
    return app.exit(e) == 0 ? 0 : kUsage;
  }
  if (outcome.status.ok()) return outcome.exitCode;
  fmt::print(stderr, "tegula: {}\n", message(outcome.status));
  return 1;
}
