// Memory between inaccessible pages: a kernel that reads or writes one byte past its buffer faults, compiled kernels
// included, which sanitizers do not see.
//
//   GuardedBuffer b(bytes, GuardedBuffer::Side::End);  // the last byte touches the upper guard page
#pragma once

#include "tensor/HostArray.h"
#include <cstddef>

namespace tegula {

class GuardedBuffer {
public:
  /// Which end lies at a guard page; the other is within a page of one (sizes are not multiples of a page).
  enum class Side { Begin, End };
  static constexpr uint8_t kPoison = 0xa5; // floats of it are small negative numbers that no test expects

  /// Filled with kPoison. Throws std::bad_alloc when the system has no memory.
  GuardedBuffer(int64_t bytes, Side side);
  ~GuardedBuffer();
  GuardedBuffer(const GuardedBuffer&) = delete;
  GuardedBuffer& operator=(const GuardedBuffer&) = delete;
  void* data() const { return data_; }
  int64_t sizeBytes() const { return bytes_; }
  /// True while the rest of the accessible pages still holds kPoison: nothing was written beside the buffer.
  bool surroundingsIntact() const;

private:
  uint8_t* mapping_;
  int64_t mappingBytes_, bytes_;
  uint8_t* data_;
};

/// A copy of `a`, with its strides, in guarded memory that the copy owns. Requires: strides are not negative.
HostArray guardedCopy(const HostArray& a, GuardedBuffer::Side side);
/// A row-major array of poison in guarded memory.
HostArray guardedPoison(const TensorType& type, GuardedBuffer::Side side);

} // namespace tegula
