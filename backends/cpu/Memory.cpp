// Every block is an anonymous mapping of its own: small blocks are rare (buffers are arenas and states), and freeing
// one returns its pages.
#include "Memory.h"

#include <algorithm>
#include <fstream>
#include <string>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace tegula::cpu {
namespace {

constexpr size_t kHugePage = size_t(2) << 20; // x86-64 and most AArch64 kernels

constexpr size_t kTouchedAlone = size_t(4) << 20; // 1 ms: well above the cost of starting a thread

constexpr int64_t kCheckedBytes = int64_t(64) << 20; // smaller blocks are not worth a look at /proc

size_t roundUp(size_t x, size_t unit) { return (x + unit - 1) / unit * unit; }

/// Writes one byte a page: zero pages become real ones. Asks the kernel to do it in one call where it can.
void touch(uint8_t* begin, size_t bytes, size_t page) {
#ifdef MADV_POPULATE_WRITE
  if (madvise(begin, bytes, MADV_POPULATE_WRITE) == 0) return;
#endif
  for (size_t i = 0; i < bytes; i += page) static_cast<volatile uint8_t*>(begin)[i] = 0;
}

/// The same by several threads where it takes long: the kernel clears some 5 GB a second on one.
void touchAll(uint8_t* begin, size_t bytes, size_t page) {
  size_t threads = bytes < kTouchedAlone ? 1 : std::clamp<size_t>(std::thread::hardware_concurrency(), 1, 8);
  size_t part = roundUp(bytes / threads + 1, kHugePage);
  std::vector<std::jthread> others;
  for (size_t at = part; at < bytes; at += part) {
    auto one = [=] { touch(begin + at, std::min(part, bytes - at), page); };
    try {
      others.emplace_back(one);
    } catch (const std::system_error&) { // no more threads to be had
      one();
    }
  }
  touch(begin, std::min(part, bytes), page);
}

} // namespace

Memory::Memory(Memory&& other) noexcept { *this = std::move(other); }

Memory& Memory::operator=(Memory&& other) noexcept {
  std::swap(address_, other.address_);
  std::swap(base_, other.base_);
  std::swap(mapped_, other.mapped_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Memory::~Memory() {
  if (base_) munmap(base_, mapped_);
}

Memory Memory::allocate(int64_t bytes) {
  Memory m;
  if (bytes < 0 || bytes > (int64_t(1) << 46)) return m; // beyond any address space
  if (bytes >= kCheckedBytes && bytes > availableMemoryBytes()) return m;
  size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  size_t wanted = roundUp(std::max<size_t>(bytes, 1), page);
  bool huge = wanted >= kHugePage;
  if (huge) wanted = roundUp(wanted, kHugePage);
  size_t mapped = huge ? wanted + kHugePage : wanted; // room to align
  void* base = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) return m;
  auto address = reinterpret_cast<uintptr_t>(base);
  if (huge) address = roundUp(address, kHugePage);
  m.address_ = reinterpret_cast<uint8_t*>(address);
  m.base_ = base;
  m.mapped_ = mapped;
  m.bytes_ = bytes;
#ifdef MADV_HUGEPAGE
  if (huge) madvise(m.address_, wanted, MADV_HUGEPAGE);
#endif
  touchAll(m.address_, wanted, page);
  return m;
}

namespace {

constexpr int64_t kNoLimit = INT64_MAX;

/// The number that a file holds, or `otherwise` ("max", no such file).
int64_t numberIn(const std::string& path, int64_t otherwise) {
  std::ifstream file(path);
  int64_t value = 0;
  return file >> value ? value : otherwise;
}

/// The number after `word` in a file of words and numbers.
int64_t numberAfter(const std::string& path, const std::string& word, int64_t otherwise) {
  std::ifstream file(path);
  int64_t value = 0;
  for (std::string found; file >> found;)
    if (found == word && file >> value) return value;
  return otherwise;
}

struct MemoryGroup {
  int64_t limit = kNoLimit, room = kNoLimit; // bytes that may be used, and that may still be
};

/// The tightest control group around this process: cgroups(7), version 2 (line `0::/path` of /proc/self/cgroup), or 1
/// (line `N:…memory…:/path`). File pages that can be dropped count as room.
MemoryGroup memoryGroup() {
  MemoryGroup tightest;
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    std::string controllers = line.substr(first + 1, second - first - 1), path = line.substr(second + 1);
    bool version2 = controllers.empty();
    if (!version2 && ("," + controllers + ",").find(",memory,") == std::string::npos) continue;
    std::string root = version2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
    while (true) { // a group is bounded by those around it
      if (path == "/") path.clear();
      std::string folder = root + path;
      int64_t limit = numberIn(folder + (version2 ? "/memory.max" : "/memory.limit_in_bytes"), kNoLimit);
      if (limit < kNoLimit) {
        int64_t used = numberIn(folder + (version2 ? "/memory.current" : "/memory.usage_in_bytes"), 0);
        for (const char* kind : {"inactive_file", "active_file"})
          used -= numberAfter(folder + "/memory.stat", (version2 ? "" : "total_") + std::string(kind), 0);
        tightest.limit = std::min(tightest.limit, limit);
        tightest.room = std::min(tightest.room, std::max<int64_t>(0, limit - used));
      }
      if (path.empty()) break;
      path.erase(path.rfind('/'));
    }
  }
  return tightest;
}

} // namespace

int64_t availableMemoryBytes() {
  int64_t kib = numberAfter("/proc/meminfo", "MemAvailable:", kNoLimit / 1024); // proc(5)
  return std::min(kib * 1024, memoryGroup().room);
}

int64_t hostMemoryBytes() {
  int64_t bytes = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  return std::max<int64_t>(0, std::min(bytes, memoryGroup().limit));
}

} // namespace tegula::cpu
