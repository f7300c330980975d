// Sessions end to end with the interpreting compiler (real plans, caches, executor; kernels by the reference evaluator)
// and on the honest fallback: same programs, same values.
#include "runtime/Session.h"
#include "TestCompiler.h"
#include "base/Log.h"

#include <cmath>
#include <cstdint>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tegula {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Sessions : public ::testing::TestWithParam<bool> {
protected:
  void SetUp() override {
    if (!test::kCanRunTestImage) GTEST_SKIP() << "needs x86-64: the test image is machine code";
    setLogLevel(LogLevel::Error); // the fallback is loud
    library = OperatorLibrary::loadEmbedded().value();
    session = make();
  }
  void TearDown() override { setLogLevel(LogLevel::Warning); }
  std::unique_ptr<Session> make(SessionOptions options = {}) {
    options.cacheFolder = folder.path();
    options.threads = 2;
    bool host = GetParam();
    if (host) options.fallback = SessionOptions::Fallback::Host;
    auto made = Session::create(options, library, host ? nullptr : std::make_unique<test::InterpretingCompiler>());
    EXPECT_TRUE(made.ok()) << made.status();
    return std::move(made).value();
  }
  static HostArray vector(std::vector<double> v) {
    return HostArray::fromValues(DType::F32, {static_cast<int64_t>(v.size())}, v);
  }
  std::vector<double> valueOf(const Tensor& t) {
    auto v = session->value(t);
    EXPECT_TRUE(v.ok()) << v.status();
    return v.ok() ? v->toVector() : std::vector<double>();
  }
  Status evaluate(std::vector<Tensor> results) { return session->evaluate(results); }

  test::TemporaryFolder folder;
  std::shared_ptr<const OperatorLibrary> library;
  std::unique_ptr<Session> session;
};

TEST_P(Sessions, computesWhatIsAskedFor) {
  Tensor a = session->input(vector({1, 2, 3})),
         b = session->input(HostArray::fromValues(DType::F32, {1}, std::vector<double>{10}));
  Tensor sum = a + b, half = sum * 0.5;
  Status s = evaluate({half, sum, half});
  ASSERT_TRUE(s.ok()) << s;
  EXPECT_THAT(valueOf(sum), ElementsAre(11, 12, 13));
  EXPECT_THAT(valueOf(half), ElementsAre(5.5, 6, 6.5));
}

TEST_P(Sessions, resultsThatLieInAStateOutliveWhatIsStoredThere) {
  int32_t w = session->addState("w", vector({1, 2, 3})), one = session->addState("one", vector({5}));
  Tensor old = session->read(w), number = session->read(one);
  ASSERT_TRUE(evaluate({old, number}).ok());
  for (float value : {8.0f, 9.0f}) {
    ASSERT_TRUE(session->storeState(w, vector({value, value, value})).ok());
    ASSERT_TRUE(session->storeState(one, vector({value})).ok());
    EXPECT_THAT(valueOf(old), ElementsAre(1, 2, 3));
    EXPECT_EQ(session->scalarValue(number).value(), 5);
  }
  Tensor now = session->read(w);
  ASSERT_TRUE(evaluate({now}).ok());
  EXPECT_THAT(valueOf(now), ElementsAre(9, 9, 9));
}

/// A number that an integer type does not have is an error, not another number.
TEST_P(Sessions, numbersThatATypeDoesNotHoldAreRefused) {
  auto refused = [&](auto&& record) {
    Tensor t = record();
    Status s = evaluate({t});
    EXPECT_THAT(std::string(message(s)), HasSubstr("has no element")) << s;
  };
  refused([&] { return session->constant(300, DType::U8); });
  refused([&] { return session->constant(-1, DType::U16); });
  refused([&] { return session->constant(0.5, DType::I32); });
  refused([&] { return session->constant(NAN, DType::I64); });
  refused([&] { return session->constant(0x1p63, DType::I64); });
  refused([&] { return session->scalar(-1, DType::U8); });
  refused([&] { return session->input(HostArray::fromValues(DType::I32, {2}, std::vector<double>{4, 5})) * 0.5; });
  Tensor largest = session->constant(255, DType::U8), lowest = session->constant(-0x1p63, DType::I64),
         truth = session->constant(2, DType::Bool), rounded = session->constant(0.1, DType::F32);
  ASSERT_TRUE(evaluate({largest, lowest, truth, rounded}).ok());
  EXPECT_EQ(session->value(largest)->getInt(0), 255);
  EXPECT_EQ(session->value(lowest)->getInt(0), INT64_MIN);
  EXPECT_EQ(session->value(truth)->getInt(0), 1);
}

