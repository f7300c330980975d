// The loader of CPU code images (tegula/cpu_image.h): verify, map, copy, protect.
#pragma once

#include "sdk/Error.h"
#include "tegula/cpu_image.h"

#include <cstddef>
#include <string>

namespace tegula::cpu {

/// A mapped image; unmapped when destroyed.
class Image {
public:
  Image() = default;
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;
  ~Image();

  /// Maps a copy of `bytes`: code read+execute, the rest read only. Fails with TG_ERROR_INVALID for anything but a
  /// whole and undamaged image, TG_ERROR_UNSUPPORTED for another version or an instruction set that `isa` lacks,
  /// TG_ERROR_MEMORY.
  tg_result load(const char* name, const void* bytes, int64_t byteCount, uint64_t isa, tg_error* error);

  tg_cpu_kernel_fn entry() const { return entry_; }

private:
  void* base_ = nullptr;
  size_t mapped_ = 0;
  tg_cpu_kernel_fn entry_ = nullptr;
};

} // namespace tegula::cpu
