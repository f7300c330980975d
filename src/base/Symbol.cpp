// The process-wide table of interned names.
#include "base/Symbol.h"

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include <atomic>
#include <cassert>
#include <memory>
#include <string>

namespace tegula {
namespace {

/// Texts live in blocks that never move, so text() reads without a lock: an id is handed out only after its slot was
/// written, and a Symbol crosses threads through some synchronisation of its owner.
class Table {
public:
  uint32_t intern(std::string_view text) {
    absl::MutexLock lock(&mutex_);
    auto it = ids_.find(absl::string_view(text.data(), text.size()));
    if (it != ids_.end()) return it->second;
    uint32_t id = next_++;
    uint32_t block = id / kBlock;
    assert(block < kBlocks && "too many interned names");
    if (!blocks_[block].load(std::memory_order_relaxed))
      blocks_[block].store(new std::string[kBlock], std::memory_order_release);
    std::string& slot = blocks_[block].load(std::memory_order_relaxed)[id % kBlock];
    slot = std::string(text);
    ids_.emplace(absl::string_view(slot), id);
    return id;
  }
  std::string_view text(uint32_t id) const { return blocks_[id / kBlock].load(std::memory_order_acquire)[id % kBlock]; }

private:
  static constexpr uint32_t kBlock = 1024, kBlocks = 4096;
  absl::Mutex mutex_;
  absl::flat_hash_map<absl::string_view, uint32_t> ids_ ABSL_GUARDED_BY(mutex_);
  uint32_t next_ ABSL_GUARDED_BY(mutex_) = 1; // 0 is the empty name
  std::atomic<std::string*> blocks_[kBlocks] = {};
};

/// Never destroyed: static objects may hold Symbols until the very end.
Table& table() {
  static Table* t = new Table;
  return *t;
}

} // namespace

Symbol::Symbol(std::string_view text) : id_(text.empty() ? 0 : table().intern(text)) {}

std::string_view Symbol::text() const { return id_ == 0 ? std::string_view() : table().text(id_); }

} // namespace tegula
