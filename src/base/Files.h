// Files as the rest of the system needs them: whole reads, mappings, writes that are there completely or not at all,
// and locks between processes. Errors name the path and the system's reason.
// Threads: free functions may be called from any thread.
#pragma once

#include "base/Status.h"
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tegula {

/// `cannot open PATH: No such file or directory` (NotFound if it does not exist, else FailedPrecondition).
Status systemError(std::string_view what, const std::string& path, int errorNumber);

StatusOr<std::string> readFile(const std::string& path);
/// Writes `path.tmp-PID-N` beside the target, fsyncs, renames over it, fsyncs the folder: readers see the old or the
/// new contents, also after a crash. A file that was there keeps its permissions; a link is replaced, not followed.
/// Fails: full disk, missing folder; nothing is left behind then.
Status writeFileAtomically(const std::string& path, std::span<const uint8_t> bytes);
Status writeFileAtomically(const std::string& path, std::string_view text);
/// Adds to the end of a file (made if missing) with one write call.
Status appendFile(const std::string& path, std::string_view text);

/// Names (not paths) in a folder, sorted by bytes, without `.` and `..`.
StatusOr<std::vector<std::string>> listFolder(const std::string& path);
bool fileExists(const std::string& path);
bool isFolder(const std::string& path);
StatusOr<int64_t> fileSizeBytes(const std::string& path);
/// With its parents; an existing folder is fine. What it made is there after a crash, too.
Status makeFolders(const std::string& path);
Status removeFile(const std::string& path);
/// A file or a folder with everything in it; a missing one is fine.
Status removeAll(const std::string& path);
/// Renames a file or folder over `to` and makes the rename durable.
Status renameDurably(const std::string& from, const std::string& to);
/// Swaps two files or folders in one step and makes that durable. Fails: a file system that cannot.
Status exchangeDurably(const std::string& a, const std::string& b);
/// Makes what a file or folder holds durable.
Status syncPath(const std::string& path);
/// `base.tmp-PID-N`: distinct among the processes of a machine and within this one.
std::string temporaryName(const std::string& base);
/// The `base` of a temporaryName(); empty for any other name, such as one that only begins like it: that is somebody's own.
std::string_view baseOfTemporaryName(std::string_view name);

/// A read-only mapping of a whole file; lives as long as its last owner.
class MappedFile {
public:
  static StatusOr<std::shared_ptr<const MappedFile>> open(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  std::span<const uint8_t> bytes() const { return {static_cast<const uint8_t*>(data_), size_}; }

private:
  MappedFile(void* data, size_t size) : data_(data), size_(size) {}
  void* data_;
  size_t size_;
};

/// An exclusive lock on a file (made if missing), held until destroyed; also released when the process dies.
class FileLock {
public:
  /// Blocks until the lock is held.
  static StatusOr<FileLock> acquire(const std::string& path);
  /// Does not block. Fails with Unavailable while another process or thread holds it.
  static StatusOr<FileLock> tryAcquire(const std::string& path);
  FileLock(FileLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  FileLock& operator=(FileLock&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~FileLock();

private:
  explicit FileLock(int descriptor) : descriptor_(descriptor) {}
  static StatusOr<FileLock> lock(const std::string& path, bool wait);
  int descriptor_ = -1;
};

} // namespace tegula
