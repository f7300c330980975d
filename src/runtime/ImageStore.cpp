// Reading, writing and trimming the image folder.
#include "runtime/ImageStore.h"

#include "base/Files.h"
#include "base/Hash.h"
#include "base/Log.h"
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

namespace tegula {
namespace {

namespace fs = std::filesystem;
constexpr char kMagic[8] = {'T', 'G', 'I', 'M', 'A', 'G', 'E', '1'};
constexpr std::string_view kSuffix = ".image";
constexpr size_t kHeaderBytes = 40;
constexpr auto kLeftoverAge = std::chrono::minutes(10); // a writer that takes longer is dead

std::span<const uint8_t> bytesOf(std::string_view s) { return {reinterpret_cast<const uint8_t*>(s.data()), s.size()}; }

void put64(std::vector<uint8_t>& out, uint64_t x) {
  for (int i = 0; i < 8; ++i) out.push_back(static_cast<uint8_t>(x >> 8 * i));
}
uint64_t get64(const char* p) {
  uint64_t x = 0;
  for (int i = 7; i >= 0; --i) x = x << 8 | static_cast<uint8_t>(p[i]);
  return x;
}

Hash128 checksum(std::string_view key, std::span<const uint8_t> image) {
  Hasher h;
  h.add(key);
  h.add(image);
  return h.hash128();
}

struct File {
  fs::path path;
  int64_t bytes;
  fs::file_time_type time;
};

/// A hash and the suffix, or what a dead writer left of it. Other files in the folder are not ours.
bool isImageName(std::string_view name) {
  constexpr size_t kDigits = 32;
  if (!parseHash128(name.substr(0, kDigits))) return false;
  std::string_view rest = name.substr(kDigits);
  return rest == kSuffix || baseOfTemporaryName(rest) == kSuffix;
}

std::vector<File> filesOf(const std::string& folder) {
  std::vector<File> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    std::error_code gone; // another process may remove it between two calls
    File f{entry.path(), static_cast<int64_t>(entry.file_size(gone)), {}};
    if (!gone) f.time = entry.last_write_time(gone);
    if (!gone && isImageName(f.path.filename().string())) files.push_back(std::move(f));
  }
  return files;
}

bool isLeftover(const File& f) { return !f.path.string().ends_with(kSuffix); }

} // namespace

std::string ImageStore::pathOf(std::string_view key) const {
  return fmt::format("{}/{}{}", folder_, toHex(hash128(key)), kSuffix);
}

std::optional<std::vector<uint8_t>> ImageStore::load(std::string_view key) const {
  if (folder_.empty()) return std::nullopt;
  std::string path = pathOf(key);
  auto text = readFile(path);
  if (!text.ok()) return std::nullopt;
  auto torn = [&](std::string_view why) {
    logWarning("kernel cache: {} is damaged ({}): removing it and compiling again", path, why);
    std::error_code ignored;
    fs::remove(path, ignored);
    return std::nullopt;
  };
  if (text->size() < kHeaderBytes || std::memcmp(text->data(), kMagic, sizeof(kMagic)) != 0) return torn("no header");
  uint64_t keyBytes = get64(text->data() + 8), imageBytes = get64(text->data() + 16),
           rest = text->size() - kHeaderBytes;
  if (keyBytes > rest || imageBytes != rest - keyBytes) return torn("cut short");
  std::string_view storedKey = std::string_view(*text).substr(kHeaderBytes, keyBytes);
  std::span<const uint8_t> image = bytesOf(std::string_view(*text).substr(kHeaderBytes + keyBytes));
  Hash128 sum = checksum(storedKey, image);
  if (sum.high != get64(text->data() + 24) || sum.low != get64(text->data() + 32)) return torn("checksum");
  if (storedKey != key) return std::nullopt;     // another key of the same hash
  utimensat(AT_FDCWD, path.c_str(), nullptr, 0); // young again; failing to say so costs an early eviction at worst
  return std::vector<uint8_t>(image.begin(), image.end());
}