TEST_P(Sessions, aTensorOfAnotherSessionHasNoValueHere) {
  std::unique_ptr<Session> other = make();
  Tensor mine = session->input(vector({1, 2})) * 1, theirs = other->input(vector({30, 40})) * 1;
  ASSERT_TRUE(evaluate({mine}).ok());
  ASSERT_TRUE(other->evaluate({{theirs}}).ok());
  EXPECT_FALSE(session->value(theirs).ok());
  EXPECT_THAT(valueOf(mine), ElementsAre(1, 2));
}

TEST_P(Sessions, oneStepIsOnePlan) {
  int32_t w = session->addState("w", vector({1, 2}));
  double expected = 1;
  for (int step = 1; step <= 5; ++step) {
    Tensor next = session->read(w) * session->scalar(step) + session->input(vector({0.5, 0.5}));
    session->assign(w, next);
    Status s = evaluate({slice(next, 0, 0, 1)});
    ASSERT_TRUE(s.ok()) << s;
    expected = expected * step + 0.5;
    EXPECT_FLOAT_EQ(session->fetchState(w).value().get(0), expected);
  }
  EXPECT_EQ(session->stats().plansMade, 1);
  if (!GetParam()) {
    EXPECT_EQ(session->stats().kernelsReference, 0);
    EXPECT_GT(session->stats().kernelsCompiled, 0);
    EXPECT_GT(session->stats().distinctKernels, 0);
    EXPECT_NE(session->lastPlan(), nullptr);
    EXPECT_EQ(session->kernelLine(),
              fmt::format("kernels: compiled {}, from cache 0, reference 0", session->stats().kernelsCompiled));
  } else {
    EXPECT_GT(session->stats().kernelsReference, 0);
  }
}

TEST_P(Sessions, statesAreSharedByPlans) {
  int32_t w = session->addState("w", vector({3}));
  session->assign(w, session->read(w) + 1.0);
  ASSERT_TRUE(evaluate({}).ok());
  Tensor twice = session->read(w) * 2.0;
  ASSERT_TRUE(evaluate({twice}).ok());
  EXPECT_THAT(valueOf(twice), ElementsAre(8));
  ASSERT_TRUE(session->storeState(w, vector({7})).ok());
  Tensor again = session->read(w) * 2.0;
  ASSERT_TRUE(evaluate({again}).ok());
  EXPECT_THAT(valueOf(again), ElementsAre(14));
  EXPECT_EQ(session->stats().plansMade, 2);
  EXPECT_FALSE(session->storeState(w, vector({7, 8})).ok());
}

/// Every read of a state in one evaluation sees the value from before it, results too.
TEST_P(Sessions, aResultMayBeTheOldValueOfAnAssignedState) {
  int32_t a = session->addState("a", vector({1, 2})), b = session->addState("b", vector({30, 40}));
  Tensor oldA = session->read(a), oldB = session->read(b);
  session->assign(a, oldB);
  session->assign(b, oldA);
  Status s = evaluate({oldA, oldB});
  ASSERT_TRUE(s.ok()) << s;
  EXPECT_THAT(valueOf(oldA), ElementsAre(1, 2));
  EXPECT_THAT(valueOf(oldB), ElementsAre(30, 40));
  EXPECT_THAT(session->fetchState(a).value().toVector(), ElementsAre(30, 40));
  EXPECT_THAT(session->fetchState(b).value().toVector(), ElementsAre(1, 2));
}

TEST_P(Sessions, gradientsAreExpandedInThePlan) {
  int32_t w = session->addState("w", vector({1, -2, 3}));
  Tensor x = session->read(w);
  Tensor loss = call("reduce_sum", {x * x * 0.5}, {{"axes", Shape{0}}, {"keepdim", false}});
  std::vector<Tensor> g = grad(loss, std::vector<Tensor>{x});
  session->assign(w, x - g[0] * session->scalar(0.5));
  Status s = evaluate({loss});
  ASSERT_TRUE(s.ok()) << s;
  EXPECT_EQ(session->scalarValue(loss).value(), 7);
  EXPECT_THAT(session->fetchState(w).value().toVector(), ElementsAre(0.5, -1, 1.5));
}

