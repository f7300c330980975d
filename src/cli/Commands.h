// The commands of `tegula`: each file declares its options, parses them and prints what the libraries answer.
#pragma once

#include "base/Status.h"
#include <CLI/CLI.hpp>

namespace tegula::cli {

/// What the chosen command ended with. A command sets it from its callback.
struct Outcome {
  Status status;
  int exitCode = 0; // where the status is OK: 1 for "no" as an answer (`fmt --check`, `op check`)
};

void addTrain(CLI::App&, Outcome&);
void addGenerate(CLI::App&, Outcome&);
void addDevices(CLI::App&, Outcome&);
void addOp(CLI::App&, Outcome&);
void addGraph(CLI::App&, Outcome&);
void addFmt(CLI::App&, Outcome&);
void addConfig(CLI::App&, Outcome&);
void addData(CLI::App&, Outcome&);
void addCache(CLI::App&, Outcome&);

} // namespace tegula::cli
