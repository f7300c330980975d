// Plans on the cpu device, made by hand from the one test kernel out = in + scalar: places, aliases, states, the arena.
#include "AllocationCount.h"
#include "TestCompiler.h"
#include "runtime/Executable.h"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tegula {
namespace {

using test::ImageCompiler;
using ::testing::HasSubstr;
using Space = BufferRef::Space;

constexpr int64_t kElements = 5000;
const TensorType kType{DType::I64, {kElements}};

class Plans : public ::testing::Test {
protected:
  void SetUp() override {
    if (!test::kCanRunTestImage) GTEST_SKIP() << "needs x86-64: the test image is machine code";
    context.device = Device::open(Backend::load("cpu").value(), 0, {.threads = 3}).value();
    context.queue = context.device->createQueue().value();
    context.kernels = std::make_unique<KernelCache>(context.device, compiler, ImageStore(folder.path(), 1 << 20), 2);
    plan.kernels = {ImageCompiler::source("add", test::addImage())};
    recording.clear();
  }
  void add(BufferRef in, BufferRef out, int64_t addend, double bytes = 1e9) {
    PlanStep step;
    step.segments.push_back({{in, out}, {addend}, kElements});
    step.scratchBytes = 64;
    step.bytes = bytes;
    step.label = "add";
    plan.steps.push_back(std::move(step));
  }
  int32_t addState(int64_t value) {
    Buffer b = context.allocate(kType.sizeBytes(), "state").value();
    std::fill_n(static_cast<int64_t*>(b.host()), kElements, value);
    context.states.push_back({"state", kType, std::move(b)});
    return static_cast<int32_t>(context.states.size()) - 1;
  }
  HostArray filled(int64_t value) {
    HostArray a(kType);
    std::fill_n(a.as<int64_t>(), kElements, value);
    return a;
  }
  std::vector<int64_t> output(const Executable& e, int i) {
    std::vector<int64_t> v(kElements);
    EXPECT_TRUE(e.read(i, v.data()).ok());
    return v;
  }
  /// data + 1 -> arena -> + 2 -> output 0; state += 10 in place; output 1 is the state.
  void makeUsualPlan() {
    plan.inputs = {kType, kType};
    plan.outputs = {kType, kType};
    plan.outputPlaces = {{Space::Output, 0, 0}, {Space::Input, 1, 0}};
    plan.arenaBytes = kType.sizeBytes();
    plan.placements.push_back({"t", 0, kType.sizeBytes(), 0, 1});
    add({Space::Input, 0, 0}, {Space::Arena, 0, 0}, 1);
    add({Space::Arena, 0, 0}, {Space::Output, 0, 0}, 2);
    add({Space::Input, 1, 0}, {Space::Input, 1, 0}, 10, 1);
    inputs = {{InputKind::Data, 0, kType}, {InputKind::State, addState(100), kType}};
    recording.data = {filled(5)};
  }

