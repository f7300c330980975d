// Recorded lists on the cpu backend: order, segments, scratch, thread counts, refusals.
#include "TestImage.h"
#include "hal/Device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <thread>

namespace tegula {
namespace {

using ::testing::HasSubstr;

struct Rig {
  explicit Rig(int threads) {
    device = Device::open(Backend::load("cpu").value(), 0, {.threads = threads}).value();
    queue = device->createQueue().value();
    kernel = device->loadKernel("add", "cpu-image-1", test::addImage()).value();
  }
  Buffer buffer(int64_t elements) { return device->allocate(8 * elements).value(); }
  /// Appends out[i] = in[i] + addend over `items` items, one segment.
  Status add(CommandList& list, const Buffer& in, const Buffer& out, int64_t addend, int64_t items, double bytes = 1e9,
             std::vector<int32_t> waits = {}) {
    tg_binding bindings[] = {{in.handle(), 0}, {out.handle(), 0}};
    tg_segment segment{bindings, &addend, 2, 1, items};
    return append(list, {segment}, bytes, waits);
  }
  Status append(CommandList& list, std::vector<tg_segment> segments, double bytes, std::vector<int32_t> waits = {}) {
    tg_dispatch d{};
    d.size = sizeof(d);
    d.kernel = kernel.handle();
    d.segments = segments.data();
    d.segment_count = static_cast<int32_t>(segments.size());
    d.waits = waits.data();
    d.wait_count = static_cast<int32_t>(waits.size());
    d.scratch_bytes = 64;
    d.bytes = bytes;
    d.label = "add";
    return list.append(d);
  }
  std::shared_ptr<Device> device;
  Queue queue;
  Kernel kernel;
};

class Lists : public ::testing::TestWithParam<int> {
protected:
  void SetUp() override {
    if (!test::kCanRunTestImage) GTEST_SKIP() << "needs x86-64: the test image is machine code";
  }
};

TEST_P(Lists, chainsRunInOrderForAnyThreads) {
  Rig rig(GetParam());
  for (int64_t n : {1, 2, 3, 7, 31, 1000, 4099}) {
    Buffer a = rig.buffer(n), b = rig.buffer(n);
    CommandList list = rig.device->createList().value();
    for (int step = 0; step < 20; ++step)
      ASSERT_TRUE(rig.add(list, step % 2 ? b : a, step % 2 ? a : b, step, n, step % 3 ? 1e9 : 1).ok());
    ASSERT_TRUE(list.finish().ok());
    for (int repeat = 1; repeat <= 3; ++repeat) {
      ASSERT_TRUE(rig.queue.execute(list).ok());
      ASSERT_TRUE(rig.queue.wait().ok());
      for (int64_t i = 0; i < n; ++i) ASSERT_EQ(static_cast<int64_t*>(a.host())[i], 190 * repeat) << i << " of " << n;
    }
  }
}

TEST_P(Lists, segmentsHaveTheirOwnArguments) {
  Rig rig(GetParam());
  constexpr int kSegments = 61;
  Buffer in = rig.buffer(1 << 12), out = rig.buffer(1 << 12);
  std::vector<tg_binding> bindings;
  std::vector<int64_t> addends(kSegments);
  std::vector<tg_segment> segments;
  bindings.reserve(2 * kSegments);
  int64_t offset = 0;
  for (int s = 0; s < kSegments; ++s) {
    int64_t items = s % 5 == 3 ? 0 : 1 + s; // empty segments in between
    addends[s] = 1000 * s;
    bindings.push_back({in.handle(), 8 * offset});
    bindings.push_back({out.handle(), 8 * offset});
    segments.push_back({bindings.data() + 2 * s, &addends[s], 2, 1, items});
    offset += items;
  }
  CommandList list = rig.device->createList().value();
  ASSERT_TRUE(rig.append(list, segments, 1e9).ok());
  ASSERT_TRUE(list.finish().ok());
  ASSERT_TRUE(rig.queue.execute(list).ok());
  const auto* y = static_cast<int64_t*>(out.host());
  for (int s = 0; s < kSegments; ++s)
    for (int64_t i = 0; i < segments[s].items; ++i) ASSERT_EQ(*y++, addends[s]) << "segment " << s;
  EXPECT_EQ(*y, 0) << "an element past the last item was written";
}

INSTANTIATE_TEST_SUITE_P(Threads, Lists, ::testing::Values(1, 2, 3, 7));

TEST_F(Lists, listsOfSeveralThreadsTakeTurns) {
  Rig rig(3);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      Buffer a = rig.buffer(500);
      Queue queue = rig.device->createQueue().value();
      Event done = rig.device->createEvent().value();
      CommandList list = rig.device->createList().value();
      for (int i = 0; i < 5; ++i) (void)rig.add(list, a, a, 1, 500);
      (void)list.finish();
      for (int i = 0; i < 100; ++i) (void)queue.execute(list, {}, &done);
      if (!done.wait().ok()) ++wrong;
      for (int64_t i = 0; i < 500; ++i) wrong += static_cast<int64_t*>(a.host())[i] != 500;
    });
  for (auto& t : threads) t.join();
  EXPECT_EQ(wrong.load(), 0);
}

TEST_F(Lists, refusals) {
  Rig rig(2);
  Buffer a = rig.buffer(8);
  CommandList list = rig.device->createList().value();
  EXPECT_THAT(std::string(message(rig.add(list, a, a, 1, 8, 0, {0}))), HasSubstr("number 0 waits for number 0"));
  ASSERT_TRUE(rig.add(list, a, a, 1, 8).ok());
  EXPECT_TRUE(rig.add(list, a, a, 1, 8, 0, {0}).ok());
  int64_t addend = 0;
  tg_binding outside[] = {{a.handle(), 0}, {a.handle(), 65}};
  EXPECT_THAT(std::string(message(rig.append(list, {{outside, &addend, 2, 1, 1}}, 0))),
              HasSubstr("offset 65 of a buffer of 64 bytes"));
  EXPECT_THAT(std::string(message(rig.queue.execute(list))), HasSubstr("not finished"));
  ASSERT_TRUE(list.finish().ok());
  EXPECT_FALSE(list.finish().ok());
  EXPECT_FALSE(rig.add(list, a, a, 1, 8).ok());
  EXPECT_FALSE(a.write(60, &addend, 8).ok());
  EXPECT_FALSE(a.read(-1, &addend, 1).ok());
  EXPECT_THAT(std::string(message(rig.device->allocate(int64_t(1) << 60).status())), HasSubstr("no memory"));
  EXPECT_FALSE(Device::open(Backend::load("cpu").value(), 1, {}).ok());
  EXPECT_FALSE(Device::open(Backend::load("cpu").value(), 0, {.threads = -2}).ok());
}

/// Pages that the machine does not have are refused before they are touched: touching them would end the process.
TEST_F(Lists, moreMemoryThanThereIsIsRefused) {
  Rig rig(1);
  int64_t total = rig.device->info().memoryBytes;
  EXPECT_EQ(rig.device->allocate(total + (int64_t(1) << 30)).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(Lists, buffersAreZeroAndAligned) {
  Rig rig(1);
  for (int64_t bytes : {0, 1, 63, 4096, 3 << 20}) {
    Buffer b = rig.device->allocate(bytes).value();
    EXPECT_EQ(reinterpret_cast<uintptr_t>(b.host()) % 64, 0u);
    for (int64_t i = 0; i < bytes; i += 61) ASSERT_EQ(static_cast<uint8_t*>(b.host())[i], 0);
  }
}

} // namespace
} // namespace tegula
