// What the processor says about itself: features that both it and the operating system support, caches, threads.
#pragma once

#include "compiler/Target.h"
#include <set>
#include <string>
#include <vector>

namespace tegula {

struct Processor {
  std::string name; // brand string, "AMD EPYC 9755 128-Core Processor"
  std::set<std::string>
      features; // Linux's spelling: "avx2", "avx512_bf16"; vector ones only if the system saves the registers
  std::vector<CacheLevel> caches; // data caches, nearest first; empty if the processor does not tell
  int threads = 1;                // that this process may run on
};

/// Asks cpuid, xgetbv and the scheduler. On another architecture: no feature.
Processor detectProcessor();

/// The target for `processor`: `forced` by name, or the best one that it can run.
/// Fails: no target fits, or the forced one does not, naming the missing features; unknown name.
StatusOr<Target> chooseTarget(const Processor&, std::string_view forced);

} // namespace tegula
