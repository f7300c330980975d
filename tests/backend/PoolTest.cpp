// The worker pool: every item exactly once, whatever the numbers; turns between callers; no lost wake-up under stress.
#include "sdk/WorkerPool.h"

#include <ctime>
#include <gtest/gtest.h>
#include <random>
#include <sys/resource.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

namespace tegula::sdk {
namespace {

struct Counts {
  explicit Counts(int64_t items) : seen(items) {}
  std::vector<std::atomic<int>> seen;
  std::atomic<int> worstWorker{-1};
  static void work(void* context, int64_t begin, int64_t end, int worker) {
    auto& c = *static_cast<Counts*>(context);
    for (int64_t i = begin; i < end; ++i) c.seen[i].fetch_add(1, std::memory_order_relaxed);
    int worst = c.worstWorker.load();
    while (worker > worst && !c.worstWorker.compare_exchange_weak(worst, worker)) {
    }
  }
};

TEST(WorkerPool, everyItemOnceForOddCounts) {
  for (int threads : {1, 2, 3, 7}) {
    WorkerPool pool(threads);
    for (int64_t items : {0, 1, 2, 3, 5, 7, 8, 13, 64, 127, 1009})
      for (int64_t chunks : {1, 2, 7, 16, 5000}) {
        Counts counts(items);
        pool.run({items, chunks, threads, &Counts::work, &counts});
        for (int64_t i = 0; i < items; ++i)
          ASSERT_EQ(counts.seen[i].load(), 1)
              << "item " << i << " of " << items << ", " << chunks << " chunks, " << threads << " threads";
        ASSERT_LT(counts.worstWorker.load(), threads);
      }
  }
}

/// Items that wait for each other: done only if as many threads work at once.
struct Meeting {
  int expected;
  std::atomic<int> arrived{0};
  static void work(void* context, int64_t begin, int64_t end, int) {
    auto& m = *static_cast<Meeting*>(context);
    m.arrived += static_cast<int>(end - begin);
    auto late = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (m.arrived < m.expected && std::chrono::steady_clock::now() < late) std::this_thread::yield();
    if (m.arrived < m.expected) m.missed = true;
  }
  std::atomic<bool> missed{false};
};

/// Workers that spin and workers that have gone to sleep both come: all of them, each for the one chunk of its lane.
TEST(WorkerPool, everyWorkerComes) {
  for (int threads : {2, 3, 5})
    for (auto pause : {std::chrono::milliseconds(0), std::chrono::milliseconds(30)}) {
      WorkerPool pool(threads);
      for (int round = 0; round < 5; ++round) {
        std::this_thread::sleep_for(pause);
        Meeting meeting{threads};
        pool.run({threads, threads, threads, &Meeting::work, &meeting});
        ASSERT_FALSE(meeting.missed) << threads << " threads after " << pause.count() << " ms";
      }
    }
}

TEST(WorkerPool, threadsThatTheSystemRefusesAreAnException) {
#if defined(__SANITIZE_ADDRESS__) || (defined(__has_feature) && __has_feature(address_sanitizer))
  GTEST_SKIP() << "needs a build without sanitizers: they end the process where there is no memory for a thread";
#endif
  pid_t child = fork();
  if (child == 0) { // room for a few stacks, not for all
    rlimit limit{size_t(256) << 20, size_t(256) << 20};
    if (setrlimit(RLIMIT_AS, &limit) != 0) _exit(2);
    try {
      WorkerPool pool(1000);
    } catch (const std::system_error&) {
      _exit(0);
    }
    _exit(1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "ended by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(WorkerPool, widthOneStaysOnTheCaller) {
  WorkerPool pool(4);
  std::thread::id caller = std::this_thread::get_id(), ran{};
  pool.run({100, 10, 1,
            [](void* c, int64_t, int64_t, int) { *static_cast<std::thread::id*>(c) = std::this_thread::get_id(); },
            &ran});
  EXPECT_EQ(ran, caller);
}

struct Nested {
  WorkerPool* pool;
  std::atomic<int64_t> inner{0};
  std::atomic<bool> workerKept{true};
};

TEST(WorkerPool, nestedRunsExecuteInline) {
  WorkerPool pool(3);
  Nested nested{&pool};
  pool.run({9, 9, 3,
            [](void* c, int64_t begin, int64_t end, int worker) {
              auto& n = *static_cast<Nested*>(c);
              struct Inner {
                Nested* nested;
                int worker;
              } inner{&n, worker};
              for (int64_t i = begin; i < end; ++i)
                n.pool->run({11, 4, 3,
                             [](void* c, int64_t b, int64_t e, int w) {
                               auto& in = *static_cast<Inner*>(c);
                               in.nested->inner += e - b;
                               if (w != in.worker) in.nested->workerKept = false;
                             },
                             &inner});
            },
            &nested});
  EXPECT_EQ(nested.inner.load(), 99);
  EXPECT_TRUE(nested.workerKept.load()) << "an inner run must keep its worker number, which names its scratch";
}

TEST(WorkerPool, callersTakeTurns) {
  WorkerPool pool(3);
  std::vector<std::thread> callers;
  std::atomic<int64_t> total{0};
  for (int c = 0; c < 4; ++c)
    callers.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        Counts counts(17);
        pool.run({17, 17, 3, &Counts::work, &counts});
        for (auto& s : counts.seen) total += s.load();
      }
    });
  for (auto& t : callers) t.join();
  EXPECT_EQ(total.load(), 4 * 500 * 17);
}

/// Random gaps around the spinning time make workers fall asleep just as work arrives.
TEST(WorkerPool, noLostWakeUpUnderStress) {
  for (int64_t spinNs : {int64_t(0), int64_t(2'000), int64_t(20'000)}) {
    WorkerPool pool(3, spinNs);
    unsigned seed = 20240917;
    std::mt19937 random(seed);
    auto stop = std::chrono::steady_clock::now() + std::chrono::milliseconds(500);
    int64_t runs = 0;
    while (std::chrono::steady_clock::now() < stop) {
      Counts counts(1 + random() % 9);
      pool.run({static_cast<int64_t>(counts.seen.size()), 8, 3, &Counts::work, &counts});
      for (auto& s : counts.seen) ASSERT_EQ(s.load(), 1) << "run " << runs << ", seed " << seed;
      if (random() % 4 == 0) {
        auto until = std::chrono::steady_clock::now() + std::chrono::nanoseconds(random() % 30'000);
        while (std::chrono::steady_clock::now() < until) cpuRelax();
      }
      ++runs;
    }
    EXPECT_GT(runs, 100);
  }
}

/// Idle workers sleep: the process uses next to no processor time while nothing runs.
TEST(WorkerPool, idleWorkersSleep) {
  WorkerPool pool(4);
  Counts counts(64);
  pool.run({64, 64, 4, &Counts::work, &counts});
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  std::clock_t before = std::clock();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  double busy = static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
  EXPECT_LT(busy, 0.03) << "seconds of processor time in 0.3 s of idling with 3 workers";
}

} // namespace
} // namespace tegula::sdk
