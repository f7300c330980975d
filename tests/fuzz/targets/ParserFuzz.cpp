// libFuzzer target: any bytes through lexer, parser, formatter and the whole checker. Build with -DTEGULA_FUZZ=ON
// (and TEGULA_SANITIZE=address,undefined); see tests/fuzz/FuzzInput.h for what must hold.
#include "../FuzzInput.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tegula::checkAnyInput(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
