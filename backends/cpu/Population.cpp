#include "Population.h"

#include <algorithm>
#include <sys/mman.h>
#include <system_error>
#include <unistd.h>

namespace tegula::cpu {
namespace {

constexpr size_t kPart = size_t(16) << 20; // 3 ms: nobody waits longer for a block to be given back

} // namespace

void populate(uint8_t* begin, size_t bytes, size_t page) {
#ifdef MADV_POPULATE_WRITE
  if (madvise(begin, bytes, MADV_POPULATE_WRITE) == 0) return; // Linux 5.14
#endif
  for (size_t i = 0; i < bytes; i += page) __atomic_fetch_or(begin + i, 0, __ATOMIC_RELAXED); // a write that changes nothing
}

Population& Population::instance() {
  static Population population(static_cast<size_t>(sysconf(_SC_PAGESIZE)));
  return population;
}

Population::~Population() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Population::add(uint8_t* begin, size_t bytes) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!thread_.joinable()) {
      try {
        thread_ = std::thread([this] { run(); });
      } catch (const std::system_error&) { // no thread to be had: now, then
        populate(begin, bytes, page_);
        return;
      }
    }
    blocks_.push_back({begin, bytes});
  }
  changed_.notify_all();
}

void Population::remove(const uint8_t* begin) {
  std::unique_lock<std::mutex> lock(mutex_);
  auto found = std::ranges::find(blocks_, begin, &Block::begin);
  if (found == blocks_.end()) return;
  if (busy_ && found == blocks_.begin()) {
    found->bytes = 0; // run() forgets it after the part in progress
    changed_.wait(lock, [&] { return blocks_.empty() || blocks_.front().begin != begin; });
  } else {
    blocks_.erase(found);
  }
}

int64_t Population::pendingBytes() const {
  std::lock_guard<std::mutex> lock(mutex_);
  size_t bytes = 0;
  for (const Block& b : blocks_) bytes += b.bytes - std::min(b.bytes, b.done);
  return static_cast<int64_t>(bytes);
}

void Population::run() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stop_ || !blocks_.empty(); });
    if (stop_) return;
    Block block = blocks_.front();
    size_t part = std::min(kPart, block.bytes - block.done);
    busy_ = true;
    lock.unlock();
    populate(block.begin + block.done, part, page_);
    lock.lock();
    busy_ = false;
    blocks_.front().done += part;
    if (blocks_.front().done >= blocks_.front().bytes) blocks_.pop_front();
    changed_.notify_all();
  }
}

} // namespace tegula::cpu
