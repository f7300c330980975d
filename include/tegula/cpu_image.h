/* The code image of CPU kernels (code format `cpu-image-1`): what the compiler makes, the disk cache holds and a CPU
 * backend maps. All relocations are resolved; loading is map, copy, protect.
 *
 *   | tg_cpu_image_header | padding | code (page aligned, read+execute) | constants (page aligned, read only) |
 *
 * The distance from code to constants is part of the code: both are mapped as one range, `image_bytes` long, with the
 * header's offsets kept. Integers are little-endian. Nothing outside the image is referred to. */
#ifndef TEGULA_CPU_IMAGE_H
#define TEGULA_CPU_IMAGE_H

#include <stdint.h>

#define TG_CPU_IMAGE_MAGIC 0x31474d4955504354ull /* "TCPUIMG1" */
#define TG_CPU_IMAGE_VERSION 1u
#define TG_CPU_IMAGE_PAGE 4096u

/* Instruction-set bits an image needs; a loader refuses an image with a bit that the processor lacks. */
enum {
  TG_CPU_X86_64_V3 = 1u << 0, /* AVX2, FMA, BMI, F16C */
  TG_CPU_X86_64_V4 = 1u << 1, /* AVX-512 F BW CD DQ VL */
  TG_CPU_AVX512_BF16 = 1u << 2,
  TG_CPU_AMX_BF16 = 1u << 3,
};

typedef struct tg_cpu_image_header {
  uint64_t magic;
  uint32_t version;
  uint32_t header_bytes; /* sizeof(tg_cpu_image_header) of the writer: readers may know fewer or more fields */
  uint64_t image_bytes;  /* whole image, a multiple of the page */
  uint64_t isa;          /* TG_CPU_* bits */
  uint64_t code_offset;  /* from the start of the image; page aligned */
  uint64_t code_bytes;
  uint64_t constants_offset; /* page aligned; constants_bytes may be 0 */
  uint64_t constants_bytes;
  uint64_t entry_offset; /* of the kernel function, from the start of the image */
  uint64_t checksum;     /* XXH3-64 of everything after the header */
} tg_cpu_image_header;

/* The kernel function at entry_offset, C calling convention of the platform:
 * work items [begin, end) of one dispatch segment. bindings: operand addresses; scalars: extents, strides …;
 * scratch: private to this call, 64-byte aligned, as large as the dispatch said. May run concurrently with other
 * ranges of the same dispatch, in any order. Calls nothing. */
typedef void (*tg_cpu_kernel_fn)(void* const* bindings, const int64_t* scalars, int64_t begin, int64_t end,
                                 void* scratch);

#endif
