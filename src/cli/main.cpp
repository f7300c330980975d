// `tegula`: parses the command line and runs one command.
//
// Exit codes: 0 done, 1 failed or answered no, 2 the command line could not be understood.
#include "cli/Commands.h"

#include "base/NearestName.h"
#include <fmt/ranges.h>
#include <new>

using namespace tegula;

namespace {

constexpr int kUsage = 2;

/// What is wrong with the words that should name a command; empty if nothing is. CLI11 would only miss one.
std::string unknownCommand(const CLI::App& app, int argc, char** argv) {
  const CLI::App* at = &app;
  for (int i = 1; i < argc && argv[i][0] != '-'; ++i) {
    std::vector<std::string> names;
    const CLI::App* next = nullptr;
    for (const CLI::App* c : at->get_subcommands([](const CLI::App*) { return true; })) {
      names.push_back(c->get_name());
      if (names.back() == argv[i]) next = c;
    }
    if (names.empty()) return {};
    if (!next) {
      std::string near = nearestName(argv[i], std::span<const std::string>(names));
      return fmt::format("no command '{}'{}; there are {}", argv[i],
                         near.empty() ? "" : fmt::format("; did you mean {}?", near), fmt::join(names, ", "));
    }
    at = next;
  }
  return {};
}

} // namespace

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
  if (std::string unknown = unknownCommand(app, argc, argv); !unknown.empty()) {
    fmt::print(stderr, "tegula: {}\n", unknown);
    return kUsage;
  }
  try {
    app.parse(argc, argv);
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "tegula: there is not enough memory for what was asked\n");
    return 1;
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : kUsage;
  } catch (const std::exception& e) { // of a library; ours return a Status
    fmt::print(stderr, "tegula: {}\n", e.what());
    return 1;
  }
  if (outcome.status.ok()) return outcome.exitCode;
  fmt::print(stderr, "tegula: {}\n", message(outcome.status));
  return 1;
}
