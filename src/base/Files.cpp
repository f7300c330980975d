// Reading, writing and naming files over the POSIX calls.
#include "base/Files.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <optional>
#include <sys/stat.h>
#include <unistd.h>

namespace tegula {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view kTemporary = ".tmp-"; // then the process and a count: PID-N

/// An open descriptor, closed at the end of its scope.
class Descriptor {
public:
  Descriptor(const std::string& path, int flags, mode_t mode = 0666)
      : value_(::open(path.c_str(), flags | O_CLOEXEC, mode)) {}
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  Descriptor(const Descriptor&) = delete;
  int get() const { return value_; }
  /// Reports what closing reports (network file systems answer only then).
  int close() {
    int result = ::close(value_);
    value_ = -1;
    return result;
  }

private:
  int value_;
};

/// 0, or the error number.
int writeAll(int descriptor, const char* data, size_t size) {
  while (size > 0) {
    ssize_t written = ::write(descriptor, data, size);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    data += written;
    size -= static_cast<size_t>(written);
  }
  return 0;
}

std::string folderOf(const std::string& path) {
  std::string folder = fs::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

/// The permission bits of a file that is there already.
std::optional<mode_t> permissionsOf(const std::string& path) {
  struct stat info;
  if (::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  return info.st_mode & (S_IRWXU | S_IRWXG | S_IRWXO);
}

/// Without `permissions` they follow the umask.
Status writeNew(const std::string& path, std::string_view bytes, std::optional<mode_t> permissions) {
  Descriptor file(path, O_WRONLY | O_CREAT | O_TRUNC, permissions.value_or(0666));
  if (file.get() < 0) return systemError("cannot make", path, errno);
  if (permissions && ::fchmod(file.get(), *permissions) != 0) // the umask took some away
    return systemError("cannot set the permissions of", path, errno);
  if (int e = writeAll(file.get(), bytes.data(), bytes.size())) return systemError("cannot write", path, e);
  if (::fsync(file.get()) != 0) return systemError("cannot write", path, errno);
  if (file.close() != 0) return systemError("cannot write", path, errno);
  return OkStatus();
}

} // namespace

Status systemError(std::string_view what, const std::string& path, int errorNumber) {
  if (errorNumber == ENOENT) return notFound("{} {}: {}", what, path, std::strerror(errorNumber));
  return failed("{} {}: {}", what, path, std::strerror(errorNumber));
}

StatusOr<std::string> readFile(const std::string& path) {
  Descriptor file(path, O_RDONLY);
  if (file.get() < 0) return systemError("cannot open", path, errno);
  struct stat info;
  if (::fstat(file.get(), &info) != 0) return systemError("cannot read", path, errno);
  if (S_ISDIR(info.st_mode)) return systemError("cannot read", path, EISDIR);
  std::string text(static_cast<size_t>(info.st_size), '\0');
  size_t have = 0;
  while (true) { // past the stated size too: pipes and growing files have none that holds
    if (have == text.size()) text.resize(have + std::max<size_t>(have / 2, 4096));
    ssize_t got = ::read(file.get(), text.data() + have, text.size() - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return systemError("cannot read", path, errno);
    if (got == 0) break;
    have += static_cast<size_t>(got);
  }
  text.resize(have);
  return text;
}

Status writeFileAtomically(const std::string& path, std::string_view text) {
  std::string aside = temporaryName(path);
  Status status = writeNew(aside, text, permissionsOf(path));
  if (status.ok()) status = renameDurably(aside, path);
  if (!status.ok()) ::unlink(aside.c_str());
  return status;
}

Status writeFileAtomically(const std::string& path, std::span<const uint8_t> bytes) {
  return writeFileAtomically(path, std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

Status appendFile(const std::string& path, std::string_view text) {
  Descriptor file(path, O_WRONLY | O_CREAT | O_APPEND);
  if (file.get() < 0) return systemError("cannot open", path, errno);
  if (int e = writeAll(file.get(), text.data(), text.size())) return systemError("cannot write", path, e);
  return file.close() == 0 ? OkStatus() : systemError("cannot write", path, errno);
}

StatusOr<std::vector<std::string>> listFolder(const std::string& path) {
  std::error_code error;
  fs::directory_iterator it(path, error);
  if (error) return systemError("cannot list", path, error.value());
  std::vector<std::string> names;
  for (; it != fs::directory_iterator(); it.increment(error)) names.push_back(it->path().filename().string());
  if (error) return systemError("cannot list", path, error.value()); // a failed increment is an end, too
  std::sort(names.begin(), names.end());
  return names;
}

bool fileExists(const std::string& path) {
  std::error_code error;
  return fs::exists(path, error);
}

bool isFolder(const std::string& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

StatusOr<int64_t> fileSizeBytes(const std::string& path) {
  struct stat info;
  if (::stat(path.c_str(), &info) != 0) return systemError("cannot read", path, errno);
  return static_cast<int64_t>(info.st_size);
}

Status makeFolders(const std::string& path) {
  if (isFolder(path)) return OkStatus();
  std::string parent = folderOf(path);
  if (parent != path && !isFolder(parent)) TG_RETURN_IF_ERROR(makeFolders(parent));
  if (::mkdir(path.c_str(), 0777) == 0) return syncPath(parent);
  int error = errno; // "a/": it is there since its parent "a" was made; or another process was faster
  return isFolder(path) ? OkStatus() : systemError("cannot make folder", path, error);
}

Status removeFile(const std::string& path) {
  return ::unlink(path.c_str()) == 0 ? OkStatus() : systemError("cannot remove", path, errno);
}

Status removeAll(const std::string& path) {
  std::error_code error;
  fs::remove_all(path, error);
  return error ? systemError("cannot remove", path, error.value()) : OkStatus();
}

Status renameDurably(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) return systemError(fmt::format("cannot rename {} to", from), to, errno);
  return syncPath(folderOf(to));
}

Status exchangeDurably(const std::string& a, const std::string& b) {
  if (::renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE) != 0)
    return systemError(fmt::format("cannot exchange {} with", a), b, errno);
  TG_RETURN_IF_ERROR(syncPath(folderOf(a)));
  return syncPath(folderOf(b));
}

Status syncPath(const std::string& path) {
  Descriptor file(path, O_RDONLY);
  if (file.get() < 0) return systemError("cannot open", path, errno);
  return ::fsync(file.get()) == 0 ? OkStatus() : systemError("cannot make durable", path, errno);
}

std::string temporaryName(const std::string& base) {
  static std::atomic<uint64_t> next{0};
  return fmt::format("{}{}{}-{}", base, kTemporary, ::getpid(), next++);
}

std::string_view baseOfTemporaryName(std::string_view name) {
  auto isNumber = [](std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  };
  size_t mark = name.rfind(kTemporary);
  if (mark == std::string_view::npos) return {};
  std::string_view numbers = name.substr(mark + kTemporary.size());
  size_t dash = numbers.find('-');
  bool ours = dash != std::string_view::npos && isNumber(numbers.substr(0, dash)) && isNumber(numbers.substr(dash + 1));
  return ours ? name.substr(0, mark) : std::string_view();
}

} // namespace tegula
