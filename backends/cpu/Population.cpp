#include "Population.h"

#include <algorithm>
#include <sys/mman.h>
#include <system_error>

namespace tegula::cpu {
namespace {

constexpr size_t kPart = size_t(16) << 20; // 3 ms: nobody waits longer for a block to be given back

} // namespace

void populate(uint8_t* begin, size_t bytes, size_t page) {
#ifdef MADV_POPULATE_WRITE
  if (madvise(begin, bytes, MADV_POPULATE_WRITE) == 0) return; // Linux 5.14
#endif
  for (size_t i = 0; i < bytes; i += page)
    __atomic_fetch_or(begin + i, 0, __ATOMIC_RELAXED); // a write that changes nothing
}

Population::~Population() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  addPending(-pendingBytes_);
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
    addPending(static_cast<int64_t>(bytes));
  }
  changed_.notify_all();
}

void Population::remove(const uint8_t* begin) {
  std::unique_lock<std::mutex> lock(mutex_);
  auto found = std::ranges::find(blocks_, begin, &Block::begin);
  if (found == blocks_.end()) return;
  addPending(-static_cast<int64_t>(found->bytes - found->done));
  if (busy_ && found == blocks_.begin()) {
    found->bytes = found->done; // run() forgets it after the part in progress
    changed_.wait(lock, [&] { return blocks_.empty() || blocks_.front().begin != begin; });
  } else {
    blocks_.erase(found);
  }
}

void Population::addPending(int64_t bytes) {
  pendingBytes_ += bytes;
  allPendingBytes_ += bytes;
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
    Block& first = blocks_.front();
    size_t counted = std::min(part, first.bytes - first.done); // nothing of a block that was removed meanwhile
    first.done += counted;
    addPending(-static_cast<int64_t>(counted));
    if (first.done == first.bytes) blocks_.pop_front();
    changed_.notify_all();
  }
}

} // namespace tegula::cpu