  test::TemporaryFolder folder;
  ImageCompiler compiler;
  Context context;
  Plan plan;
  std::vector<InputBinding> inputs;
  Recording recording;
};

TEST_F(Plans, dataArenaOutputsAndStates) {
  makeUsualPlan();
  auto e = PlanExecutable::create(context, plan, inputs).value();
  for (int run = 1; run <= 3; ++run) {
    recording.data = {filled(5 * run)};
    ASSERT_TRUE(e->run(recording).ok());
    EXPECT_EQ(output(*e, 0), std::vector<int64_t>(kElements, 5 * run + 3));
    EXPECT_EQ(output(*e, 1), std::vector<int64_t>(kElements, 100 + 10 * run));
  }
}

TEST_F(Plans, scalarsAndConstantsAreRoundedToTheirType) {
  TensorType scalar{DType::I64, {}};
  plan.inputs = {scalar};
  plan.outputs = {scalar, scalar};
  plan.outputPlaces = {{Space::Output, 0, 0}, {Space::Output, 1, 0}};
  plan.constants = {HostArray::scalar(DType::I64, 40)};
  for (int i = 0; i < 2; ++i) {
    add(i ? BufferRef{Space::Constant, 0, 0} : BufferRef{Space::Input, 0, 0}, {Space::Output, i, 0}, 2);
    plan.steps.back().segments[0].items = 1;
  }
  inputs = {{InputKind::Scalar, 0, scalar}};
  recording.scalars = {{7.9, DType::I64}};
  auto e = PlanExecutable::create(context, plan, inputs).value();
  ASSERT_TRUE(e->run(recording).ok());
  int64_t x = 0;
  ASSERT_TRUE(e->read(0, &x).ok());
  EXPECT_EQ(x, 9);
  ASSERT_TRUE(e->read(1, &x).ok());
  EXPECT_EQ(x, 42);
}

TEST_F(Plans, aLargerArenaMovesThePlansBeforeIt) {
  makeUsualPlan();
  auto small = PlanExecutable::create(context, plan, inputs).value();
  ASSERT_TRUE(small->run(recording).ok());
  Plan larger = plan;
  larger.arenaBytes = 3 * kType.sizeBytes();
  auto large = PlanExecutable::create(context, larger, inputs).value();
  ASSERT_TRUE(large->run(recording).ok());
  ASSERT_TRUE(small->run(recording).ok());
  EXPECT_EQ(output(*small, 0), std::vector<int64_t>(kElements, 8));
  EXPECT_EQ(output(*small, 1), std::vector<int64_t>(kElements, 130));
  EXPECT_EQ(context.arena.sizeBytes(), larger.arenaBytes);
}

TEST_F(Plans, isRefusedUpFrontWhenItCannotFit) {
  makeUsualPlan();
  int64_t before = context.usedBytes;
  context.limitBytes = before + kType.sizeBytes() / 2;
  Status s = PlanExecutable::create(context, plan, inputs).status();
  EXPECT_EQ(s.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(message(s)),
              HasSubstr("arena of temporaries needs 39.06 KiB, 39.06 KiB of 58.59 KiB are in use"));
  EXPECT_EQ(compiler.compilations, 0) << "memory is checked before anything is compiled";
  EXPECT_EQ(context.usedBytes, before);
  context.limitBytes = 0;
  EXPECT_TRUE(PlanExecutable::create(context, plan, inputs).ok());
}

TEST_F(Plans, checkedRunsSeeWritesOutsideThePlan) {
  context.checkArena = true;
  makeUsualPlan();
  {
    auto e = PlanExecutable::create(context, plan, inputs).value();
    Status s = e->run(recording);
    EXPECT_TRUE(s.ok()) << s;
    EXPECT_EQ(context.arenaUsedBytes, plan.arenaBytes);
  }
  plan.placements[0].sizeBytes -= 8;
  auto hidden = PlanExecutable::create(context, plan, inputs).value();
  EXPECT_THAT(std::string(message(hidden->run(recording))), HasSubstr("byte 39992 was written"));
  plan.placements[0].sizeBytes += 8;
  plan.arenaBytes -= 8; // the kernel writes into the guard
  auto past = PlanExecutable::create(context, plan, inputs).value();
  EXPECT_THAT(std::string(message(past->run(recording))), HasSubstr("byte 39992 was written"));
}

TEST_F(Plans, steadyRunsAllocateNothingAndFaultNoPage) {
  if (test::heapAllocations() < 0) GTEST_SKIP() << "needs a build without sanitizers: they replace malloc";
  makeUsualPlan();
  for (int i = 0; i < 20; ++i) add({Space::Arena, 0, 0}, {Space::Output, 0, 0}, 2, i % 2 ? 1e9 : 1);
  auto e = PlanExecutable::create(context, plan, inputs).value();
  std::vector<int64_t> allocations, faults;
  for (int step = 0; step < 100; ++step) {
    int64_t a = test::heapAllocations(), f = test::pageFaults();
    ASSERT_TRUE(e->run(recording).ok());
    if (step < 10) continue;
    allocations.push_back(test::heapAllocations() - a);
    faults.push_back(test::pageFaults() - f);
  }
  std::sort(allocations.begin(), allocations.end());
  std::sort(faults.begin(), faults.end());
  EXPECT_EQ(allocations.back(), 0);
  EXPECT_EQ(faults[faults.size() / 2], 0);
}

} // namespace
} // namespace tegula
