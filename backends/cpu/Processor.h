// What this processor can execute, asked of the processor and of the operating system (which must save the wide
// registers).
#pragma once

#include <cstdint>
#include <string>

namespace tegula::cpu {

struct Processor {
  std::string name;     // brand string
  std::string features; // "avx2 fma f16c avx512f …", blank-separated, in a fixed order
  uint64_t isa = 0;     // TG_CPU_* bits that images may ask for
};

/// Detected once. Threads: any.
const Processor& processor();
/// Words for TG_CPU_* bits: "x86-64-v4, avx512-bf16".
std::string isaText(uint64_t isa);
/// Asks the operating system for the AMX tile state of this process; true if it is usable. Threads started later
/// inherit it.
bool requestAmx();

} // namespace tegula::cpu
