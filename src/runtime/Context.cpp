// Device memory of a session, counted.
#include "runtime/Context.h"

#include <algorithm>

namespace tegula {

std::string sizeText(int64_t bytes) {
  static constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  int unit = 0;
  double x = static_cast<double>(bytes);
  while (x >= 1024 && unit < 4) x /= 1024, ++unit;
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.2f} {}", x, units[unit]);
}

StatusOr<Buffer> Context::allocate(int64_t bytes, std::string_view what) {
  if (limitBytes > 0 && bytes > limitBytes - usedBytes)
    return absl::ResourceExhaustedError(
        fmt::format("memory: {} needs {}, {} of {} are in use: use a smaller batch, sequence or model", what,
                    sizeText(bytes), sizeText(usedBytes), sizeText(limitBytes)));
  auto buffer = device->allocate(bytes);
  if (!buffer.ok()) return addContext(buffer.status(), what);
  usedBytes += bytes;
  peakBytes = std::max(peakBytes, usedBytes);
  return buffer;
}

void Context::release(Buffer& buffer) {
  usedBytes -= buffer.sizeBytes();
  buffer = Buffer();
}

Status Context::reserveArena(int64_t bytes) {
  if (bytes <= arena.sizeBytes() && arena) return OkStatus();
  int64_t old = arena.sizeBytes();
  release(arena); // first, so that both need not fit
  ++arenaVersion;
  auto larger = allocate(bytes, "the plan's arena of temporaries");
  if (larger.ok()) {
    arena = std::move(*larger);
    return OkStatus();
  }
  // Plans that were running still do: give them back what they had.
  if (auto previous = allocate(old, "the arena"); previous.ok()) arena = std::move(*previous);
  return larger.status();
}

} // namespace tegula
