// Mappings with protected first and last pages.
#include "verify/GuardedBuffer.h"

#include "tensor/Layout.h"
#include <algorithm>
#include <cstring>
#include <new>
#include <sys/mman.h>
#include <unistd.h>

namespace tegula {

GuardedBuffer::GuardedBuffer(int64_t bytes, Side side) : bytes_(bytes) {
  int64_t page = ::sysconf(_SC_PAGESIZE);
  int64_t inner = (std::max<int64_t>(bytes, 1) + page - 1) / page * page;
  mappingBytes_ = inner + 2 * page;
  void* p = ::mmap(nullptr, static_cast<size_t>(mappingBytes_), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) throw std::bad_alloc();
  mapping_ = static_cast<uint8_t*>(p);
  if (::mprotect(mapping_ + page, static_cast<size_t>(inner), PROT_READ | PROT_WRITE) != 0) {
    ::munmap(mapping_, static_cast<size_t>(mappingBytes_));
    throw std::bad_alloc();
  }
  std::memset(mapping_ + page, kPoison, static_cast<size_t>(inner));
  data_ = side == Side::Begin ? mapping_ + page : mapping_ + page + inner - bytes;
}

GuardedBuffer::~GuardedBuffer() { ::munmap(mapping_, static_cast<size_t>(mappingBytes_)); }

bool GuardedBuffer::surroundingsIntact() const {
  int64_t page = ::sysconf(_SC_PAGESIZE);
  std::span<const uint8_t> before(mapping_ + page, data_);
  std::span<const uint8_t> after(data_ + bytes_, mapping_ + mappingBytes_ - page);
  auto poisoned = [](uint8_t byte) { return byte == kPoison; };
  return std::all_of(before.begin(), before.end(), poisoned) && std::all_of(after.begin(), after.end(), poisoned);
}

HostArray guardedCopy(const HostArray& a, GuardedBuffer::Side side) {
  auto buffer = std::make_shared<GuardedBuffer>(footprintBytes(Layout::strided(a.strides()), a.type()), side);
  void* data = buffer->data();
  std::memcpy(data, a.data(), static_cast<size_t>(buffer->sizeBytes()));
  return HostArray::wrap(a.type(), a.strides(), data, std::move(buffer));
}

HostArray guardedPoison(const TensorType& type, GuardedBuffer::Side side) {
  auto buffer = std::make_shared<GuardedBuffer>(type.sizeBytes(), side);
  void* data = buffer->data();
  return HostArray::wrap(type, rowMajorStrides(type.shape), data, std::move(buffer));
}

} // namespace tegula
