// A hand-made code image for tests of loaders and lists: out[i] = in[i] + scalars[0] on 64-bit integers, one element a
// work item, through the worker's scratch. Machine code of x86-64 without vector registers, so it needs no
// instruction-set bit.
//
//   mov rax,[rdi]; mov rdi,[rdi+8]
//   loop: r9 = [rsi] + [rax+8*rdx]; [r8] = r9; r9 = [r8]; [rdi+8*rdx] = r9; inc rdx; cmp rcx,rdx; jne loop
#pragma once

#include "base/Hash.h"
#include "tegula/cpu_image.h"
#include <cstring>
#include <vector>

namespace tegula::test {

#if defined(__x86_64__)
constexpr bool kCanRunTestImage = true;
#else
constexpr bool kCanRunTestImage = false;
#endif

inline std::vector<uint8_t> sealed(tg_cpu_image_header header, std::vector<uint8_t> bytes) {
  header.checksum = hash64({bytes.data() + sizeof(header), bytes.size() - sizeof(header)});
  std::memcpy(bytes.data(), &header, sizeof(header));
  return bytes;
}

inline std::vector<uint8_t> addImage(uint64_t isa = 0) {
  static constexpr uint8_t code[] = {0x48, 0x39, 0xca, 0x7d, 0x24, 0x48, 0x8b, 0x07, 0x48, 0x8b, 0x7f,
                                     0x08, 0x0f, 0x1f, 0x40, 0x00, 0x4c, 0x8b, 0x0e, 0x4c, 0x03, 0x0c,
                                     0xd0, 0x4d, 0x89, 0x08, 0x4d, 0x8b, 0x08, 0x4c, 0x89, 0x0c, 0xd7,
                                     0x48, 0xff, 0xc2, 0x48, 0x39, 0xd1, 0x75, 0xe7, 0xc3};
  tg_cpu_image_header h{};
  h.magic = TG_CPU_IMAGE_MAGIC;
  h.version = TG_CPU_IMAGE_VERSION;
  h.header_bytes = sizeof(h);
  h.image_bytes = 2 * TG_CPU_IMAGE_PAGE;
  h.isa = isa;
  h.code_offset = TG_CPU_IMAGE_PAGE;
  h.code_bytes = sizeof(code);
  h.constants_offset = 2 * TG_CPU_IMAGE_PAGE;
  h.entry_offset = h.code_offset;
  std::vector<uint8_t> bytes(h.image_bytes);
  std::memcpy(bytes.data() + h.code_offset, code, sizeof(code));
  return sealed(h, std::move(bytes));
}

} // namespace tegula::test
