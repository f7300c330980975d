// A steady training step, recording included, makes no heap allocation and faults no page.
#include "../runtime/AllocationCount.h"
#include "runtime/Session.h"
#include "train/TrainStep.h"
#include <algorithm>
#include <filesystem>
#include <gtest/gtest.h>
#include <unistd.h>

namespace tegula {
namespace {

int64_t median(std::vector<int64_t> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

TEST(SteadyTraining, AllocatesNothingAndFaultsNoPage) {
  if (test::heapAllocations() < 0) GTEST_SKIP() << "needs a build without sanitizers: they replace malloc";
  std::string cache = (std::filesystem::temp_directory_path() / ("tegula-steady-" + std::to_string(getpid()))).string();
  SessionOptions options;
  options.cacheFolder = cache;
  options.threads = 2;
  auto session = Session::create(options);
  ASSERT_TRUE(session.ok()) << session.status();
  Gpt model({.vocabulary = 65, .layers = 2, .heads = 2, .width = 32, .block = 16});
  ASSERT_TRUE(model.parameters().create(**session, 7).ok());
  auto step = TrainStep::create(**session, model.parameters(), meanLossOf(model), {});
  ASSERT_TRUE(step.ok()) << step.status();
  HostArray tokens = HostArray::zeros(DType::I32, {4, 16}), labels = HostArray::zeros(DType::I32, {4, 16});
  for (int64_t i = 0; i < tokens.elements(); ++i) {
    tokens.setInt(i, i * 7 % 65);
    labels.setInt(i, (i * 7 + 3) % 65);
  }
  std::vector<int64_t> allocations, faults;
  for (int i = 0; i < 100; ++i) {
    int64_t a = test::heapAllocations(), f = test::pageFaults();
    auto r = step->run(tokens, labels, 1e-3);
    int64_t a1 = test::heapAllocations(), f1 = test::pageFaults();
    ASSERT_TRUE(r.ok()) << r.status();
    if (i < 10) continue;
    allocations.push_back(a1 - a);
    faults.push_back(f1 - f);
  }
  EXPECT_EQ(median(allocations), 0);
  EXPECT_EQ(median(faults), 0);
  std::filesystem::remove_all(cache);
}

} // namespace
} // namespace tegula
