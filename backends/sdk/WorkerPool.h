// Worker threads for a backend that runs on host cores. Header-only.
//
//   WorkerPool pool(threads);                     // threads - 1 workers; the caller of run() is worker 0
//   pool.run({items, chunks, width, work, ctx});  // work(ctx, begin, end, worker) over [0, items); returns when done
//
// How a run works. The items are cut into chunks; chunks are dealt to `width` lanes, each a contiguous piece of the
// items. A worker takes chunks of its own lane first (so that a chain of dispatches finds its data in the same core's
// cache) and then helps the others. A lane is one 64-bit word, epoch | chunks left, and a chunk is taken by
// compare-and-swap: a worker that is late sees another epoch or nothing left and never touches a finished run. The
// caller waits for chunks, not for workers, so a sleeping or descheduled worker that took nothing delays nobody.
//
// Idle workers spin for `spinNs` (the gap between two dispatches of a list is shorter) and then sleep in the kernel.
//
// Threads: run() may be called from several threads; runs take turns. run() from inside `work` executes inline.
// Worker numbers are unique within a run; runs of width 1 execute on their caller as worker 0 without taking a turn.
// Memory: run() allocates nothing.
#ifndef TEGULA_SDK_WORKERPOOL_H
#define TEGULA_SDK_WORKERPOOL_H

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#endif

