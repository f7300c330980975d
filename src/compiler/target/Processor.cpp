// cpuid and xgetbv (Intel SDM volume 2A CPUID, volume 1 chapter 13; AMD APM volume 3 appendix E).
#include "compiler/target/Processor.h"

#include <cstring>
#include <sched.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace tegula {
namespace {

int allowedThreads() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? std::max(1, CPU_COUNT(&set)) : 1;
}

#if defined(__x86_64__)

struct Leaf {
  uint32_t a = 0, b = 0, c = 0, d = 0;
};

Leaf cpuid(uint32_t leaf, uint32_t subleaf = 0) {
  Leaf r;
  if (!__get_cpuid_count(leaf, subleaf, &r.a, &r.b, &r.c, &r.d)) return {};
  return r;
}

/// XCR0: which register sets the operating system saves. Requires: OSXSAVE.
uint64_t savedRegisters() {
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t(high) << 32 | low;
}

struct FeatureBit {
  const char* name;
  uint32_t leaf, subleaf;
  uint32_t Leaf::* word;
  int bit;
  uint64_t registers; // XCR0 bits that must be set as well
};
constexpr uint64_t general = 0, ymm = 0x6, zmm = 0xe6, tiles = 0x60000;
constexpr FeatureBit featureBits[] = {
    {"fma", 1, 0, &Leaf::c, 12, ymm},        {"movbe", 1, 0, &Leaf::c, 22, general},
    {"popcnt", 1, 0, &Leaf::c, 23, general}, {"f16c", 1, 0, &Leaf::c, 29, ymm},
    {"bmi1", 7, 0, &Leaf::b, 3, general},    {"avx2", 7, 0, &Leaf::b, 5, ymm},
    {"bmi2", 7, 0, &Leaf::b, 8, general},    {"avx512f", 7, 0, &Leaf::b, 16, zmm},
    {"avx512dq", 7, 0, &Leaf::b, 17, zmm},   {"avx512cd", 7, 0, &Leaf::b, 28, zmm},
    {"avx512bw", 7, 0, &Leaf::b, 30, zmm},   {"avx512vl", 7, 0, &Leaf::b, 31, zmm},
    {"amx_bf16", 7, 0, &Leaf::d, 22, tiles}, {"amx_tile", 7, 0, &Leaf::d, 24, tiles},
    {"avx512_bf16", 7, 1, &Leaf::a, 5, zmm}, {"lzcnt", 0x80000001, 0, &Leaf::c, 5, general},
};

std::set<std::string> features() {
  const bool systemSaves = cpuid(1).c >> 27 & 1; // OSXSAVE
  const uint64_t saved = systemSaves ? savedRegisters() : 0;
  std::set<std::string> result;
  for (const FeatureBit& f : featureBits) {
    const Leaf leaf = cpuid(f.leaf, f.subleaf);
    if ((leaf.*f.word >> f.bit & 1) && (saved & f.registers) == f.registers) result.insert(f.name);
  }
  return result;
}

/// Deterministic cache parameters: leaf 4 (Intel) or 0x8000001d (AMD), the same format.
std::vector<CacheLevel> dataCaches() {
  const Leaf vendor = cpuid(0);
  const bool amd = vendor.b == signature_AMD_ebx || vendor.b == 0x6f677948; // "Hygo"
  std::vector<CacheLevel> caches;
  for (uint32_t i = 0; i < 16; ++i) {
    const Leaf l = cpuid(amd ? 0x8000001d : 4, i);
    const uint32_t type = l.a & 31, level = l.a >> 5 & 7, sharing = (l.a >> 14 & 0xfff) + 1;
    if (type == 0) break;
    if (type == 2) continue; // instructions
    CacheLevel c;
    c.lineBytes = (l.b & 0xfff) + 1;
    c.sizeBytes = int64_t((l.b >> 22) + 1) * ((l.b >> 12 & 0x3ff) + 1) * c.lineBytes * (int64_t(l.c) + 1);
    c.shared = level >= 3 || sharing > 2; // two hardware threads of one core share every cache
    caches.push_back(c);
  }
  return caches;
}

std::string brand() {
  if (cpuid(0x80000000).a < 0x80000004) return "unnamed x86-64 processor";
  char text[49] = {};
  for (uint32_t i = 0; i < 3; ++i) {
    const Leaf l = cpuid(0x80000002 + i);
    std::memcpy(text + 16 * i, &l, 16);
  }
  std::string name(text);
  name.erase(0, name.find_first_not_of(' '));
  return name;
}

#endif

} // namespace

Processor detectProcessor() {
  Processor p;
  p.threads = allowedThreads();
#if defined(__x86_64__)
  p.name = brand();
  p.features = features();
  p.caches = dataCaches();
#else
  p.name = "processor that is not x86-64";
#endif
  return p;
}

} // namespace tegula
