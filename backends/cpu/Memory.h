// Host memory for buffers and scratch: zero-filled, aligned, every page present before the first use, huge pages for
// large blocks. A steady step must not fault a page: on virtual machines a fault costs more than the work on its page.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tegula::cpu {

/// Owns one block. Movable, not copyable.
class Memory {
public:
  Memory() = default;
  Memory(Memory&& other) noexcept;
  Memory& operator=(Memory&& other) noexcept;
  ~Memory();
  /// At least one byte, aligned to 64 (to 2 MiB from 2 MiB on). An empty Memory on failure.
  static Memory allocate(int64_t bytes);

  explicit operator bool() const { return address_ != nullptr; }
  uint8_t* address() const { return address_; }
  int64_t bytes() const { return bytes_; }

private:
  uint8_t* address_ = nullptr; // what callers see
  void* base_ = nullptr;       // of the mapping
  size_t mapped_ = 0;
  int64_t bytes_ = 0;
};

/// Memory that can be had now without swapping or killing anybody, in bytes; a very large number if unknown. Large
/// blocks are refused by it, because taking pages that are not there ends the process, not the call.
int64_t availableMemoryBytes();

/// Memory of this machine that buffers may take, in bytes; 0 if unknown. A container's limit counts.
int64_t hostMemoryBytes();

} // namespace tegula::cpu
