// A recorded list of dispatches with every address resolved: executing it touches no allocator.
#pragma once

#include "Image.h"
#include "Memory.h"
#include "sdk/WorkerPool.h"
#include "tegula/backend.h"

#include <string>
#include <vector>

struct tg_buffer {
  tg_device* device = nullptr;
  tegula::cpu::Memory memory;
};

struct tg_kernel {
  tg_device* device = nullptr;
  std::string name;
  tegula::cpu::Image image;
};

namespace tegula::cpu {

class CommandList {
public:
  explicit CommandList(sdk::WorkerPool& pool) : pool_(pool) {}

  /// Copies the dispatch. Fails as list_append in backend.h.
  tg_result append(const tg_dispatch&, tg_error*);
  /// Resolves pointers into the list's own tables and allocates scratch for every worker.
  tg_result finish(tg_error*);
  bool finished() const { return finished_; }
  /// Dispatches in order, each complete before the next begins (which satisfies every wait). Threads: one caller at a
  /// time.
  void execute();

private:
  struct Segment {
    size_t bindings, scalars; // positions in bindings_, scalars_
    int64_t firstItem, items; // within the dispatch
  };
  struct Dispatch {
    tg_cpu_kernel_fn entry;
    size_t firstSegment, segmentCount;
    int64_t items, chunks;
    int width;
    int64_t scratchBytes;
    std::string label;
  };
  struct Context {
    CommandList* list;
    const Dispatch* dispatch;
  };

  tg_result checkBindings(const tg_dispatch&, const tg_segment&, tg_error*) const;
  /// How many workers are worth waking and into how many pieces to cut, from the estimates.
  void sizeToWork(Dispatch&, double flops, double bytes) const;
  static void runRange(void* context, int64_t begin, int64_t end, int worker);

  sdk::WorkerPool& pool_;
  std::vector<Dispatch> dispatches_;
  std::vector<Segment> segments_;
  std::vector<void*> bindings_;
  std::vector<int64_t> scalars_;
  Memory scratch_;
  int64_t scratchStride_ = 0;
  bool finished_ = false;
};

} // namespace tegula::cpu
