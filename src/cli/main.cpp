// `tegula`: parses the command line and runs one command.
//
// Exit codes: 0 done, 1 failed or answered no, 2 the command line could not be understood.
#include "cli/Commands.h"

#include "base/NearestName.h"
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fmt/ranges.h>
#include <new>
#include <system_error>

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

/// What was left over of a command line, in words: CLI11 lists it backwards and knows no nearest name.
std::string leftOver(const CLI::App& app) {
  const CLI::App* command = &app;
  std::string name;
  while (!command->get_subcommands().empty()) {
    command = command->get_subcommands().front();
    name += (name.empty() ? "" : " ") + command->get_name();
  }
  std::vector<std::string> rest = app.remaining(true), known;
  auto option = std::ranges::find_if(rest, [](const std::string& word) { return word.starts_with("-"); });
  if (option == rest.end()) return fmt::format("{}: unexpected '{}'", name, fmt::join(rest, " "));
  for (const CLI::Option* o : command->get_options())
    for (const std::string& longName : o->get_lnames()) known.push_back("--" + longName);
  std::string asked = option->substr(0, option->find('=')),
              near = nearestName(asked, std::span<const std::string>(known));
  return fmt::format("{}: no option '{}'; {}", name, asked,
                     near.empty() ? fmt::format("there are {}", fmt::join(known, ", "))
                                  : fmt::format("did you mean {}?", near));
}

/// Standard error may be closed too; fmt::print would throw.
void printError(std::string_view text) {
  std::string line = fmt::format("tegula: {}\n", text);
  std::fwrite(line.data(), 1, line.size(), stderr);
}

/// Whether what a command printed has arrived: a file or a pipe may say no only here. `known` is the error number of a
/// write that failed before, or 0.
Status flushOutput(int known) {
  errno = known;
  if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return OkStatus();
  return failed("cannot write standard output{}", errno ? fmt::format(": {}", std::strerror(errno)) : "");
}

/// `outputError` is set where a command ended because standard output could not be written.
int runCommand(int argc, char** argv, int& outputError) {
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
    printError(unknown);
    return kUsage;
  }
  try {
    app.parse(argc, argv);
  } catch (const std::bad_alloc&) {
    printError("there is not enough memory for what was asked");
    return 1;
  } catch (const CLI::ExtrasError&) {
    printError(leftOver(app));
    return kUsage;
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : kUsage;
  } catch (const std::system_error& e) {
    if (std::ferror(stdout))
      outputError = e.code().value();
    else
      printError(e.what());
    return 1;
  } catch (const std::exception& e) { // of a library; ours return a Status
    printError(e.what());
    return 1;
  }
  if (outcome.status.ok()) return outcome.exitCode;
  printError(message(outcome.status));
  return 1;
}

} // namespace

int main(int argc, char** argv) {
  int outputError = 0;
  int code = runCommand(argc, argv, outputError);
  Status printed = flushOutput(outputError);
  if (printed.ok()) return code;
  printError(message(printed));
  return code == 0 ? 1 : code;
}
