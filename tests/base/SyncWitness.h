// What a process asked to be made durable. This header's fsync() takes the place of the library's, so it may be included
// in one file of a test program.
#pragma once

#include <filesystem>
#include <mutex>
#include <set>
#include <string>
#include <sys/syscall.h>
#include <unistd.h>

/// While it lives, every fsync() of a folder notes what was in the folder.
class SyncWitness {
public:
  SyncWitness() { current() = this; }
  ~SyncWitness() { current() = nullptr; }
  SyncWitness(const SyncWitness&) = delete;

  /// Whether the folder of `path` was synced when `path` was in it.
  bool sawDurable(const std::string& path) const { return entries_.contains(std::filesystem::canonical(path)); }

  static void onSync(int descriptor) {
    SyncWitness* witness = current();
    std::error_code error;
    std::filesystem::path path = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(descriptor), error);
    if (!witness || error) return;
    std::scoped_lock lock(witness->mutex_);
    for (const auto& entry : std::filesystem::directory_iterator(path, error)) witness->entries_.insert(entry.path());
  }

private:
  static SyncWitness*& current() {
    static SyncWitness* witness = nullptr;
    return witness;
  }
  std::mutex mutex_;
  std::set<std::filesystem::path> entries_;
};

extern "C" int fsync(int descriptor) {
  SyncWitness::onSync(descriptor);
  return static_cast<int>(::syscall(SYS_fsync, descriptor));
}
