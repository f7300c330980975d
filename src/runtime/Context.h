// The device side of a session: what its plans share. States live here, outside plans; so does the one arena, which is
// as large as the largest plan needs and whose growth makes older plans record their lists again.
#pragma once

#include "hal/Device.h"
#include "runtime/KernelCache.h"
#include "tensor/Shape.h"
#include <deque>

namespace tegula {

struct State {
  std::string name;
  TensorType type;
  Buffer buffer;
};

struct Context {
  DeviceRef device;
  Queue queue;
  std::unique_ptr<KernelCache> kernels; // null without a compiler for the device
  std::deque<State> states;             // by number
  Buffer arena;
  uint64_t arenaVersion = 0; // changes when `arena` moves
  bool checkArena = false;   // poison before and inspect after every run
  int64_t limitBytes = 0;    // of all buffers; 0: none known
  int64_t usedBytes = 0, peakBytes = 0, stateBytes = 0;
  int64_t arenaUsedBytes = 0; // highest byte that a checked run wrote, and one

  /// A buffer that counts against the limit. Fails in words before the device is asked for more than it has.
  StatusOr<Buffer> allocate(int64_t bytes, std::string_view what);
  void release(Buffer& buffer);
  /// Makes the arena at least this large; its contents are lost when it grows.
  Status reserveArena(int64_t bytes);
};

/// "1.25 GiB", "640 B".
std::string sizeText(int64_t bytes);

} // namespace tegula
