// Read-only mappings, and locks between processes.
#include "base/Files.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tegula {
StatusOr<std::shared_ptr<const MappedFile>> MappedFile::open(const std::string& path) {
  int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return systemError("cannot open", path, errno);
  struct stat info;
  void* data = nullptr;
  int error = 0;
  if (::fstat(descriptor, &info) != 0)
    error = errno;
  else if (S_ISDIR(info.st_mode))
    error = EISDIR;
  else if (info.st_size > 0) { // an empty file cannot be mapped
    data = ::mmap(nullptr, static_cast<size_t>(info.st_size), PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (data == MAP_FAILED) error = errno;
  }
  ::close(descriptor);
  if (error) return systemError("cannot map", path, error);
  return std::shared_ptr<const MappedFile>(new MappedFile(data, static_cast<size_t>(info.st_size)));
}

MappedFile::~MappedFile() {
  if (data_) ::munmap(data_, size_);
}

StatusOr<FileLock> FileLock::lock(const std::string& path, bool wait) {
  int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor < 0) return systemError("cannot open", path, errno);
  // flock, not fcntl: it belongs to the open file, so that it also excludes other threads and is not lost when some
  // other descriptor of the file is closed.
  int result;
  do result = ::flock(descriptor, LOCK_EX | (wait ? 0 : LOCK_NB));
  while (result != 0 && errno == EINTR);
  if (result == 0) return FileLock(descriptor);
  int error = errno;
  ::close(descriptor);
  if (error == EWOULDBLOCK) return absl::UnavailableError(fmt::format("{} is locked by another process", path));
  return systemError("cannot lock", path, error);
}

StatusOr<FileLock> FileLock::acquire(const std::string& path) { return lock(path, true); }

StatusOr<FileLock> FileLock::tryAcquire(const std::string& path) { return lock(path, false); }

FileLock::~FileLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

} // namespace tegula
