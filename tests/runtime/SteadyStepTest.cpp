// The promise about steady steps, on compiled kernels: a recorded training step that is evaluated again and again makes
// no heap allocation, faults no page, compiles nothing, and gives the same bits for any number of threads.
#include "AllocationCount.h"
#include "TestCompiler.h"
#include "runtime/Session.h"

#include <algorithm>
#include <gtest/gtest.h>

namespace tegula {
namespace {

constexpr int64_t kRows = 96, kIn = 130, kOut = 257; // odd on purpose

HostArray pattern(Shape shape, int salt) {
  HostArray a(TensorType{DType::F32, shape});
  for (int64_t i = 0; i < a.elements(); ++i)
    a.as<float>()[i] = static_cast<float>((i * 37 + salt) % 101) / 101.0f - 0.5f;
  return a;
}

/// A layer, a loss, one step of gradient descent.
class Regression {
public:
  Regression(const std::string& cache, int threads, bool checkArena = false) {
    SessionOptions options;
    options.cacheFolder = cache;
    options.threads = threads;
    options.checkArena = checkArena;
    auto made = Session::create(options);
    EXPECT_TRUE(made.ok()) << made.status();
    session = std::move(*made);
    weight = session->addState("weight", pattern({kIn, kOut}, 1));
    bias = session->addState("bias", pattern({kOut}, 2));
  }
  Tensor record(const HostArray& x, double rate) {
    static const Symbol sum("sum"), tanh("tanh");
    wrt = {session->read(weight), session->read(bias)};
    Tensor y = call(tanh, {matmul(session->input(x), wrt[0]) + wrt[1]});
    Tensor loss = call(sum, {y * y}) * (1.0 / (kRows * kOut));
    gradients = grad(loss, wrt);
    Tensor step = session->scalar(rate);
    session->assign(weight, wrt[0] - gradients[0] * step);
    session->assign(bias, wrt[1] - gradients[1] * step);
    return loss;
  }
  std::unique_ptr<Session> session;
  int32_t weight = 0, bias = 0;
  std::vector<Tensor> wrt, gradients;
};

class SteadyStep : public ::testing::Test {
protected:
  test::TemporaryFolder folder;
};

TEST_F(SteadyStep, allocatesNothingAndFaultsNoPage) {
  if (test::heapAllocations() < 0) GTEST_SKIP() << "needs a build without sanitizers: they replace malloc";
  Regression r(folder.path(), 2);
  HostArray x = pattern({kRows, kIn}, 3);
  std::vector<int64_t> allocations, faults;
  int64_t plans = 0, compiled = 0;
  for (int step = 0; step < 100; ++step) {
    Tensor loss = r.record(x, 0.01 * step);
    int64_t a = test::heapAllocations(), f = test::pageFaults();
    Status s = r.session->evaluate({&loss, 1});
    ASSERT_TRUE(s.ok()) << s;
    double value = r.session->scalarValue(loss).value();
    ASSERT_TRUE(value > 0 && value < 1) << value;
    if (step < 10) {
      plans = r.session->stats().plansMade, compiled = r.session->stats().kernelsCompiled;
      continue;
    }
    allocations.push_back(test::heapAllocations() - a);
    faults.push_back(test::pageFaults() - f);
  }
  std::sort(allocations.begin(), allocations.end());
  std::sort(faults.begin(), faults.end());
  EXPECT_EQ(allocations[allocations.size() / 2], 0);
  EXPECT_EQ(faults[faults.size() / 2], 0);
  EXPECT_EQ(r.session->stats().plansMade, plans);
  EXPECT_EQ(r.session->stats().kernelsCompiled, compiled);
  EXPECT_EQ(r.session->stats().kernelsReference, 0);
}

TEST_F(SteadyStep, givesTheSameBitsForAnyThreads) {
  std::vector<std::vector<uint8_t>> results;
  for (int threads : {1, 2, 3, 7}) {
    Regression r(folder.path(), threads);
    HostArray x = pattern({kRows, kIn}, 3);
    std::vector<uint8_t> bytes;
    for (int step = 0; step < 10; ++step) {
      Tensor loss = r.record(x, 0.5);
      Status s = r.session->evaluate({&loss, 1});
      ASSERT_TRUE(s.ok()) << s;
      HostArray value = r.session->value(loss).value();
      bytes.insert(bytes.end(), value.bytes().begin(), value.bytes().end());
    }
    for (int32_t state : {r.weight, r.bias}) {
      HostArray value = r.session->fetchState(state).value();
      bytes.insert(bytes.end(), value.bytes().begin(), value.bytes().end());
    }
    results.push_back(std::move(bytes));
  }
  for (size_t i = 1; i < results.size(); ++i) EXPECT_EQ(results[i], results[0]) << "run " << i;
}

/// Compiled kernels write where the plan says and read nothing that no kernel wrote: the arena is poisoned before every
/// run and inspected after it, and the values are those of an unchecked run.
TEST_F(SteadyStep, keepsToItsArena) {
  Regression plain(folder.path(), 2), checked(folder.path(), 2, true);
  HostArray x = pattern({kRows, kIn}, 3);
  for (int step = 0; step < 3; ++step) {
    Tensor a = plain.record(x, 0.5), b = checked.record(x, 0.5);
    ASSERT_TRUE(plain.session->evaluate({&a, 1}).ok());
    Status s = checked.session->evaluate({&b, 1});
    ASSERT_TRUE(s.ok()) << s;
    EXPECT_EQ(plain.session->scalarValue(a).value(), checked.session->scalarValue(b).value());
  }
  EXPECT_GT(checked.session->stats().arenaUsedBytes, 0);
  EXPECT_LE(checked.session->stats().arenaUsedBytes, checked.session->stats().arenaBytes);
}

/// Other extents mean another plan and the same kernels; a second session finds them on disk.
TEST_F(SteadyStep, otherExtentsCompileNothing) {
  int64_t compiled = 0;
  {
    Regression r(folder.path(), 2);
    for (int64_t rows : {96, 61, 200}) {
      Tensor loss = r.record(pattern({rows, kIn}, 3), 0.1);
      Status s = r.session->evaluate({&loss, 1});
      ASSERT_TRUE(s.ok()) << s;
      if (compiled == 0) compiled = r.session->stats().kernelsCompiled;
    }
    EXPECT_EQ(r.session->stats().plansMade, 3);
    EXPECT_EQ(r.session->stats().kernelsCompiled, compiled);
  }
  Regression again(folder.path(), 2);
  Tensor loss = again.record(pattern({kRows, kIn}, 3), 0.1);
  ASSERT_TRUE(again.session->evaluate({&loss, 1}).ok());
  EXPECT_EQ(again.session->stats().kernelsCompiled, 0);
  EXPECT_EQ(again.session->stats().kernelsFromCache, compiled);
}

TEST_F(SteadyStep, manyPlansAreForgottenOldestFirst) {
  Regression r(folder.path(), 1);
  for (int64_t rows = 1; rows <= 70; ++rows) {
    Tensor loss = r.record(pattern({rows, kIn}, 3), 0);
    ASSERT_TRUE(r.session->evaluate({&loss, 1}).ok());
  }
  int64_t plans = r.session->stats().plansMade, compiled = r.session->stats().kernelsCompiled;
  for (int64_t rows : {70, 1}) {
    Tensor loss = r.record(pattern({rows, kIn}, 3), 0);
    ASSERT_TRUE(r.session->evaluate({&loss, 1}).ok());
  }
  EXPECT_EQ(r.session->stats().plansMade, plans + 1) << "the newest is known, the oldest was forgotten";
  EXPECT_EQ(r.session->stats().kernelsCompiled, compiled) << "its kernels were not";
}

} // namespace
} // namespace tegula
