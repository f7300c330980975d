// Nothing of an image is trusted before its checksum fits, and no offset before it was compared with the image's size.
#include "Image.h"

#include "Processor.h"

#include <algorithm>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace tegula::cpu {
namespace {

bool inside(uint64_t offset, uint64_t bytes, uint64_t total) { return offset <= total && bytes <= total - offset; }

/// Reads the header that the writer knew; fields that it did not know are zero.
tg_result readHeader(const char* name, const void* bytes, int64_t byteCount, tg_cpu_image_header& h, tg_error* error) {
  constexpr int64_t kLeast = offsetof(tg_cpu_image_header, checksum) + sizeof(uint64_t);
  if (byteCount < kLeast)
    return tg_fail(error, TG_ERROR_INVALID, "kernel %s: the image has %lld bytes, its header alone takes %lld", name,
                   (long long)byteCount, (long long)kLeast);
  std::memcpy(&h, bytes, kLeast);
  if (h.magic != TG_CPU_IMAGE_MAGIC)
    return tg_fail(error, TG_ERROR_INVALID, "kernel %s: this is no code image of format cpu-image-1 (magic %016llx)",
                   name, (unsigned long long)h.magic);
  if (h.version != TG_CPU_IMAGE_VERSION)
    return tg_fail(error, TG_ERROR_UNSUPPORTED,
                   "kernel %s: the image has version %u, this backend loads version %u: compile it again", name,
                   h.version, TG_CPU_IMAGE_VERSION);
  if (h.header_bytes < kLeast || h.header_bytes > static_cast<uint64_t>(byteCount))
    return tg_fail(error, TG_ERROR_INVALID, "kernel %s: the image's header claims %u bytes", name, h.header_bytes);
  return TG_OK;
}

tg_result checkLayout(const char* name, const void* bytes, int64_t byteCount, const tg_cpu_image_header& h,
                      tg_error* error) {
  if (h.image_bytes != static_cast<uint64_t>(byteCount))
    return tg_fail(error, TG_ERROR_INVALID,
                   "kernel %s: the image should have %llu bytes but has %lld: it was cut short", name,
                   (unsigned long long)h.image_bytes, (long long)byteCount);
  uint64_t sum = XXH3_64bits(static_cast<const uint8_t*>(bytes) + h.header_bytes, byteCount - h.header_bytes);
  if (sum != h.checksum)
    return tg_fail(error, TG_ERROR_INVALID,
                   "kernel %s: the image's checksum is %016llx, its bytes give %016llx: it is damaged", name,
                   (unsigned long long)h.checksum, (unsigned long long)sum);
  bool aligned = h.code_offset % TG_CPU_IMAGE_PAGE == 0 && h.constants_offset % TG_CPU_IMAGE_PAGE == 0;
  bool placed = h.code_offset >= h.header_bytes && inside(h.code_offset, h.code_bytes, h.image_bytes) &&
                inside(h.constants_offset, h.constants_bytes, h.image_bytes) &&
                (h.constants_bytes == 0 || h.constants_offset >= h.code_offset + h.code_bytes);
  bool entered = h.entry_offset >= h.code_offset && h.entry_offset < h.code_offset + h.code_bytes;
  if (!aligned || !placed || !entered)
    return tg_fail(
        error, TG_ERROR_INVALID,
        "kernel %s: the image's offsets do not fit it (code %llu+%llu, constants %llu+%llu, entry %llu of %llu bytes)",
        name, (unsigned long long)h.code_offset, (unsigned long long)h.code_bytes,
        (unsigned long long)h.constants_offset, (unsigned long long)h.constants_bytes,
        (unsigned long long)h.entry_offset, (unsigned long long)h.image_bytes);
  return TG_OK;
}

tg_result checkInstructionSet(const char* name, uint64_t needs, uint64_t has, tg_error* error) {
  if (uint64_t missing = needs & ~has)
    return tg_fail(error, TG_ERROR_UNSUPPORTED, "kernel %s: the image needs %s, which this processor lacks (it has %s)",
                   name, isaText(missing).c_str(), isaText(has).c_str());
  if ((needs & TG_CPU_AMX_BF16) && !requestAmx())
    return tg_fail(error, TG_ERROR_UNSUPPORTED,
                   "kernel %s: the operating system refuses the tile registers of AMX to this process", name);
  return TG_OK;
}

} // namespace

Image::~Image() {
  if (base_) munmap(base_, mapped_);
}

tg_result Image::load(const char* name, const void* bytes, int64_t byteCount, uint64_t isa, tg_error* error) {
  tg_cpu_image_header h{};
  if (tg_result r = readHeader(name, bytes, byteCount, h, error)) return r;
  if (tg_result r = checkLayout(name, bytes, byteCount, h, error)) return r;
  if (tg_result r = checkInstructionSet(name, h.isa, isa, error)) return r;

  size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  size_t mapped = (h.image_bytes + page - 1) / page * page;
  void* base = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED)
    return tg_fail(error, TG_ERROR_MEMORY, "kernel %s: no memory for its code, %zu bytes", name, mapped);
  base_ = base;
  mapped_ = mapped;
  std::memcpy(base, bytes, h.image_bytes);
  auto* start = static_cast<uint8_t*>(base);
  // Pages are the format's 4 KiB; a machine with larger ones would make code and constants share a page.
  size_t codeEnd = (h.code_offset + h.code_bytes + page - 1) / page * page;
  if (h.code_offset % page || (h.constants_bytes && h.constants_offset < codeEnd))
    return tg_fail(error, TG_ERROR_UNSUPPORTED,
                   "kernel %s: the image is laid out for 4096-byte pages, this machine has %zu", name, page);
  if (mprotect(base, mapped, PROT_READ) != 0 ||
      mprotect(start + h.code_offset, codeEnd - h.code_offset, PROT_READ | PROT_EXEC) != 0)
    return tg_fail(error, TG_ERROR_MEMORY, "kernel %s: the operating system refuses executable memory", name);
  __builtin___clear_cache(reinterpret_cast<char*>(start), reinterpret_cast<char*>(start + h.image_bytes));
  entry_ = reinterpret_cast<tg_cpu_kernel_fn>(start + h.entry_offset);
  return TG_OK;
}

} // namespace tegula::cpu
