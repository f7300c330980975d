// Measured peak rates of one core, the one owner of such numbers: `tegula devices`, model FLOP utilisation, the
// benchmarks and the compiler's choice of dot instruction read the same values. Measured once per machine, with the
// compiler's peak kernels through the device interface, and kept in the cache folder.
//
// TEGULA_RATES="f32=2.2e11,bf16=1.1e11" (FLOP/s of one core) replaces measuring, for tests and reproducible plans.
#pragma once

#include "compiler/Compiler.h"
#include "hal/Backend.h"

namespace tegula {

struct Rates {
  double f32FlopsPerSecond = 0;  // one core
  double bf16FlopsPerSecond = 0; // of the bf16 dot instruction; 0 if there is none
};

/// TEGULA_RATES, else the cached measurement of this machine and target, else measures (tens of milliseconds) and
/// caches. Fails: a malformed TEGULA_RATES; no peak kernel for the target; a device error.
StatusOr<Rates> calibrate(std::shared_ptr<const Backend>, const Compiler&, const std::string& cacheFolder);

/// Reads "f32=2.2e11,bf16=1.1e11"; bf16 may be left out.
StatusOr<Rates> parseRates(std::string_view text);

} // namespace tegula
