// Making the pages of large blocks real while their owner goes on: clearing gigabytes takes a good part of a second, in
// which a program that has just started has other work (reading data, making a plan).
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <thread>

namespace tegula::cpu {

/// Makes every page of [begin, begin + bytes) present; what others write there meanwhile stays. `page` is the page size
/// in bytes.
void populate(uint8_t* begin, size_t bytes, size_t page);

/// One thread that populates blocks in the order in which they came, and sleeps when there are none. A page that is used
/// before its turn is made present by its use, as the kernel does anyway.
/// Threads: all functions may be called from any thread.
class Population {
public:
  explicit Population(size_t page) : page_(page) {}
  ~Population();
  Population(const Population&) = delete;
  Population& operator=(const Population&) = delete;

  void add(uint8_t* begin, size_t bytes);
  /// Call before the block is unmapped. Waits for the part that is being populated, if it is of this block.
  void remove(const uint8_t* begin);
  /// Bytes that were promised to blocks and may not be present yet: of this one, and of the whole process.
  int64_t pendingBytes() const { return pendingBytes_; }
  static int64_t allPendingBytes() { return allPendingBytes_; }

private:
  struct Block {
    uint8_t* begin = nullptr;
    size_t bytes = 0, done = 0;
  };
  void run();
  void addPending(int64_t bytes);

  static inline std::atomic<int64_t> allPendingBytes_{0};
  const size_t page_;
  std::atomic<int64_t> pendingBytes_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Block> blocks_; // the first is being populated while busy_
  bool busy_ = false, stop_ = false;
  std::thread thread_; // started by the first block
};

} // namespace tegula::cpu
