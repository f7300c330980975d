// A tiny loader of code images for tests: map, copy, protect. No dependency, so that it also serves the static runner.
#pragma once

#include "tegula/cpu_image.h"
#include <cstring>
#include <span>
#include <sys/mman.h>

namespace tegula {

class MappedImage {
public:
  /// Requires: `bytes` is a whole image. After a failure kernel() is null.
  explicit MappedImage(std::span<const uint8_t> bytes) {
    tg_cpu_image_header h;
    if (bytes.size() < sizeof h) return;
    std::memcpy(&h, bytes.data(), sizeof h);
    if (h.magic != TG_CPU_IMAGE_MAGIC || h.image_bytes != bytes.size()) return;
    void* at = mmap(nullptr, bytes.size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) return;
    base_ = static_cast<uint8_t*>(at);
    size_ = bytes.size();
    std::memcpy(base_, bytes.data(), size_);
    mprotect(base_, size_, PROT_READ);
    mprotect(base_ + h.code_offset, h.constants_offset - h.code_offset, PROT_READ | PROT_EXEC);
    kernel_ = reinterpret_cast<tg_cpu_kernel_fn>(base_ + h.entry_offset);
  }
  ~MappedImage() {
    if (base_) munmap(base_, size_);
  }
  MappedImage(const MappedImage&) = delete;
  tg_cpu_kernel_fn kernel() const { return kernel_; }

private:
  uint8_t* base_ = nullptr;
  size_t size_ = 0;
  tg_cpu_kernel_fn kernel_ = nullptr;
};

} // namespace tegula
