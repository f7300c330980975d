// Schedules as values: text both ways, rules, refusals.
#include "KernelRun.h"
#include "compiler/matrix/KernelScheduler.h"
#include "compiler/schedule/ScheduleChooser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tegula {
namespace {

using testing::HasSubstr;

KernelShape gemmShape(DType d) {
  KernelShape k;
  k.name = "gemm";
  k.grid = {{"BM", "M"}, {"BN", "N"}};
  k.tiles = {{"BK", "K"}};
  k.left = k.right = d;
  k.wide = d == DType::F64;
  return k;
}

TEST(Schedule, TextBothWays) {
  for (const std::string& name : targetNames())
    for (DType d : {DType::F32, DType::BF16, DType::F64}) {
      auto target = targetByName(name);
      ASSERT_TRUE(target.ok());
      Schedule s = ruleScheduleChooser()->choose(gemmShape(d), *target);
      auto back = parseSchedule(toString(s));
      ASSERT_TRUE(back.ok()) << message(back.status());
      EXPECT_EQ(*back, s);
    }
}

TEST(Schedule, RefusesOtherTexts) {
  auto refusal = [](std::string_view text) { return std::string(message(parseSchedule(text).status())); };
  EXPECT_THAT(refusal(""), HasSubstr("expected the name of a template"));
  EXPECT_THAT(refusal("contraction tile"), HasSubstr("expected `{`"));
  EXPECT_THAT(refusal("contraction { tile BM=x; }"), HasSubstr("expected a positive number, found `x`"));
  EXPECT_THAT(refusal("contraction { dot imaginary 1x1; }"), HasSubstr("found `imaginary`"));
  EXPECT_THAT(refusal("contraction { dot fma 6x16; }"), HasSubstr("expected `unroll` in a dot, found `;`"));
  EXPECT_THAT(refusal("contraction { dot fma 6x16 unroll 0 group 1; }"), HasSubstr("positive number, found `0`"));
  EXPECT_THAT(refusal("contraction { dot fma 6x16 unroll 4 group 2 }"), HasSubstr("expected `;` after a dot"));
  EXPECT_THAT(refusal("contraction { tile BM=4"), HasSubstr("has no `;`"));
}

TEST(ScheduleChooser, RegistersHoldTheAccumulators) {
  for (const std::string& name : targetNames())
    for (DType d : {DType::F32, DType::BF16, DType::F64}) {
      Target t = *targetByName(name);
      Schedule s = ruleScheduleChooser()->choose(gemmShape(d), t);
      int64_t lanes = t.vectorElements(d == DType::F64 ? 8 : 4);
      EXPECT_EQ(s.registerColumns % lanes, 0);
      EXPECT_LE(s.registerRows * s.registerColumns / lanes + s.registerColumns / lanes + 1, t.vectorRegisters) << name;
      EXPECT_GE(s.registerRows * s.registerColumns / lanes, 12) << name;
      EXPECT_EQ(s.tile("BM") % s.registerRows, 0);
      EXPECT_EQ(s.tile("BN") % s.registerColumns, 0);
    }
}

TEST(ScheduleChooser, FollowsTheParametersOfTheTarget) {
  Target t = *targetByName("x86-64-v3");
  auto chosen = [&] { return ruleScheduleChooser()->choose(gemmShape(DType::F32), t); };
  const Schedule before = chosen();
  EXPECT_EQ(before.registerRows, 6);
  t.schedule.registerTemporaries = 4;
  EXPECT_EQ(chosen().registerRows, 5);
  t.schedule.registerRows = 3, t.schedule.unroll = 7, t.schedule.groupPanels = 2, t.schedule.blockColumns = 64;
  t.schedule.blockDepth = 64, t.schedule.blockRows = 9;
  Schedule s = chosen();
  EXPECT_LE(s.registerRows, 3); // of four right operands two rows need fewer loads
  EXPECT_EQ(s.unroll, 7);
  EXPECT_EQ(s.group, 2);
  EXPECT_EQ(s.tile("BM"), 8); // whole register kernels
  EXPECT_EQ(s.tile("BN"), 64);
  EXPECT_EQ(s.tile("BK"), 64);
  // The shares bind where the caches are small.
  t = *targetByName("x86-64-v3");
  t.caches[1].sizeBytes /= 8;
  EXPECT_LT(chosen().tile("BM"), before.tile("BM"));
  EXPECT_LT(chosen().group, before.group);
  t.caches[0].sizeBytes /= 4;
  EXPECT_LT(chosen().tile("BK"), before.tile("BK"));
}

TEST(ScheduleChooser, TheDotInstructionIsUsedWhereItIsMeasuredFaster) {
  Target t = *targetByName("x86-64-v4-bf16");
  EXPECT_EQ(ruleScheduleChooser()->choose(gemmShape(DType::BF16), t).dot, DotKind::Fma);
  t.f32FlopsPerSecond = 2e11, t.bf16FlopsPerSecond = 4e11;
  EXPECT_EQ(ruleScheduleChooser()->choose(gemmShape(DType::BF16), t).dot, DotKind::Bf16Dot);
  t.bf16FlopsPerSecond = 1e11;
  EXPECT_EQ(ruleScheduleChooser()->choose(gemmShape(DType::BF16), t).dot, DotKind::Fma);
}

TEST(ScheduleChooser, ExplainsItself) {
  Target t = *targetByName("x86-64-v4");
  auto chooser = ruleScheduleChooser();
  EXPECT_THAT(chooser->explain(gemmShape(DType::F32), chooser->choose(gemmShape(DType::F32), t), t),
              HasSubstr("registers: 6x64 = 24 accumulators"));
  t.vectorRegisters = 16; // as AVX2 has: fewer right operands, the same rows
  EXPECT_THAT(chooser->explain(gemmShape(DType::F32), chooser->choose(gemmShape(DType::F32), t), t),
              HasSubstr("registers: 6x32 = 12 accumulators"));
}

TEST(KernelScheduler, SaysWhyNodesDoNotFuse) {
  Graph g(testLibrary());
  Value a = g.addInput("a", {DType::F32, {8, 8}}), b = g.addInput("b", {DType::F32, {8, 8}});
  Value c = (*g.addOperator("matmul", {{a, b}}, {}))[0];
  Value e = (*g.addPrimitive("exp", {{c}}, {}))[0];
  Value sum = (*g.addPrimitive("reduce_sum", {{e}}, {{"axes", Shape{1}}, {"keepdim", false}}))[0];
  Value first = (*g.addPrimitive("exp", {{a}}, {}))[0];
  Value second = (*g.addOperator("matmul", {{first, b}}, {}))[0];
  g.outputs() = {sum, second};
  matrix::KernelScheduler scheduler(*targetByName("x86-64-v3"), testLibrary());
  EXPECT_EQ(scheduler.whyNotFuse(g, std::vector<int32_t>{c.node, e.node}), "");
  EXPECT_THAT(scheduler.whyNotFuse(g, std::vector<int32_t>{c.node, e.node, sum.node}),
              HasSubstr("reduce_sum is not elementwise"));
  EXPECT_THAT(scheduler.whyNotFuse(g, std::vector<int32_t>{first.node, second.node}),
              HasSubstr("repeated for every block"));
  // Written out, an expression repeats what it shares: 2^k nodes after k squarings.
  std::vector<int32_t> squares{c.node};
  Value x = c;
  for (int k = 0; k < 40; ++k) squares.push_back((x = (*g.addPrimitive("mul", {{x, x}}, {}))[0]).node);
  EXPECT_EQ(scheduler.whyNotFuse(g, std::span(squares).first(5)), "");
  EXPECT_THAT(scheduler.whyNotFuse(g, squares), HasSubstr("the expression at mul is too long"));
  EXPECT_THAT(scheduler.whyNotFuse(g, std::vector<int32_t>{c.node, second.node}), HasSubstr("two operators"));
}

// The gradients of keys and values that are one tensor are added: neither result's block has the other's values.
TEST(KernelScheduler, ResultsOfOneOperatorDoNotMeetInItsEpilogue) {
  Graph g(testLibrary());
  TensorType matrix{DType::F32, {8, 8}}, column{DType::F32, {8, 1}};
  Value q = g.addInput("q", matrix), x = g.addInput("x", matrix), dy = g.addInput("dy", matrix),
        lse = g.addInput("lse", column), delta = g.addInput("delta", column);
  Values both = *g.addOperator("attention_grad_key_value", {{q, x, x, Value{}, Value{}, lse, delta, dy}},
                               {{"scale", 1.0}, {"causal", false}, {"window", int64_t{0}}});
  Value sum = (*g.addPrimitive("add", {{both[0], both[1]}}, {}))[0];
  Value scaled = (*g.addPrimitive("mul", {{both[1], dy}}, {}))[0];
  g.outputs() = {sum, scaled};
  matrix::KernelScheduler scheduler(*targetByName("x86-64-v3"), testLibrary());
  EXPECT_EQ(scheduler.whyNotFuse(g, std::vector<int32_t>{both[0].node, scaled.node}), "");
  EXPECT_THAT(scheduler.whyNotFuse(g, std::vector<int32_t>{both[0].node, sum.node}),
              HasSubstr("add combines two results"));
}

} // namespace
} // namespace tegula
