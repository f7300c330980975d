// Initial values of parameters: normal draws by Box and Muller from Philox blocks, four elements a block.
// Source: Box & Muller 1958, "A note on the generation of random normal deviates".
#include "models/Parameters.h"

#include "base/Hash.h"
#include "base/Philox.h"
#include <algorithm>
#include <cmath>
#include <thread>

namespace tegula {
namespace {

/// Two independent standard normals from 2 × 24 random bits; the first uniform is in (0, 1], so the logarithm is
/// finite.
void boxMuller(uint32_t a, uint32_t b, float* out) {
  float u = static_cast<float>((a >> 8) + 1) * 0x1p-24f, angle = static_cast<float>(b >> 8) * (0x1p-24f * 6.28318531f);
  float radius = std::sqrt(-2.0f * std::log(u));
  out[0] = radius * std::cos(angle);
  out[1] = radius * std::sin(angle);
}

void fillNormal(float* data, int64_t begin, int64_t end, std::array<uint32_t, 2> key, float deviation) {
  for (int64_t i = begin; i < end; i += 4) {
    PhiloxBlock bits = philoxElement(key, 0, static_cast<uint64_t>(i / 4));
    float draws[4];
    boxMuller(bits[0], bits[1], draws);
    boxMuller(bits[2], bits[3], draws + 2);
    for (int64_t j = i; j < std::min(i + 4, end); ++j) data[j] = deviation * draws[j - i];
  }
}

/// Large parameters are filled by several threads; the values do not depend on how many.
void fillNormal(HostArray& array, std::array<uint32_t, 2> key, float deviation) {
  constexpr int64_t kElementsPerThread = 1 << 20; // some 20 ms of work: well above the cost of starting a thread
  int64_t n = array.elements();
  int64_t threads = std::clamp<int64_t>(n / kElementsPerThread, 1, std::max(1u, std::thread::hardware_concurrency()));
  int64_t chunk = (n / threads + 3) / 4 * 4;
  std::vector<std::thread> workers;
  for (int64_t begin = chunk; begin < n; begin += chunk)
    workers.emplace_back(
        [=, data = array.as<float>()] { fillNormal(data, begin, std::min(begin + chunk, n), key, deviation); });
  fillNormal(array.as<float>(), 0, std::min(chunk, n), key, deviation);
  for (std::thread& w : workers) w.join();
}

} // namespace

HostArray initialValues(const Parameter& p, uint64_t seed) {
  HostArray array = HostArray::zeros(DType::F32, p.shape);
  float* data = array.as<float>();
  switch (p.initialization.kind) {
  case Initialization::Kind::Zeros:
    break;
  case Initialization::Kind::Ones:
    std::fill(data, data + array.elements(), 1.0f);
    break;
  case Initialization::Kind::Normal: {
    uint64_t stream = hash64(p.name);
    fillNormal(array, philoxKey(seed, stream), static_cast<float>(p.initialization.standardDeviation));
  }
  }
  return array;
}

} // namespace tegula
