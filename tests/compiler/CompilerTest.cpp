// The compiler's face: stages, which nodes fuse, and code of a target that has none of a larger one's instructions.
#include "compiler/Compiler.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>

namespace tegula {
namespace {

using testing::HasSubstr;
using testing::Not;

std::shared_ptr<const OperatorLibrary> library() {
  static const auto instance = *OperatorLibrary::loadEmbedded();
  return instance;
}

std::unique_ptr<Compiler> compilerFor(std::string_view target) {
  auto compiler = Compiler::create(*targetByName(target), library());
  EXPECT_TRUE(compiler.ok()) << message(compiler.status());
  return *std::move(compiler);
}

Value call(Graph& g, Symbol op, std::initializer_list<Value> inputs, const Attributes& attrs = {}) {
  auto results = g.addPrimitive(op, std::span<const Value>(inputs.begin(), inputs.size()), attrs);
  if (!results.ok()) throw std::runtime_error(std::string(message(results.status())));
  return (*results)[0];
}

Attributes over(int64_t axis, bool keepdim) { return {{"axes", Shape{axis}}, {"keepdim", keepdim}}; }

Value softmax(Graph& g, Value x) {
  Shape shape = g.typeOf(x).shape;
  auto repeat = [&](Value v) { return call(g, "broadcast", {v}, {{"shape", shape}, {"axes", Shape{0, 1}}}); };
  Value e = call(g, "exp", {call(g, "sub", {x, repeat(call(g, "reduce_max", {x}, over(1, true)))})});
  return call(g, "div", {e, repeat(call(g, "reduce_sum", {e}, over(1, true)))});
}

Group groupOf(Graph body, std::initializer_list<Value> outputs) {
  Group group{std::move(body), {}, {}, "test"};
  for (const Graph::Input& i : group.body.inputs())
    group.inputLayouts.push_back(Layout::rowMajor(group.body.node(i.node).results[0].shape));
  for (Value v : outputs) {
    group.body.outputs().push_back(v);
    group.outputLayouts.push_back(Layout::rowMajor(group.body.typeOf(v).shape));
  }
  return group;
}

KernelRef kernelOf(const Compiler& compiler, const Group& group) {
  auto schedule = compiler.schedule(group);
  if (!schedule.ok()) throw std::runtime_error(std::string(message(schedule.status())));
  return schedule->dispatches[0].kernel;
}

Group softmaxGroup(DType d, int64_t rows, int64_t cols) {
  Graph g(library());
  Value x = g.addInput("x", {d, {rows, cols}});
  Value y = softmax(g, x);
  return groupOf(std::move(g), {y});
}

TEST(Compiler, StagesAreNamedAndUnknownOnesRefused) {
  EXPECT_EQ(*parseStage("tile"), Stage::Tile);
  EXPECT_THAT(std::string(message(parseStage("tiles").status())),
              HasSubstr("stages are source, pattern, graph, schedule, tile, mlir, llvm, asm"));
}

TEST(Compiler, EveryStageShowsSomethingElse) {
  auto compiler = compilerFor("x86-64-v4");
  KernelRef kernel = kernelOf(*compiler, softmaxGroup(DType::F32, 4, 100));
  std::set<std::string> texts;
  for (Stage s : {Stage::Pattern, Stage::Schedule, Stage::Tile, Stage::Mlir, Stage::Llvm, Stage::Asm}) {
    auto text = compiler->show(*kernel, s);
    ASSERT_TRUE(text.ok()) << message(text.status());
    EXPECT_FALSE(text->empty()) << static_cast<int>(s);
    texts.insert(*text);
  }
  EXPECT_EQ(texts.size(), 6u);
  EXPECT_THAT(*compiler->show(*kernel, Stage::Pattern), HasSubstr("exp"));
  EXPECT_THAT(*compiler->show(*kernel, Stage::Schedule), HasSubstr("loop row"));
  EXPECT_THAT(*compiler->show(*kernel, Stage::Tile), HasSubstr("tile.map \"exp\""));
  EXPECT_THAT(*compiler->show(*kernel, Stage::Mlir), Not(HasSubstr("tile.")));
}

TEST(Compiler, SameStructureMeansSameKernel) {
  auto compiler = compilerFor("x86-64-v3");
  std::string key = kernelOf(*compiler, softmaxGroup(DType::F32, 4, 100))->key;
  EXPECT_EQ(key, kernelOf(*compiler, softmaxGroup(DType::F32, 1, 100))->key);
  EXPECT_EQ(key, kernelOf(*compiler, softmaxGroup(DType::F32, 9, 7))->key);
  EXPECT_NE(key, kernelOf(*compiler, softmaxGroup(DType::BF16, 4, 100))->key);
  EXPECT_NE(key, kernelOf(*compilerFor("x86-64-v4"), softmaxGroup(DType::F32, 4, 100))->key);
}

TEST(Compiler, CompilingTwiceGivesTheSameBytes) {
  auto compiler = compilerFor("x86-64-v4");
  KernelRef kernel = kernelOf(*compiler, softmaxGroup(DType::F32, 4, 100));
  EXPECT_EQ(compiler->compile(*kernel)->bytes, compiler->compile(*kernel)->bytes);
}

/// EVEX encodings show as 512-bit registers, mask registers, or vector registers past 15.
TEST(Compiler, V3CodeHasNoEvexInstruction) {
  auto compiler = compilerFor("x86-64-v3");
  Graph g(library());
  Value table = g.addInput("table", {DType::BF16, {50, 37}}), rows = g.addInput("rows", {DType::I64, {9}});
  Value taken = call(g, "gather", {table, rows}, {{"axis", int64_t{0}}});
  Value y = call(g, "tanh", {call(g, "cast", {taken}, {{"dtype", DType::F32}})});
  std::vector<Group> groups;
  groups.push_back(groupOf(std::move(g), {y}));
  for (DType d : {DType::F32, DType::BF16, DType::F16, DType::F64}) groups.push_back(softmaxGroup(d, 4, 100));
  for (const Group& group : groups) {
    auto text = compiler->show(*kernelOf(*compiler, group), Stage::Asm);
    ASSERT_TRUE(text.ok()) << message(text.status());
    EXPECT_THAT(*text, Not(HasSubstr("zmm")));
    EXPECT_THAT(*text, Not(testing::ContainsRegex("%?k[1-7]}|[xy]mm(1[6-9]|2[0-9]|3[01])")));
  }
}

class Fusion : public testing::Test {
protected:
  std::string why(std::initializer_list<Value> values) {
    std::vector<int32_t> nodes;
    for (Value v : values) nodes.push_back(v.node);
    return compilerFor("x86-64-v3")->whyNotFuse(g, nodes);
  }
  Graph g{library()};
  Value x = g.addInput("x", {DType::F32, {6, 10}});
};

TEST_F(Fusion, RowReductionsFuseWithTheirProducersAndUsers) {
  Value y = softmax(g, x);
  g.outputs() = {y};
  std::vector<int32_t> all;
  for (int32_t n = 1; n < static_cast<int32_t>(g.nodes().size()); ++n) all.push_back(n);
  EXPECT_EQ(compilerFor("x86-64-v3")->whyNotFuse(g, all), "");
}

TEST_F(Fusion, ReductionsOverDifferentAxesStayApart) {
  Value a = call(g, "reduce_sum", {x}, over(0, false)), b = call(g, "reduce_sum", {x}, over(1, false));
  g.outputs() = {a, b};
  EXPECT_THAT(why({a, b}), HasSubstr("different axes"));
}

TEST_F(Fusion, ColumnSumsYieldOnlyReducedResults) {
  Value scaled = call(g, "mul", {x, x}), sum = call(g, "reduce_sum", {scaled}, over(0, false));
  g.outputs() = {sum};
  EXPECT_EQ(why({scaled, sum}), "");
  g.outputs() = {sum, scaled};
  EXPECT_THAT(why({scaled, sum}), HasSubstr("axes of its own"));
}

TEST_F(Fusion, OrderedAndMovingPrimitivesAreGroupsOfTheirOwn) {
  Value y = call(g, "neg", {x}), sorted = call(g, "sort", {y}, {{"axis", int64_t{1}}, {"descending", false}});
  g.outputs() = {sorted};
  EXPECT_THAT(why({y, sorted}), HasSubstr("sort is a group of its own"));
}

TEST_F(Fusion, GatherReadsOperandsOnly) {
  Value i = g.addInput("i", {DType::I64, {3}}), y = call(g, "neg", {x});
  Value taken = call(g, "gather", {y, i}, {{"axis", int64_t{0}}}), z = call(g, "exp", {taken});
  g.outputs() = {z};
  EXPECT_THAT(why({y, taken}), HasSubstr("gather reads operands only"));
  EXPECT_EQ(why({taken, z}), "");
}

} // namespace
} // namespace tegula
