// Plans interpreted on real bytes give what the reference gives for the recorded graph, whatever was fused, laid out or
// placed.
#include "GptStep.h"
#include "graph/plan/MemoryPlanner.h"

namespace tegula::test {
namespace {

/// Makes a plan, runs it, compares with the reference.
void expectPlanMatches(const Recorder& r, const TestTarget& target, double tolerance = 1e-10,
                       PlanOptions options = {}) {
  options.observe = [](std::string_view pass, const Graph& g) {
    Status s = g.verify();
    EXPECT_TRUE(s.ok()) << pass << ": " << message(s);
  };
  Plan plan = valueOf(makePlan(r.g, target, options));
  EvaluationResult expected = valueOf(evaluate(r.g, r.data));
  auto expectRun = [&](std::span<const int32_t> order) {
    PlanRun run = valueOf(interpret(plan, target, r.data, order));
    for (size_t o = 0; o < expected.outputs.size(); ++o)
      EXPECT_LE(difference(run.outputs[o], expected.outputs[o]), tolerance) << "output " << o << "\n" << plan.text();
    std::vector<bool> assigned(r.data.size(), false);
    for (size_t a = 0; a < r.g.assigns().size(); ++a) {
      int32_t input = r.g.assigns()[a].input;
      assigned[input] = true;
      EXPECT_LE(difference(run.inputs[input], expected.assigned[a]), tolerance) << "state " << input;
    }
    for (size_t i = 0; i < r.data.size(); ++i)
      if (!assigned[i]) EXPECT_EQ(difference(run.inputs[i], r.data[i]), 0) << "input " << i << " was changed";
  };
  expectRun({});
  for (const PlanStep& s : plan.steps)
    for (int32_t w : s.waits) EXPECT_LT(w, static_cast<int32_t>(&s - plan.steps.data()));
  // A device may run what does not wait for one another in any order, also where they share a place in the arena.
  for (uint32_t seed : {0, 1, 2}) {
    SCOPED_TRACE(fmt::format("order {}", seed));
    std::vector<int32_t> order = anotherOrder(plan, seed);
    ASSERT_EQ(order.size(), plan.steps.size());
    expectRun(order);
  }
}

TEST(Plan, GptStepUnderEveryTarget) {
  Recorder r = gptStep({2, 3, 4, 2, 7, 2});
  for (int bits = 0; bits < 32; ++bits) {
    TestTarget target;
    target.keepOperators = bits & 1;
    target.fuseLoops = bits & 2;
    target.fuseEpilogues = bits & 4;
    target.anyStrides = bits & 8;
    target.twoDispatches = bits & 16;
    SCOPED_TRACE(fmt::format("target {}", bits));
    expectPlanMatches(r, target, 1e-5);
  }
}

TEST(Plan, GptStepAtOtherSizes) {
  for (auto [B, T, C, H] : {std::array<int64_t, 4>{1, 1, 2, 1}, {1, 5, 6, 3}, {3, 1, 4, 2}, {2, 7, 2, 2}}) {
    Recorder r = gptStep({B, T, C, H, 5, 1});
    SCOPED_TRACE(fmt::format("B {} T {} C {} H {}", B, T, C, H));
    expectPlanMatches(r, TestTarget(), 1e-5);
  }
}

TEST(Plan, Bf16PolicyChangesProductsOnly) {
  Recorder r = gptStep({});
  PlanOptions options;
  options.precision.compute = DType::BF16;
  TestTarget target;
  Plan plan = valueOf(makePlan(r.g, target, options));
  int narrow = 0;
  for (const auto& group : target.groups)
    for (const Node& n : group->body.nodes())
      if (n.kind == Node::Kind::Operator) {
        EXPECT_EQ(group->body.typeOf(n.inputs[0]).dtype, DType::BF16) << n.op.text();
        ++narrow;
      }
  EXPECT_GT(narrow, 10);
  PlanRun run = valueOf(interpret(plan, target, r.data));
  EvaluationResult expected = valueOf(evaluate(r.g, r.data));
  double off = difference(run.outputs[0], expected.outputs[0]);
  EXPECT_GT(off, 1e-7);
  EXPECT_LT(off, 2e-2);
}

TEST(Plan, IsDeterministicAndKeysIgnoreExtents) {
  TestTarget a, b, c;
  Plan first = valueOf(makePlan(gptStep({2, 3, 4, 2, 7, 2}).g, a)),
       second = valueOf(makePlan(gptStep({2, 3, 4, 2, 7, 2}).g, b));
  EXPECT_EQ(first.text(), second.text());
  Plan other = valueOf(makePlan(gptStep({5, 9, 4, 2, 7, 2}).g, c));
  ASSERT_EQ(first.kernels.size(), other.kernels.size());
  for (size_t k = 0; k < first.kernels.size(); ++k) EXPECT_EQ(first.kernels[k]->key, other.kernels[k]->key);
}

TEST(Plan, LayersShareKernels) {
  TestTarget a, b;
  size_t two = valueOf(makePlan(gptStep({2, 3, 4, 2, 7, 3}).g, a)).kernels.size();
  size_t four = valueOf(makePlan(gptStep({2, 3, 4, 2, 7, 6}).g, b)).kernels.size();
  EXPECT_LE(four, two + 1) << "only the sum of squares over parameters may differ";
}

TEST(Plan, StatesAreWrittenInPlaceAndUpdatesAreOneStep) {
  Recorder r = gptStep({2, 3, 4, 2, 7, 2});
  TestTarget target;
  Plan plan = valueOf(makePlan(r.g, target));
  size_t updates = 0, steps = 0;
  for (const PlanStep& s : plan.steps) {
    bool writes = false;
    for (const Segment& segment : s.segments) {
      bool here = false;
      size_t outputs = target.groups[segment.scalars[0]]->outputLayouts.size();
      for (size_t b = segment.bindings.size() - outputs; b < segment.bindings.size(); ++b)
        here = here || segment.bindings[b].space == BufferRef::Space::Input;
      updates += here;
      writes = writes || here;
    }
    steps += writes;
  }
  // Parameter and moment together; the position table's may join the sum that makes its gradient.
  EXPECT_LE(updates, r.g.assigns().size() / 3 + 1);
  EXPECT_LE(steps, 2u) << plan.text();
}

TEST(Plan, SplitAndHeadsNeedNoCopies) {
  Recorder r = gptStep({2, 3, 4, 2, 7, 1});
  TestTarget target;
  Plan plan = valueOf(makePlan(r.g, target));
  for (const auto& group : target.groups) {
    bool copy = group->body.nodes().size() == 2 && group->body.nodes()[1].op == Symbol("cast");
    bool concatenation = group->body.nodes().back().op == Symbol("concatenate");
    EXPECT_FALSE(copy || concatenation) << group->label << "\n" << plan.text();
  }
}

/// The gradient by y is that through y alone, also where y turns out to be x, or a value that a simpler graph skips.
TEST(Plan, GradientsByValuesThatSimplificationRemoves) {
  for (int kind = 0; kind < 4; ++kind) {
    SCOPED_TRACE(kind);
    Recorder r;
    TensorType type{DType::F64, {4}};
    Value x = r.input(type), y;
    auto sum = [&](Value v) { return r.primitive("reduce_sum", {v}, {{"axes", Shape{0}}, {"keepdim", false}}); };
    Emit e(r.g);
    Value behind;
    switch (kind) {
    case 0:
      behind = y = e.mul(x, e.constantLike(1, x));
      break;
    case 1: // an operator that hands its operand on
      behind = y = r.op("clamp", {x});
      break;
    case 2:
      y = e.reshape(x, {2, 2});
      behind = e.reshape(y, {4});
      break;
    default:
      y = r.primitive("cast", {x}, {{"dtype", DType::F64}});
      behind = e.neg(e.neg(y));
    }
    Value loss = e.add(sum(behind), sum(e.mul(x, e.constantLike(2, x))));
    Values gradients = valueOf(r.g.addGradient(loss, std::vector<Value>{y, x}));
    r.g.outputs().assign(gradients.begin(), gradients.end());
    expectPlanMatches(r, TestTarget());
    TestTarget target;
    PlanRun run = valueOf(interpret(valueOf(makePlan(r.g, target, {})), target, r.data));
    for (int64_t i = 0; i < 4; ++i) {
      EXPECT_EQ(run.outputs[0].get(i), 1);
      EXPECT_EQ(run.outputs[1].get(i), 3);
    }
  }
}

/// A group may wait for one that has earlier and later nodes: merging must not close a circle through it.
TEST(Plan, MergesThatWouldCloseACircle) {
  Recorder r;
  TensorType type{DType::F64, {7, 7}};
  Value x = r.input(type), y = r.input(type);
  auto turned = [&](Value v) { return r.primitive("transpose", {v}, {{"permutation", Shape{1, 0}}}); };
  Value a = r.primitive("exp", {x});
  Value n = r.primitive("sort", {a}, {{"axis", 1}, {"descending", false}});
  Value p = r.primitive("exp", {y});
  r.g.outputs() = {r.primitive("add", {a, turned(p)}), r.primitive("add", {p, turned(n)})};
  expectPlanMatches(r, TestTarget());
}

/// Square matrices, so that anything fits anything; sorts and products keep groups apart, views and repeated rows and
/// columns tie them together.
TEST(Plan, RandomGraphs) {
  std::mt19937 random(20261201);
  auto one = [&](const std::vector<Value>& from) {
    size_t recent = std::min<size_t>(from.size(), 5);
    return from[random() % 2 ? from.size() - 1 - random() % recent : random() % from.size()];
  };
  for (int round = 0; round < 120; ++round) {
    SCOPED_TRACE(fmt::format("round {}", round));
    Recorder r;
    constexpr int64_t N = 3;
    std::vector<Value> square{r.input({DType::F64, {N, N}}), r.input({DType::F64, {N, N}})},
        row{r.input({DType::F64, {N}})};
    for (int step = 0; step < 14; ++step) {
      Value a = one(square), b = one(square);
      switch (random() % 8) {
      case 0:
        square.push_back(r.primitive(random() % 2 ? "tanh" : "neg", {a}));
        break;
      case 1:
      case 2:
        square.push_back(r.primitive(random() % 2 ? "add" : "sub", {a, b}));
        break;
      case 3:
        square.push_back(r.primitive("transpose", {a}, {{"permutation", Shape{1, 0}}}));
        break;
      case 4:
        square.push_back(r.primitive("sort", {a}, {{"axis", 1}, {"descending", false}}));
        break;
      case 5:
        row.push_back(r.primitive("reduce_sum", {a}, {{"axes", Shape{int64_t(random() % 2)}}, {"keepdim", false}}));
        break;
      case 6:
        square.push_back(
            r.primitive("mul", {a, r.primitive("broadcast", {one(row)},
                                               {{"shape", Shape{N, N}}, {"axes", Shape{int64_t(random() % 2)}}})}));
        break;
      default:
        square.push_back(r.primitive("tanh", {r.op("matmul", {a, b})}));
      }
    }
    r.g.outputs() = {square.back(), one(square), row.back()};
    for (bool loops : {true, false}) {
      TestTarget target;
      target.fuseLoops = loops;
      expectPlanMatches(r, target, 1e-9);
    }
  }
}

// ---- assigns and outputs

/// A copy of nothing is no launch that others could wait for.
TEST(Plan, SwappedStatesWithoutElements) {
  Recorder r;
  Value a = r.input({DType::F64, {0, 3}}, InputKind::State), b = r.input({DType::F64, {0, 3}}, InputKind::State);
  r.g.outputs() = {r.primitive("reduce_sum", {a}, {{"axes", Shape{0}}, {"keepdim", false}}), a};
  r.g.assigns() = {{0, b}, {1, a}};
  expectPlanMatches(r, TestTarget());
}

TEST(Plan, SwappedStates) {
  Recorder r;
  Value a = r.input({DType::F64, {5}}, InputKind::State), b = r.input({DType::F64, {5}}, InputKind::State);
  r.g.assigns() = {{0, b}, {1, a}};
  r.g.outputs() = {a, b, a};
  expectPlanMatches(r, TestTarget());
}

TEST(Plan, OldValueReadAfterTheProducer) {
  Recorder r;
  Value a = r.input({DType::F64, {4, 3}}, InputKind::State), x = r.input({DType::F64, {4, 3}});
  Value next = r.op("add", {a, x});
  Value sums = r.primitive("reduce_sum", {r.op("mul", {next, next})}, {{"axes", Shape{0}}, {"keepdim", false}});
  r.g.assigns() = {{0, next}};
  r.g.outputs() = {r.op("sub", {a, sums}), next, a}; // reads a after next is known
  expectPlanMatches(r, TestTarget());
  TestTarget single;
  single.fuseLoops = false;
  expectPlanMatches(r, single);
}

TEST(Plan, TransposedReadOfAnAssignedState) {
  Recorder r;
  Value a = r.input({DType::F64, {3, 3}}, InputKind::State);
  Value t = r.primitive("transpose", {a}, {{"permutation", Shape{1, 0}}});
  r.g.assigns() = {{0, r.op("add", {a, t})}}; // in place would read elements already written
  r.g.outputs() = {r.op("mul", {t, t})};
  expectPlanMatches(r, TestTarget());
}

TEST(Plan, AliasesAndViewsAsOutputs) {
  Recorder r;
  Value x = r.input({DType::F64, {4, 6}}), s = r.input({DType::F64, {6}}, InputKind::State);
  Value y = r.op("add", {x, s});
  Value flat = r.primitive("reshape", {y}, {{"shape", Shape{24}}});
  Value part = r.primitive("slice", {y}, {{"starts", Shape{1, 0}}, {"sizes", Shape{2, 6}}, {"steps", Shape{1, 1}}});
  Value turned = r.primitive("transpose", {y}, {{"permutation", Shape{1, 0}}});
  Value number = r.primitive("constant", {}, {{"value", 2.5}, {"dtype", DType::F64}});
  Value count = r.primitive("iota", {}, {{"shape", Shape{3, 2}}, {"axis", int64_t(0)}, {"dtype", DType::I64}});
  Value wide = r.primitive("broadcast", {s}, {{"shape", Shape{2, 6}}, {"axes", Shape{1}}});
  r.g.outputs() = {y, flat, part, turned, number, count, wide, x, s, y};
  expectPlanMatches(r, TestTarget());
}

TEST(Plan, ConcatenationsWrittenInPlace) {
  for (bool strides : {true, false}) {
    Recorder r;
    Value a = r.input({DType::F64, {2, 3}}), b = r.input({DType::F64, {2, 4}}), empty = r.input({DType::F64, {2, 0}});
    Value p = r.op("mul", {a, a}), q = r.op("add", {b, b});
    Value c = r.primitive("concatenate", {p, r.op("neg", {empty}), q, p}, {{"axis", int64_t(1)}});
    Value d = r.primitive("concatenate", {q, p}, {{"axis", int64_t(1)}});
    r.g.outputs() = {r.op("mul", {c, c}), d, r.op("neg", {p})};
    TestTarget target;
    target.anyStrides = strides;
    expectPlanMatches(r, target);
  }
}

TEST(Plan, AssignedTwiceIsRefused) {
  Recorder r;
  Value a = r.input({DType::F64, {5}}, InputKind::State);
  r.g.assigns() = {{0, r.op("neg", {a})}, {0, a}};
  auto plan = makePlan(r.g, TestTarget());
  ASSERT_FALSE(plan.ok());
  EXPECT_THAT(std::string(message(plan.status())), testing::HasSubstr("assigned twice"));
}

TEST(Plan, EmptyTensors) {
  Recorder r;
  Value a = r.input({DType::F64, {0, 3}}), b = r.input({DType::F64, {3, 2}});
  r.g.outputs() = {r.op("matmul", {a, b}), r.primitive("reduce_sum", {a}, {{"axes", Shape{0}}, {"keepdim", false}})};
  expectPlanMatches(r, TestTarget());
}

// ---- effort

/// Counts what planning asks the target.
struct CountingTarget : TestTarget {
  mutable int64_t questions = 0;
  std::string whyNotFuse(const Graph& g, std::span<const int32_t> nodes) const override {
    ++questions;
    return TestTarget::whyNotFuse(g, nodes);
  }
};

TEST(Plan, EffortGrowsWithLayersNotWithTheirSquare) {
  auto questions = [](int layers) {
    Recorder r = gptStep({2, 8, 16, 2, 20, layers});
    CountingTarget target;
    valueOf(makePlan(r.g, target));
    return target.questions;
  };
  int64_t two = questions(2), four = questions(4), eight = questions(8);
  EXPECT_GT(two, 0);
  // Each layer adds the same; a tenth for what all layers share.
  EXPECT_LE(10 * (eight - four), 11 * 2 * (four - two)) << two << ", " << four << " and " << eight << " questions";
}

// ---- the arena

TEST(MemoryPlanner, NothingOverlapsAndLittleIsWasted) {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    std::vector<Lifetime> all;
    for (int i = 0; i < 200; ++i) {
      int32_t first = static_cast<int32_t>(random() % 100);
      all.push_back({static_cast<int64_t>(random() % 5000), first, first + static_cast<int32_t>(random() % 20)});
    }
    ArenaPlan plan = packArena(all);
    TG_EXPECT_OK(checkArena(all, plan));
    EXPECT_LE(plan.sizeBytes, arenaLowerBound(all) * 3 / 2) << "seed 7 round " << round;
  }
}

TEST(MemoryPlanner, CheckFindsAnOverlap) {
  std::vector<Lifetime> all{{100, 0, 2}, {100, 2, 3}};
  EXPECT_FALSE(checkArena(all, {{0, 64}, 256}).ok());
  EXPECT_FALSE(checkArena(all, {{0, 192}, 256}).ok());
  TG_EXPECT_OK(checkArena(all, {{0, 128}, 256}));
}

} // namespace
} // namespace tegula::test