namespace tegula::sdk {

inline void cpuRelax() {
#if defined(__x86_64__) || defined(__i386__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

class WorkerPool {
public:
  using Work = void (*)(void* context, int64_t begin, int64_t end, int worker);

  struct Run {
    int64_t items = 0;
    int64_t chunks = 1; // at most `items`; more chunks balance better, fewer cost less
    int width = 1;      // workers worth waking; 1 runs on the calling thread
    Work work = nullptr;
    void* context = nullptr;
  };

  /// Throws std::system_error where the system has no more threads to give.
  explicit WorkerPool(int threads, int64_t spinNs = 20'000) : threads_(std::max(1, threads)), spinNs_(spinNs) {
    lanes_ = std::make_unique<Lane[]>(threads_);
    workers_.reserve(threads_ - 1);
    try {
      for (int w = 1; w < threads_; ++w) workers_.emplace_back([this, w] { workerLoop(w); });
    } catch (...) {
      stop(); // those that did start
      throw;
    }
  }
  ~WorkerPool() { stop(); }
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  int threads() const { return threads_; }

  void run(const Run& r) {
    if (r.items <= 0) return;
    int width = static_cast<int>(std::min<int64_t>({r.width, threads_, r.items}));
    bool nested = current().pool == this;
    if (width <= 1 || nested) {
      r.work(r.context, 0, r.items, nested ? current().worker : 0);
      return;
    }
    std::lock_guard<std::mutex> turn(turn_);
    publish(r, width);
    takeChunks(0);
    waitForChunks();
  }

private:
  void stop() {
    stop_.store(true, std::memory_order_relaxed);
    epoch_.fetch_add(1, std::memory_order_seq_cst);
    epoch_.notify_all();
    for (std::thread& t : workers_) t.join();
  }

  static constexpr size_t kCacheLine = 64;
  struct alignas(kCacheLine) Lane {
    std::atomic<uint64_t> word{0}; // epoch << 32 | chunks left
  };
  struct Job { // written only while no chunk can be taken
    int64_t items = 0, chunks = 0;
    int width = 0;
    Work work = nullptr;
    void* context = nullptr;
  };

  /// Which worker of which pool this thread is at the moment, while it runs `work`.
  struct Current {
    const WorkerPool* pool = nullptr;
    int worker = 0;
  };
  static Current& current() {
    thread_local Current c;
    return c;
  }

  /// Chunk ranges of lane l: [l * chunks / width, (l + 1) * chunks / width).
  int64_t laneBegin(int lane) const { return job_.chunks * lane / job_.width; }

  void publish(const Run& r, int width) {
    int64_t chunks = std::clamp<int64_t>(r.chunks, width, std::min<int64_t>(r.items, INT32_MAX));
    job_ = {r.items, chunks, width, r.work, r.context};
    pending_.store(static_cast<int32_t>(chunks), std::memory_order_relaxed);
    uint32_t epoch = epoch_.load(std::memory_order_relaxed) + 1;
    for (int l = 0; l < width; ++l) {
      uint64_t left = static_cast<uint64_t>(laneBegin(l + 1) - laneBegin(l));
      lanes_[l].word.store(uint64_t(epoch) << 32 | left, std::memory_order_release);
    }
    width_.store(width, std::memory_order_relaxed);
    // Sequentially consistent with a sleeper's announcement: either it sees the new epoch or we see it asleep.
    epoch_.store(epoch, std::memory_order_seq_cst);
    int wake = std::min(width - 1, sleepers_.load(std::memory_order_seq_cst));
    for (int i = 0; i < wake; ++i) epoch_.notify_one();
  }

  /// Takes chunks of one lane until it is empty.
  void drainLane(int lane, int worker) {
    std::atomic<uint64_t>& word = lanes_[lane].word;
    uint64_t seen = word.load(std::memory_order_acquire);
    while (static_cast<uint32_t>(seen) != 0) {
      if (!word.compare_exchange_weak(seen, seen - 1, std::memory_order_acq_rel, std::memory_order_acquire)) continue;
      // The chunk is ours, so the job stays as it is until we report it.
      int64_t chunk = laneBegin(lane + 1) - static_cast<uint32_t>(seen);
      int64_t begin = scale(chunk), end = scale(chunk + 1);
      job_.work(job_.context, begin, end, worker);
      if (pending_.fetch_sub(1, std::memory_order_acq_rel) == 1) pending_.notify_one();
      seen = word.load(std::memory_order_acquire);
    }
  }
  int64_t scale(int64_t chunk) const {
    return static_cast<int64_t>(static_cast<__int128>(job_.items) * chunk / job_.chunks);
  }

  void takeChunks(int worker) {
    Current outer = std::exchange(current(), Current{this, worker});
    int width = width_.load(std::memory_order_relaxed);
    for (int i = 0; i < width; ++i) drainLane((worker + i) % width, worker);
    current() = outer;
  }

  void waitForChunks() {
    auto deadline = std::chrono::steady_clock::now() + std::chrono::nanoseconds(spinNs_);
    for (;;) {
      int32_t left = pending_.load(std::memory_order_acquire);
      if (left == 0) return;
      for (int i = 0; i < 32; ++i) cpuRelax();
      if (std::chrono::steady_clock::now() < deadline) continue;
      pending_.wait(left, std::memory_order_acquire);
    }
  }

  void workerLoop(int worker) {
    uint32_t seen = 0;
    for (;;) {
      seen = awaitEpoch(seen);
      if (stop_.load(std::memory_order_relaxed)) return;
      takeChunks(worker);
    }
  }

  /// Returns the first epoch that differs from `seen`: spins for a while, then sleeps.
  uint32_t awaitEpoch(uint32_t seen) {
    auto deadline = std::chrono::steady_clock::now() + std::chrono::nanoseconds(spinNs_);
    do {
      for (int i = 0; i < 32; ++i) {
        uint32_t now = epoch_.load(std::memory_order_acquire);
        if (now != seen) return now;
        cpuRelax();
      }
    } while (std::chrono::steady_clock::now() < deadline);
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    epoch_.wait(seen, std::memory_order_seq_cst);
    sleepers_.fetch_sub(1, std::memory_order_seq_cst);
    return epoch_.load(std::memory_order_acquire);
  }

  const int threads_;
  const int64_t spinNs_;
  std::mutex turn_;
  Job job_;
  std::unique_ptr<Lane[]> lanes_;
  alignas(kCacheLine) std::atomic<uint32_t> epoch_{0};
  std::atomic<int> width_{0};
  std::atomic<bool> stop_{false};
  alignas(kCacheLine) std::atomic<int> sleepers_{0};
  alignas(kCacheLine) std::atomic<int32_t> pending_{0};
  std::vector<std::thread> workers_;
};

} // namespace tegula::sdk

#endif
