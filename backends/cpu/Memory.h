// Host memory for buffers and scratch: zero-filled, aligned, huge pages for large blocks. Pages are made present when a
// block is allocated (of large blocks, soon after: Population.h). A steady step must not fault a page: on virtual
// machines a fault costs more than the work on its page.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tegula::cpu {

class Population;

/// Owns one block. Movable, not copyable.
class Memory {
public:
  Memory() = default;
  Memory(Memory&& other) noexcept;
  Memory& operator=(Memory&& other) noexcept;
  ~Memory();
  /// At least one byte, aligned to 64 (to 2 MiB from 2 MiB on). An empty Memory on failure. With a `population`, which
  /// must outlive the block, a large block may be returned before its pages are present.
  static Memory allocate(int64_t bytes, Population* population = nullptr);

  explicit operator bool() const { return address_ != nullptr; }
  uint8_t* address() const { return address_; }
  int64_t bytes() const { return bytes_; }

private:
  uint8_t* address_ = nullptr;       // what callers see
  void* base_ = nullptr;             // of the mapping
  Population* population_ = nullptr; // that may be at it
  size_t mapped_ = 0;
  int64_t bytes_ = 0;
};

/// Memory that can be had now without swapping or killing anybody, in bytes; a very large number if unknown. What was
/// promised to buffers and is not present yet is taken off. Large blocks are refused by it, because taking pages that are not there ends the process, not the call.
int64_t availableMemoryBytes();

/// Memory of this machine that buffers may take, in bytes; 0 if unknown. A container's limit counts.
int64_t hostMemoryBytes();

} // namespace tegula::cpu
