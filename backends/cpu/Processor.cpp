// Detection by cpuid and xgetbv (Intel SDM volume 2A, CPUID; volume 1, chapter 13 on XCR0).
#include "Processor.h"

#include "tegula/cpu_image.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <cstring>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace tegula::cpu {
namespace {

#if defined(__x86_64__)

struct Registers {
  unsigned a = 0, b = 0, c = 0, d = 0;
};

Registers cpuid(unsigned leaf, unsigned subleaf = 0) {
  Registers r;
  if (!__get_cpuid_count(leaf, subleaf, &r.a, &r.b, &r.c, &r.d)) return {};
  return r;
}

uint64_t xcr0() {
  unsigned low, high;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t(high) << 32 | low;
}

bool bit(unsigned word, int index) { return word >> index & 1; }

std::string brand() {
  char text[49] = {};
  if (cpuid(0x80000000).a < 0x80000004) return "x86-64 processor";
  for (unsigned i = 0; i < 3; ++i) {
    Registers r = cpuid(0x80000002 + i);
    std::memcpy(text + 16 * i, &r, 16);
  }
  std::string s = text;
  size_t begin = s.find_first_not_of(' '), end = s.find_last_not_of(' ');
  return begin == std::string::npos ? "x86-64 processor" : s.substr(begin, end - begin + 1);
}

Processor detect() {
  Processor p;
  p.name = brand();
  Registers one = cpuid(1), seven = cpuid(7), sevenOne = cpuid(7, 1), extended = cpuid(0x80000001);
  uint64_t saved = bit(one.c, 27) ? xcr0() : 0; // OSXSAVE: xgetbv may be used
  bool ymm = (saved & 0x6) == 0x6, zmm = (saved & 0xe6) == 0xe6, tiles = (saved & 0x60000) == 0x60000;
  struct Feature {
    const char* name;
    bool present;
  };
  const Feature features[] = {
      {"avx2", ymm && bit(seven.b, 5)},
      {"fma", ymm && bit(one.c, 12)},
      {"f16c", ymm && bit(one.c, 29)},
      {"bmi", bit(seven.b, 3)},
      {"bmi2", bit(seven.b, 8)},
      {"lzcnt", bit(extended.c, 5)},
      {"movbe", bit(one.c, 22)},
      {"avx512f", zmm && bit(seven.b, 16)},
      {"avx512dq", zmm && bit(seven.b, 17)},
      {"avx512cd", zmm && bit(seven.b, 28)},
      {"avx512bw", zmm && bit(seven.b, 30)},
      {"avx512vl", zmm && bit(seven.b, 31)},
      {"avx512bf16", zmm && bit(sevenOne.a, 5)},
      {"avx512fp16", zmm && bit(seven.d, 23)},
      {"avx512vnni", zmm && bit(seven.c, 11)},
      {"amx-tile", tiles && bit(seven.d, 24)},
      {"amx-bf16", tiles && bit(seven.d, 22)},
  };
  auto all = [&](std::initializer_list<const char*> names) {
    for (const char* name : names)
      for (const Feature& f : features)
        if (!std::strcmp(f.name, name) && !f.present) return false;
    return true;
  };
  for (const Feature& f : features)
    if (f.present) p.features += (p.features.empty() ? "" : " ") + std::string(f.name);
  bool v3 = all({"avx2", "fma", "f16c", "bmi", "bmi2", "lzcnt", "movbe"});
  bool v4 = v3 && all({"avx512f", "avx512dq", "avx512cd", "avx512bw", "avx512vl"});
  if (v3) p.isa |= TG_CPU_X86_64_V3;
  if (v4) p.isa |= TG_CPU_X86_64_V4;
  if (v4 && all({"avx512bf16"})) p.isa |= TG_CPU_AVX512_BF16;
  if (v4 && all({"amx-tile", "amx-bf16"})) p.isa |= TG_CPU_AMX_BF16;
  return p;
}

#else

Processor detect() { return {"processor of another architecture", "", 0}; }

#endif

} // namespace

const Processor& processor() {
  static const Processor p = detect();
  return p;
}

std::string isaText(uint64_t isa) {
  struct Name {
    uint64_t bit;
    const char* text;
  };
  static constexpr Name names[] = {{TG_CPU_X86_64_V3, "x86-64-v3"},
                                   {TG_CPU_X86_64_V4, "x86-64-v4"},
                                   {TG_CPU_AVX512_BF16, "avx512-bf16"},
                                   {TG_CPU_AMX_BF16, "amx-bf16"}};
  std::string text;
  auto add = [&](const std::string& word) { text += (text.empty() ? "" : ", ") + word; };
  for (const Name& n : names) {
    if (isa & n.bit) add(n.text);
    isa &= ~n.bit;
  }
  if (isa) add("unknown bits " + std::to_string(isa));
  return text.empty() ? "none" : text;
}

bool requestAmx() {
#if defined(__x86_64__) && defined(__linux__)
  constexpr int kRequestPermission = 0x1023, kTileData = 18; // arch_prctl(2), Documentation/arch/x86/xstate.rst
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}

} // namespace tegula::cpu
