// A target: what targets/<name>.toml states, overridden by what the machine tells.
#pragma once

#include "base/Status.h"
#include <optional>
#include <string>
#include <vector>

namespace tegula {

struct CacheLevel {
  int64_t sizeBytes = 0, lineBytes = 64;
  bool shared = false;
};

/// One instruction that does arithmetic on vectors or matrices, as the file states it. Rates are per core and cycle.
struct TargetInstruction {
  std::string name;            // "vfmadd231ps"
  std::string operand, result; // element types: "bf16", "f32"
  std::vector<int64_t> shape;  // {M, N, K}: rows, columns and depth that one instruction covers
  double perCycle = 0;         // issued per cycle
  int64_t latencyCycles = 0;
  int64_t macs() const { return shape.size() == 3 ? shape[0] * shape[1] * shape[2] : 0; }
};

/// Parameters of the rules by which schedules are chosen: [schedule] of the file, which says what each is for.
struct ScheduleParameters {
  int64_t registerTemporaries = 0, registerRows = 0, unroll = 0;
  double panelOfL1 = 0, leftOfL2 = 0, groupOfL2 = 0;
  int64_t groupPanels = 0, blockRows = 0, blockColumns = 0, blockDepth = 0;
  int64_t streamVectors = 0, streamRows = 0, itemsPerThread = 0;
  int64_t streamColumns = 64; // key block of streaming kernels: changes values, so the same for every target
  int64_t loopVectors = 0, loopHeavyVectors = 0;
  double loopRegisters = 0;
};

struct Target {
  std::string name;                           // "x86-64-v4-bf16"
  std::string triple, cpu;                    // for LLVM: "x86_64-unknown-linux-gnu", "x86-64-v4"
  std::vector<std::string> features;          // LLVM feature strings beyond the cpu's: "+avx512bf16"
  std::vector<std::string> processorFeatures; // what a processor must report to run it: "avx2", "fma" …
  std::string codeFormat = "cpu-image-1";
  int64_t vectorBytes = 32; // width of the widest vector register
  int vectorRegisters = 16;
  bool maskRegisters = false;     // AVX-512 style predication
  bool bf16Dot = false;           // vdpbf16ps exists
  std::vector<CacheLevel> caches; // L1d, L2, L3; two at least
  ScheduleParameters schedule;
  std::vector<TargetInstruction> instructions; // stated rates; measured ones below win
  int threads = 1;
  /// Measured once by runtime/Calibrate and cached; absent until measured.
  std::optional<double> f32FlopsPerSecond, bf16FlopsPerSecond; // one core
  bool bf16DotIsFast() const {
    return bf16Dot && f32FlopsPerSecond && bf16FlopsPerSecond && *bf16FlopsPerSecond > 1.2 * *f32FlopsPerSecond;
  }
  int64_t vectorElements(int64_t elementBytes) const { return vectorBytes / elementBytes; }
};

/// What this machine is; TEGULA_TARGET (or `forced`, which wins) names one instead. Refuses in words a processor
/// without AVX2 and a forced target that the processor cannot run.
StatusOr<Target> detectTarget(std::string_view forced = {});
/// A target by name, for showing code of another machine; not checked against this one.
StatusOr<Target> targetByName(std::string_view name);
/// The same target with blocks so small that the loops of kernels take several steps on small problems: for checks.
Target withSmallBlocks(Target);
/// In the order of preference, best first.
std::vector<std::string> targetNames();

} // namespace tegula