Status ImageStore::store(std::string_view key, std::span<const uint8_t> image) const {
  if (folder_.empty()) return OkStatus();
  TG_RETURN_IF_ERROR(makeFolders(folder_));
  std::vector<uint8_t> bytes;
  bytes.reserve(kHeaderBytes + key.size() + image.size());
  bytes.insert(bytes.end(), kMagic, kMagic + sizeof(kMagic));
  put64(bytes, key.size());
  put64(bytes, image.size());
  Hash128 sum = checksum(key, image);
  put64(bytes, sum.high);
  put64(bytes, sum.low);
  bytes.insert(bytes.end(), key.begin(), key.end());
  bytes.insert(bytes.end(), image.begin(), image.end());
  // Aside and renamed, but not synced: losing a file in a crash costs a compilation, and a torn one is recognised.
  std::string path = pathOf(key), aside = temporaryName(path);
  std::FILE* file = std::fopen(aside.c_str(), "wb");
  if (!file) return systemError("cannot write", aside, errno);
  bool written = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  written = std::fclose(file) == 0 && written;
  if (written && std::rename(aside.c_str(), path.c_str()) == 0) return OkStatus();
  Status status = systemError("cannot write", path, errno);
  std::remove(aside.c_str());
  return status;
}

void ImageStore::trim() const {
  if (!isFolder(folder_)) return;
  auto lock = FileLock::tryAcquire(folder_ + "/lock");
  if (!lock.ok()) return;
  std::vector<File> files = filesOf(folder_);
  auto now = fs::file_time_type::clock::now();
  int64_t total = 0;
  for (const File& f : files) {
    std::error_code ignored;
    if (isLeftover(f)) {
      if (now - f.time > kLeftoverAge) fs::remove(f.path, ignored);
    } else {
      total += f.bytes;
    }
  }
  if (total <= limitBytes_) return;
  std::sort(files.begin(), files.end(), [](const File& a, const File& b) { return a.time < b.time; });
  int64_t removed = 0;
  for (const File& f : files) {
    if (total <= limitBytes_) break;
    std::error_code error;
    if (isLeftover(f) || !fs::remove(f.path, error)) continue;
    total -= f.bytes;
    ++removed;
  }
  logInfo("kernel cache: removed the {} oldest images of {} to stay within {} bytes", removed, folder_, limitBytes_);
}

ImageStore::Usage ImageStore::usage() const {
  Usage usage;
  for (const File& f : filesOf(folder_)) ++usage.files, usage.bytes += f.bytes;
  return usage;
}

Status ImageStore::clear() const {
  for (const File& f : filesOf(folder_)) TG_RETURN_IF_ERROR(removeFile(f.path.string()));
  return OkStatus();
}

namespace {

/// Without a home, a folder of this user in the temporary folder, where anybody could have made it before: machine code
/// is loaded from it, so it is used only if nobody else can write there.
std::string privateTemporaryFolder() {
  std::string folder = (fs::temp_directory_path() / fmt::format("tegula-cache-{}", ::geteuid())).string();
  struct stat info;
  ::mkdir(folder.c_str(), S_IRWXU);
  if (::lstat(folder.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == ::geteuid() &&
      !(info.st_mode & (S_IWGRP | S_IWOTH)))
    return folder;
  logWarning("kernel cache: {} is not this user's own folder, so nothing is kept on disk; set HOME or TEGULA_CACHE",
             folder);
  return "";
}

} // namespace

std::string cacheFolder(std::string_view asked) {
  if (!asked.empty()) return std::string(asked);
  auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value ? value : "");
  };
  if (std::string folder = variable("TEGULA_CACHE"); !folder.empty()) return folder;
  if (std::string folder = variable("XDG_CACHE_HOME"); !folder.empty()) return folder + "/tegula";
  if (std::string home = variable("HOME"); !home.empty()) return home + "/.cache/tegula";
  return privateTemporaryFolder();
}

} // namespace tegula
