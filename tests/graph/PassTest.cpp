// Each pass keeps what a graph means; rules of simplify hold for NaN, infinities and -0; equal nodes merge, unequal do
// not.
#include "GptStep.h"
#include "graph/layout/StridedView.h"
#include "graph/passes/Passes.h"
#include <bit>

namespace tegula::test {
namespace {

int64_t count(const Graph& g, Symbol op) {
  return std::count_if(g.nodes().begin(), g.nodes().end(),
                       [&](const Node& n) { return n.op == op && n.kind != Node::Kind::Input; });
}

/// Same bits, any NaN equal to any other.
void expectSameBits(const HostArray& a, const HostArray& b) {
  ASSERT_EQ(a.type(), b.type());
  for (int64_t i = 0; i < a.elements(); ++i) {
    double x = a.get(i), y = b.get(i);
    EXPECT_TRUE((std::isnan(x) && std::isnan(y)) || std::bit_cast<uint64_t>(x) == std::bit_cast<uint64_t>(y))
        << "element " << i << ": " << x << " and " << y;
  }
}

HostArray specialValues() {
  double v[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, 1.5, -2.25, 1e-42};
  return HostArray::fromValues(DType::F32, {8}, v);
}

/// One input x of special values; `build` gives the output.
template <typename F> Graph unary(F&& build) {
  Graph g(library());
  Value x = g.addInput("x", {DType::F32, {8}});
  Emit e(g);
  g.outputs().push_back(build(e, x));
  TG_EXPECT_OK(e.status());
  return g;
}

template <typename F> Graph expectSimplified(F&& build) {
  Graph g = unary(build), s = valueOf(removeDeadCode(valueOf(simplify(g))));
  HostArray x = specialValues();
  expectSameBits(valueOf(evaluate(s, std::span(&x, 1))).outputs[0], valueOf(evaluate(g, std::span(&x, 1))).outputs[0]);
  return s;
}

TEST(Simplify, ArithmeticIdentities) {
  auto nodes = [](auto build) { return expectSimplified(build).nodes().size(); };
  EXPECT_EQ(nodes([](Emit& e, Value x) { return e.mul(x, e.constantLike(1, x)); }), 1u);
  EXPECT_EQ(nodes([](Emit& e, Value x) { return e.sub(x, e.constantLike(0, x)); }), 1u);
  EXPECT_EQ(nodes([](Emit& e, Value x) { return e.add(x, e.constantLike(-0.0, x)); }), 1u);
  EXPECT_EQ(nodes([](Emit& e, Value x) { return e.neg(e.neg(x)); }), 1u);
  EXPECT_EQ(nodes([](Emit& e, Value x) { return e.div(x, e.constantLike(1, x)); }), 1u);
  EXPECT_EQ(nodes([](Emit& e, Value x) { return e.cast(e.cast(x, DType::F64), DType::F32); }), 1u);
  EXPECT_EQ(nodes([](Emit& e, Value x) { return e.primitive("pow", {x, e.constantLike(2, x)}); }), 2u);
  // Not identities: these stay.
  EXPECT_GT(nodes([](Emit& e, Value x) { return e.add(x, e.constantLike(0.0, x)); }), 1u);
  EXPECT_GT(nodes([](Emit& e, Value x) { return e.mul(x, e.constantLike(0, x)); }), 1u);
  EXPECT_GT(nodes([](Emit& e, Value x) { return e.sub(x, x); }), 1u);
  EXPECT_GT(nodes([](Emit& e, Value x) { return e.div(x, x); }), 1u);
  EXPECT_GT(nodes([](Emit& e, Value x) { return e.cast(e.cast(x, DType::BF16), DType::F32); }), 1u);
}

TEST(Simplify, ViewsFold) {
  Graph s = expectSimplified([](Emit& e, Value x) {
    Value m = e.transpose(e.transpose(e.reshape(e.reshape(x, {2, 4}), {4, 2}), {1, 0}), {1, 0});
    return e.reshape(e.reverse(e.reverse(m, {0}), {0}), {8});
  });
  EXPECT_EQ(s.nodes().size(), 1u);
  s = expectSimplified([](Emit& e, Value x) {
    Value row = e.broadcast(x, {1, 8}, {1});
    return e.broadcast(e.mul(row, e.constantLike(3, row)), {4, 8}, {0, 1});
  });
  EXPECT_EQ(s.typeOf({s.node(s.outputs()[0].node).inputs[0].node, 0}).shape, Shape{8})
      << "the product is computed once a number\n"
      << toText(s);
  s = expectSimplified([](Emit& e, Value x) {
    return e.reshape(e.broadcast(e.reduceSum(e.reshape(x, {2, 4}), {1}, true), {2, 4}, {0, 1}), {8});
  });
  for (const Node& n : s.nodes())
    if (n.op == Symbol("reduce_sum")) EXPECT_FALSE(n.attrs.getBool("keepdim"));
}

TEST(Simplify, RecordedSlicesStayAtEveryExtent) {
  for (int64_t size : {3, 7, 8}) {
    Graph s = expectSimplified([size](Emit& e, Value x) { return e.slice(x, {0}, {size}, {1}); });
    EXPECT_EQ(count(s, "slice"), 1) << "of " << size;
  }
}

TEST(Simplify, CastsMoveTowardsTheComputation) {
  Graph s = expectSimplified([](Emit& e, Value x) {
    Value narrow = e.cast(x, DType::BF16);
    Value wide = e.transpose(e.reshape(e.cast(narrow, DType::F32), {2, 4}), {1, 0});
    return e.cast(wide, DType::BF16);
  });
  EXPECT_EQ(count(s, "cast"), 1);
}

TEST(CommonSubexpressions, MergeEqualNodesOnly) {
  Graph g(library());
  Value x = g.addInput("x", {DType::F32, {3}}), seed = g.addInput("seed", {DType::I64, {}}),
        step = g.addInput("step", {DType::I64, {}});
  Emit e(g);
  auto noise = [&](int64_t stream) {
    return e.primitive("random_uniform", {seed, step},
                       {{"shape", Shape{3}}, {"stream", stream}, {"dtype", DType::F32}});
  };
  Value a = e.add(e.mul(x, x), e.mul(x, x));
  Value b = e.add(noise(1), e.add(noise(1), noise(2)));
  Value zeros = e.add(e.mul(x, e.constantLike(0.0, x)), e.mul(x, e.constantLike(-0.0, x)));
  g.outputs() = {e.add(a, e.add(b, zeros))};
  TG_EXPECT_OK(e.status());
  Graph m = valueOf(removeDeadCode(valueOf(mergeCommonSubexpressions(g))));
  EXPECT_EQ(count(m, "random_uniform"), 2);
  EXPECT_EQ(count(m, "constant"), 2) << "0 and -0 differ";
  EXPECT_EQ(count(m, "mul"), 3);
}

TEST(DeadCode, KeepsInputsAndWhatIsAssigned) {
  Graph g(library());
  Value x = g.addInput("x", {DType::F32, {3}}), s = g.addInput("s", {DType::F32, {3}}, InputKind::State);
  Emit e(g);
  e.mul(x, x);
  g.assigns().push_back({1, e.neg(s)});
  Graph d = valueOf(removeDeadCode(g));
  EXPECT_EQ(d.inputs().size(), 2u);
  EXPECT_EQ(count(d, "mul"), 0);
  EXPECT_EQ(count(d, "neg"), 1);
}

TEST(Passes, EveryGraphOnTheWayMeansTheSame) {
  Recorder r = gptStep({2, 3, 4, 2, 7, 1});
  EvaluationResult expected = valueOf(evaluate(r.g, r.data));
  TestTarget target;
  PlanOptions options;
  std::vector<std::string> seen;
  options.observe = [&](std::string_view pass, const Graph& g) {
    seen.emplace_back(pass);
    TG_EXPECT_OK(g.verify());
    EvaluationResult now = valueOf(evaluate(g, r.data));
    for (size_t o = 0; o < now.outputs.size(); ++o)
      EXPECT_LE(difference(now.outputs[o], expected.outputs[o]), 1e-5) << pass;
    for (size_t a = 0; a < now.assigned.size(); ++a)
      EXPECT_LE(difference(now.assigned[a], expected.assigned[a]), 1e-5) << pass;
  };
  valueOf(makePlan(r.g, target, options));
  EXPECT_EQ(seen, passNames());
}

// ---- JSON

TEST(Json, RoundTripsEveryStage) {
  Recorder r = gptStep({2, 3, 4, 2, 7, 1});
  auto check = [](const Graph& g) {
    std::string json = toJson(g);
    Graph back = valueOf(graphFromJson(json, library()));
    EXPECT_EQ(toJson(back), json);
    EXPECT_EQ(toText(back), toText(g));
  };
  check(r.g);
  PlanOptions options;
  options.observe = [&](std::string_view, const Graph& g) { check(g); };
  valueOf(makePlan(r.g, TestTarget(), options));
}

TEST(Json, RefusesWhatIsNotAGraph) {
  std::string good = toJson(unary([](Emit& e, Value x) { return e.mul(x, e.constantLike(INFINITY, x)); }));
  TG_EXPECT_OK(graphFromJson(good, library()).status());
  auto refused = [&](std::string from, std::string to, std::string why) {
    std::string bad = good;
    size_t at = bad.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    bad.replace(at, from.size(), to);
    auto g = graphFromJson(bad, library());
    ASSERT_FALSE(g.ok()) << bad;
    EXPECT_THAT(std::string(message(g.status())), testing::HasSubstr(why));
  };
  refused("\"format\": 1", "\"format\": 2", "format 2 was found");
  refused("\"mul\"", "\"mull\"", "no primitive `mull`");
  refused("f32[8]", "f32[9]", "");
  refused("f32[8]", "f99[8]", "is not a type");
  refused("\"input_kind\": \"data\"", "\"input_kind\": \"date\"", "date");
  refused("\"inf\"", "\"infinite\"", "not known");
  refused("}", "", "not JSON");
  EXPECT_FALSE(graphFromJson("{}", library()).ok());
  EXPECT_FALSE(graphFromJson("[1]", library()).ok());
}

// ---- strides

TEST(StridedView, ReshapesWhereStridesCan) {
  StridedView turned{{4, 3, 2}, {2, 8, 1}, 0}; // [3, 4, 2] with its first axes exchanged
  EXPECT_FALSE(reshapeView(turned, {12, 2}));
  EXPECT_FALSE(reshapeView(turned, {24}));
  auto split = reshapeView(turned, {2, 2, 3, 1, 2});
  ASSERT_TRUE(split);
  EXPECT_EQ(split->strides[0], 4);
  EXPECT_EQ(split->strides[1], 2);
  EXPECT_EQ(split->strides[2], 8);
  EXPECT_EQ(split->strides[4], 1);
  StridedView part{{2, 4, 2}, {16, 2, 1}, 6}; // rows of a larger array
  EXPECT_EQ(reshapeView(part, {2, 8})->strides, (Shape{16, 1}));
  EXPECT_FALSE(reshapeView(part, {16}));
  EXPECT_EQ(reshapeView(StridedView::rowMajor({0, 3}), {3, 0})->shape, (Shape{3, 0}));
}

/// An axis that is repeated has stride 0, which is not "no axis yet".
TEST(StridedView, ReshapesOfRepeatedAxes) {
  EXPECT_FALSE(reshapeView(StridedView{{3, 4}, {1, 0}, 0}, {12}));
  EXPECT_FALSE(reshapeView(StridedView{{2, 3, 4}, {3, 1, 0}, 0}, {2, 12}));
  EXPECT_FALSE(reshapeView(StridedView{{3, 4}, {0, 1}, 0}, {12}));
  EXPECT_EQ(reshapeView(StridedView{{3, 4}, {0, 0}, 0}, {12})->strides, (Shape{0}));
  EXPECT_EQ(reshapeView(StridedView{{3, 4}, {1, 0}, 0}, {3, 2, 2})->strides, (Shape{1, 0, 0}));
}

TEST(StridedView, AgreesWithTheReference) {
  std::mt19937 random(11);
  for (int round = 0; round < 200; ++round) {
    Graph g(library());
    Value x = g.addInput("x", {DType::I64, {2, 3, 4}});
    Emit e(g);
    Value v = x;
    std::optional<StridedView> view = StridedView::rowMajor({2, 3, 4});
    for (int step = 0; step < 4 && view; ++step) {
      Shape s = e.shapeOf(v);
      switch (random() % 5) {
      case 4: {
        if (s.rank() > 4) continue;
        int at = static_cast<int>(random() % (s.rank() + 1));
        Shape repeated, axes;
        for (int i = 0; i <= s.rank(); ++i) {
          if (i != at) axes.push_back(i);
          repeated.push_back(i == at ? 2 : s[i < at ? i : i - 1]);
        }
        v = e.primitive("broadcast", {v}, {{"shape", repeated}, {"axes", axes}});
        break;
      }
      case 0: {
        Shape p = countingShape(s.rank());
        for (int i = s.rank() - 1; i > 0; --i) std::swap(p[i], p[static_cast<int>(random() % (i + 1))]);
        v = e.primitive("transpose", {v}, {{"permutation", p}});
        break;
      }
      case 1:
        v = e.reverse(v, {static_cast<int64_t>(random() % s.rank())});
        break;
      case 2:
        v = e.primitive("reshape", {v},
                        {{"shape", s.elements() % 4 == 0 ? Shape{s.elements() / 4, 2, 2} : Shape{s.elements()}}});
        break;
      default: {
        Shape starts = filledShape(s.rank(), 0), sizes = s;
        int axis = static_cast<int>(random() % s.rank());
        if (sizes[axis] > 1) starts[axis] = 1, sizes[axis] -= 1;
        v = e.primitive("slice", {v}, {{"starts", starts}, {"sizes", sizes}, {"steps", filledShape(s.rank(), 1)}});
      }
      }
      view = applyView(g.node(v.node), *view);
    }
    if (!view) continue;
    g.outputs() = {v};
    HostArray data({DType::I64, {2, 3, 4}});
    for (int64_t i = 0; i < 24; ++i) data.setInt(i, i);
    HostArray expected = valueOf(evaluate(g, std::span(&data, 1))).outputs[0];
    HostArray found = HostArray::wrap(expected.type(), view->strides, data.as<int64_t>() + view->offset, nullptr);
    ASSERT_EQ(found.toIntVector(), expected.toIntVector()) << "seed 11 round " << round << "\n" << toText(g);
  }
}

} // namespace
} // namespace tegula::test
