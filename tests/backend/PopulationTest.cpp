// Pages of large blocks become present behind their owner's back, without touching what the owner does with them.
#include "cpu/Population.h"
#include "cpu/Memory.h"

#include <chrono>
#include <gtest/gtest.h>
#include <memory>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace tegula::cpu {
namespace {

constexpr size_t kMiB = size_t(1) << 20;

size_t pageBytes() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

class Mapping {
public:
  explicit Mapping(size_t bytes)
      : bytes_(bytes), base_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {}
  ~Mapping() { munmap(base_, bytes_); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  uint8_t* begin() const { return static_cast<uint8_t*>(base_); }
  size_t bytes() const { return bytes_; }
  size_t presentPages() const {
    std::vector<unsigned char> pages(bytes_ / pageBytes());
    if (mincore(base_, bytes_, pages.data()) != 0) return 0;
    size_t n = 0;
    for (unsigned char p : pages) n += p & 1;
    return n;
  }

private:
  size_t bytes_;
  void* base_;
};

void awaitAll(const Population& population) {
  while (population.pendingBytes() > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

TEST(Population, makesEveryPageOfEveryBlockPresent) {
  Mapping a(40 * kMiB + pageBytes()), b(kMiB); // parts of unequal sizes; a block smaller than a part
  ASSERT_EQ(a.presentPages(), 0u);
  Population population(pageBytes());
  population.add(a.begin(), a.bytes());
  population.add(b.begin(), b.bytes());
  awaitAll(population);
  EXPECT_EQ(a.presentPages(), a.bytes() / pageBytes());
  EXPECT_EQ(b.presentPages(), b.bytes() / pageBytes());
  Mapping c(kMiB); // the thread has slept since
  population.add(c.begin(), c.bytes());
  awaitAll(population);
  EXPECT_EQ(c.presentPages(), c.bytes() / pageBytes());
}

TEST(Population, whatIsWrittenMeanwhileStays) {
  for (int round = 0; round < 5; ++round) {
    Mapping a(64 * kMiB);
    Population population(pageBytes());
    population.add(a.begin(), a.bytes());
    for (size_t i = 0; i < a.bytes(); i += 512) a.begin()[i] = static_cast<uint8_t>(1 + i / 512 % 255);
    awaitAll(population);
    for (size_t i = 0; i < a.bytes(); i += 256)
      ASSERT_EQ(a.begin()[i], i % 512 ? 0 : static_cast<uint8_t>(1 + i / 512 % 255)) << "at " << i;
  }
}

TEST(Population, aBlockThatIsGivenBackIsNotTouchedAgain) {
  Population population(pageBytes());
  for (int round = 0; round < 20; ++round) {
    auto a = std::make_unique<Mapping>(128 * kMiB), b = std::make_unique<Mapping>(128 * kMiB);
    population.add(a->begin(), a->bytes());
    population.add(b->begin(), b->bytes());
    if (round % 2) // the first is being populated, the second waits
      while (a->presentPages() == 0) std::this_thread::yield();
    population.remove(b->begin());
    population.remove(a->begin());
    population.remove(a->begin()); // not known any more
    EXPECT_EQ(population.pendingBytes(), 0);
    a->begin()[0] = 1; // still mapped
    // A page of a block that is not known any more would be touched by hand where the kernel refuses, and end the process.
    ASSERT_EQ(mprotect(a->begin(), a->bytes(), PROT_NONE), 0);
    ASSERT_EQ(mprotect(b->begin(), b->bytes(), PROT_NONE), 0);
  }
}

TEST(Population, endsWithWorkLeft) {
  Mapping a(256 * kMiB);
  {
    Population population(pageBytes());
    population.add(a.begin(), a.bytes());
  }
  EXPECT_EQ(Population::allPendingBytes(), 0); // joined, without waiting for all of it
}

TEST(Population, whatIsPromisedIsNotAvailable) {
  // Promised or present by the time of the second look: gone in both cases. Other processes come and go meanwhile.
  int64_t before = availableMemoryBytes();
  Population population(pageBytes());
  Memory block = Memory::allocate(int64_t(1024 * kMiB), &population);
  int64_t after = availableMemoryBytes();
  ASSERT_TRUE(block);
  EXPECT_LT(after, before - int64_t(512 * kMiB));
  block = Memory();
  EXPECT_EQ(population.pendingBytes(), 0);
}

TEST(Population, blocksComeAndGoOnManyThreads) {
  Population population(pageBytes());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([t, &population] {
      for (int i = 0; i < 30; ++i) {
        Memory m = Memory::allocate(int64_t(kMiB) * (5 + 7 * ((i + t) % 4)), &population);
        ASSERT_TRUE(m);
        for (int64_t at = 0; at < m.bytes(); at += 65537) {
          ASSERT_EQ(m.address()[at], 0);
          m.address()[at] = 1;
        }
        Memory moved = std::move(m);
        for (int64_t at = 0; at < moved.bytes(); at += 65537) ASSERT_EQ(moved.address()[at], 1);
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(population.pendingBytes(), 0);
}

} // namespace
} // namespace tegula::cpu
