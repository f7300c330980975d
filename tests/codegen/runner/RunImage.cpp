// run_image IMAGE INPUT OUTPUT BYTES ITEMS: maps a code image from a file and calls it, with the input file's content
// as binding 0, BYTES zero bytes as binding 1 (written to OUTPUT) and ITEMS as scalar 0; work items 0 to ITEMS. Static,
// for qemu-x86_64.
#include "../kernels/MappedImage.h"

#include <cstdio>
#include <cstdlib>
#include <vector>

static std::vector<uint8_t> readFile(const char* path) {
  std::vector<uint8_t> bytes;
  FILE* f = std::fopen(path, "rb");
  if (!f) return bytes;
  uint8_t block[4096];
  while (size_t n = std::fread(block, 1, sizeof block, f)) bytes.insert(bytes.end(), block, block + n);
  std::fclose(f);
  return bytes;
}

int main(int argc, char** argv) {
  if (argc != 6) return 2;
  const std::vector<uint8_t> image = readFile(argv[1]);
  std::vector<uint8_t> input = readFile(argv[2]);
  std::vector<uint8_t> output(std::strtoull(argv[4], nullptr, 10));
  const int64_t items = std::strtoll(argv[5], nullptr, 10);
  tegula::MappedImage mapped(image);
  if (!mapped.kernel()) return 3;
  void* bindings[] = {input.data(), output.data()};
  const int64_t scalars[] = {items};
  mapped.kernel()(bindings, scalars, 0, items, nullptr);
  FILE* f = std::fopen(argv[3], "wb");
  if (!f || std::fwrite(output.data(), 1, output.size(), f) != output.size()) return 4;
  return std::fclose(f) == 0 ? 0 : 4;
}
