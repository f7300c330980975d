// The disk cache of code images: a folder with one file an image, shared by any number of processes.
//
// A file's name is the XXH3-128 hash of its key in hexadecimal, then `.image`. Integers are little-endian.
//
//   | bytes | field                                             |
//   |-------|---------------------------------------------------|
//   | 8     | "TGIMAGE1"                                        |
//   | 8     | K, bytes of the key                               |
//   | 8     | N, bytes of the image                             |
//   | 16    | XXH3-128 of key and image, high half first        |
//   | K     | the key: two keys of one hash are told apart      |
//   | N     | the image                                         |
//
// Writers write aside and rename, so readers see nothing or a whole file; a file torn by a crash fails its checksum, is
// removed and counts as absent. Reading a file makes it young; trim() removes the oldest until the folder is within its
// limit.
// Threads: all functions may be called from any thread and process.
#pragma once

#include "base/Status.h"
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tegula {

class ImageStore {
public:
  /// Makes the folder when something is stored; an empty name is a store that keeps nothing. `limitBytes` bounds the sum
  /// of file sizes after trim().
  ImageStore(std::string folder, int64_t limitBytes) : folder_(std::move(folder)), limitBytes_(limitBytes) {}

  /// The image stored under `key`, or nothing.
  std::optional<std::vector<uint8_t>> load(std::string_view key) const;
  /// Fails: full disk, no permission. Callers log that and go on: the cache is a convenience.
  Status store(std::string_view key, std::span<const uint8_t> image) const;
  /// Removes oldest files beyond the limit, and leftovers of writers that died. Skips when another process is at it.
  void trim() const;

  const std::string& folder() const { return folder_; }
  std::string pathOf(std::string_view key) const;

  struct Usage {
    int64_t files = 0, bytes = 0;
  };
  Usage usage() const;
  /// Removes every image.
  Status clear() const;

private:
  std::string folder_;
  int64_t limitBytes_;
};

/// `asked` if not empty, else TEGULA_CACHE, $XDG_CACHE_HOME/tegula, ~/.cache/tegula. Without a home a folder of this user
/// alone in the temporary folder, or empty if somebody else has it: machine code is loaded from it.
std::string cacheFolder(std::string_view asked);

} // namespace tegula