TEST_P(Sessions, resultsCanBeReadUntilTheNextEvaluation) {
  Tensor a = session->input(vector({1})), b = a * 2.0;
  ASSERT_TRUE(evaluate({b}).ok());
  EXPECT_EQ(session->scalarValue(b).value(), 2);
  EXPECT_EQ(b.shape(), (Shape{1}));
  EXPECT_THAT(std::string(message(session->value(a).status())), HasSubstr("not among the results"));
  ASSERT_TRUE(evaluate({}).ok());
  EXPECT_THAT(std::string(message(session->value(b).status())), HasSubstr("not a result of the last"));
}

TEST_P(Sessions, anErrorLeavesTheSessionUsable) {
  (void)(session->input(vector({1})) + session->input(HostArray::zeros(DType::F64, {1})));
  EXPECT_FALSE(evaluate({}).ok());
  Tensor fine = session->input(vector({1})) + 1.0;
  ASSERT_TRUE(evaluate({fine}).ok());
  EXPECT_THAT(valueOf(fine), ElementsAre(2));
}

TEST_P(Sessions, emptyTensorsWork) {
  Tensor y = session->input(HostArray::zeros(DType::F32, {0, 3})) + 1.0;
  Status s = evaluate({y});
  ASSERT_TRUE(s.ok()) << s;
  EXPECT_EQ(session->value(y).value().elements(), 0);
}

TEST_P(Sessions, transposedInputsAreCopiedInOrder) {
  HostArray a = HostArray::fromValues(DType::F32, {2, 3}, std::vector<double>{1, 2, 3, 4, 5, 6});
  std::vector<int64_t> swap{1, 0};
  Tensor y = session->input(a.transpose(swap)) + 0.0;
  ASSERT_TRUE(evaluate({y}).ok());
  EXPECT_THAT(valueOf(y), ElementsAre(1, 4, 2, 5, 3, 6));
}

INSTANTIATE_TEST_SUITE_P(Device, Sessions, ::testing::Values(false));
INSTANTIATE_TEST_SUITE_P(HostFallback, Sessions, ::testing::Values(true));

class SessionChecks : public Sessions {};

TEST_P(SessionChecks, theArenaHoldsWhatWasPlanned) {
  SessionOptions options;
  options.checkArena = true;
  session = make(options);
  Tensor x = session->input(vector(std::vector<double>(1000, 1.5)));
  for (int i = 0; i < 5; ++i) x = call("exp", {x * 0.125}) + 0.5;
  Status s = evaluate({x});
  ASSERT_TRUE(s.ok()) << s;
  EXPECT_LE(session->stats().arenaUsedBytes, session->stats().arenaBytes);
}

TEST_P(SessionChecks, aSecondSessionFindsWhatMemoryItNeedsRefused) {
  SessionOptions options;
  options.memoryLimitBytes = 10000;
  session = make(options);
  Tensor x = session->input(HostArray::zeros(DType::F32, {10000})) + 1.0;
  EXPECT_EQ(evaluate({x}).code(), absl::StatusCode::kResourceExhausted);
}

TEST_P(SessionChecks, withoutACompilerErrorIsTheDefault) {
  SessionOptions options;
  options.cacheFolder = folder.path();
  auto made = Session::create(options, library, nullptr);
  EXPECT_FALSE(made.ok());
}

INSTANTIATE_TEST_SUITE_P(Device, SessionChecks, ::testing::Values(false));

TEST(SessionOptionsTest, badThreadCountsAreRefused) {
  setenv("TEGULA_THREADS", "many", 1);
  auto library = OperatorLibrary::loadEmbedded().value();
  auto made = Session::create({}, library, std::make_unique<test::ImageCompiler>());
  unsetenv("TEGULA_THREADS");
  EXPECT_THAT(std::string(message(made.status())), HasSubstr("TEGULA_THREADS: `many`"));
}

} // namespace
} // namespace tegula
