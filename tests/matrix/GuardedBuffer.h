// Memory that ends (or begins) at an inaccessible page, so that a kernel which touches one byte too many is caught.
#pragma once

#include <cstdint>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

namespace tegula {

class GuardedBuffer {
public:
  enum class Flush : uint8_t { End, Begin }; // which side touches the guard

  GuardedBuffer(int64_t bytes, Flush flush) {
    auto page = static_cast<int64_t>(sysconf(_SC_PAGESIZE));
    int64_t inner = (bytes + page - 1) / page * page;
    if (inner == 0) inner = page;
    mapped_ = inner + 2 * page;
    base_ = static_cast<uint8_t*>(
        mmap(nullptr, static_cast<size_t>(mapped_), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(base_ + page, static_cast<size_t>(inner), PROT_READ | PROT_WRITE);
    std::memset(base_ + page, 0xff, static_cast<size_t>(inner)); // NaN in every float type
    data_ = flush == Flush::End ? base_ + page + inner - bytes : base_ + page;
  }
  ~GuardedBuffer() { munmap(base_, static_cast<size_t>(mapped_)); }
  GuardedBuffer(const GuardedBuffer&) = delete;
  uint8_t* data() const { return data_; }

private:
  uint8_t *base_ = nullptr, *data_ = nullptr;
  int64_t mapped_ = 0;
};

} // namespace tegula
