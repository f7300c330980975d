// libFuzzer target: any bytes through lexer, parser, formatter and the whole checker. Build with -DTEGULA_FUZZ=ON
// (and TEGULA_SANITIZE=address,undefined); see tests/fuzz/FuzzInput.h for what must hold.
//
//   TEGULA_PRESET=fuzz ./dev build fuzz_parser && mkdir -p build/corpus
//   build/fuzz/tests/fuzz/fuzz_parser -max_total_time=60 build/corpus ops tests/errors   (new inputs go to the first)
#include "../FuzzInput.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tegula::checkAnyInput(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
