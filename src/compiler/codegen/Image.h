// Making a code image (format `cpu-image-1`, bytes specified in tegula/cpu_image.h) from one relocatable ELF object,
// and reading it back.
//
//   object (.text, .rodata*, relocations) --linkImage--> | header | code | constants |, nothing left to resolve
//
// The object may refer only to itself: an undefined symbol (a call to memcpy, expf …), writable data, or a relocation
// that would need the address at which the image is mapped is refused by name. Threads: all functions are pure.
#pragma once

#include "base/Status.h"
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tegula {

struct Target;

/// A position-independent code image, ready to be mapped.
struct CodeImage {
  std::vector<uint8_t> bytes;
};

/// TG_CPU_* bits that code for this target needs.
uint64_t instructionSets(const Target&);

/// Lays out and resolves an x86-64 ELF object. `entry` names the kernel function.
/// Fails: (Internal) with the symbol's or relocation's name.
StatusOr<CodeImage> linkImage(std::span<const uint8_t> object, std::string_view entry, uint64_t instructionSets);

/// The whole code of an image as assembly text: labels for branch targets, addresses of constants as `constants+0x40`.
StatusOr<std::string> disassemble(const CodeImage&, const Target&);

/// How many instructions have the EVEX encoding (AVX-512 and later): none may be in an image for x86-64-v3.
StatusOr<int64_t> countEvexInstructions(const CodeImage&, const Target&);

} // namespace tegula
