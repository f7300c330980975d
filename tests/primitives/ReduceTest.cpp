// Folds, positions of extremes, order and running results.
#include "Evaluate.h"

namespace tegula {
namespace {

Attributes axes(Shape s, bool keep = false) { return {{"axes", s}, {"keepdim", keep}}; }

TEST(Reduce, FoldsAnyAxesOfAnyLayout) {
  HostArray x = f32({2, 3, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  for (const HostArray& input : {x, strided(x)}) {
    expectValues(run("reduce_sum", {input}, axes({1})), {9, 12, 27, 30});
    expectValues(run("reduce_sum", {input}, axes({0, 2})), {18, 26, 34});
    expectValues(run("reduce_sum", {input}, axes({0, 1, 2})), {78});
    expectValues(run("reduce_max", {input}, axes({1})), {5, 6, 11, 12});
    expectValues(run("reduce_min", {input}, axes({2})), {1, 3, 5, 7, 9, 11});
    expectValues(run("reduce_prod", {input}, axes({1})), {15, 48, 693, 960});
    expectValues(run("reduce_sum", {input}, axes({})), x.toVector());
  }
  EXPECT_EQ(run("reduce_sum", {x}, axes({1}, true)).shape(), Shape({2, 1, 2}));
  EXPECT_EQ(run("reduce_sum", {x}, axes({0, 1, 2})).shape(), Shape());
}

TEST(Reduce, EmptyAxesGiveTheNeutralElement) {
  HostArray x = HostArray::zeros(DType::F32, {3, 0}), i = HostArray::zeros(DType::I8, {1, 0}),
            u = HostArray::zeros(DType::U8, {1, 0});
  expectValues(run("reduce_sum", {x}, axes({1})), {0, 0, 0});
  expectValues(run("reduce_prod", {x}, axes({1})), {1, 1, 1});
  expectValues(run("reduce_max", {x}, axes({1})), {-kInfinity, -kInfinity, -kInfinity});
  expectValues(run("reduce_min", {x}, axes({1})), {kInfinity, kInfinity, kInfinity});
  expectValues(run("reduce_max", {i}, axes({1})), {-128});
  expectValues(run("reduce_min", {i}, axes({1})), {127});
  expectValues(run("reduce_max", {u}, axes({1})), {0});
  expectValues(run("reduce_sum", {x}, axes({0})), {});
}

TEST(Reduce, NanWinsWhereverItStands) {
  for (int at = 0; at < 5; ++at) {
    std::vector<double> values = {kInfinity, -1, 2, -kInfinity, 3};
    values[at] = kNan;
    for (const char* name : {"reduce_max", "reduce_min", "reduce_sum", "reduce_prod"})
      expectValues(run(name, {f32({5}, values)}, axes({0})), {kNan});
  }
}

TEST(Reduce, PositiveSmallIntegersHaveAPositiveMinimum) {
  std::vector<double> values(37, 9);
  values[20] = 4;
  for (DType d : {DType::I8, DType::U8}) expectValues(run("reduce_min", {array(d, {37}, values)}, axes({0})), {4});
}

TEST(Reduce, AccumulatesWiderThanTheType) {
  std::vector<double> values(1001, 1);
  values[0] = 256; // in bf16, 256 + 1 is 256
  expectValues(run("reduce_sum", {array(DType::BF16, {1001}, values)}, axes({0})), {1256});
}

TEST(Reduce, BoolsFoldByMaxAndMin) {
  HostArray p = array(DType::Bool, {2, 2}, {0, 1, 1, 1});
  expectValues(run("reduce_max", {p}, axes({1})), {1, 1});
  expectValues(run("reduce_min", {p}, axes({1})), {0, 1});
}

TEST(Reduce, RulesNameTheFault) {
  TensorType x{DType::F32, {2, 3}};
  EXPECT_EQ(complaint("reduce_sum", {x}, axes({2})), "reduce_sum: axes [2] names axis 2, outside rank 2");
  EXPECT_EQ(complaint("reduce_sum", {x}, axes({-1})), "reduce_sum: axes [-1] names axis -1, outside rank 2");
  EXPECT_EQ(complaint("reduce_max", {x}, axes({1, 1})), "reduce_max: axes [1,1] names axis 1 twice");
  EXPECT_EQ(complaint("reduce_sum", {x}), "reduce_sum: attribute axes is missing; expected a list of ints");
  EXPECT_EQ(complaint("reduce_sum", {{DType::Bool, {2}}}, axes({0})),
            "reduce_sum: x is bool[2]; expected floats or integers; cast it first");
}

TEST(ArgExtreme, FirstOfTiesAndNanWins) {
  Attributes last = {{"axis", int64_t{1}}, {"keepdim", false}};
  HostArray x = f32({4, 3}, {5, 7, 7, kNan, 6, 8, 1, kNan, kNan, -1, -1, -1});
  for (const HostArray& input : {x, strided(x)}) {
    expectValues(run("arg_max", {input}, last), {1, 0, 1, 0});
    expectValues(run("arg_min", {input}, last), {0, 0, 1, 0});
  }
  expectValues(run("arg_max", {x}, {{"axis", int64_t{0}}}), {1, 2, 2});
  EXPECT_EQ(run("arg_max", {x}, {{"axis", int64_t{0}}, {"keepdim", true}}).type(), (TensorType{DType::I64, {1, 3}}));
  EXPECT_EQ(complaint("arg_max", {{DType::F32, {2, 0}}}, last),
            "arg_max: axis 1 of f32[2,0] is empty, so no element can be named");
  EXPECT_EQ(complaint("arg_min", {{DType::F32, {}}}, {{"axis", int64_t{0}}}), "arg_min: axis 0 is outside rank 0");
}

TEST(Sort, StableWithNanLast) {
  HostArray x = f32({2, 5}, {3, kNan, 1, 3, kInfinity, 0, -0.0, kNan, -kInfinity, kNan});
  auto up = evaluate("sort", {strided(x)}, {{"axis", int64_t{1}}, {"descending", false}}).value();
  expectValues(up[0], {1, 3, 3, kInfinity, kNan, -kInfinity, 0, 0, kNan, kNan});
  expectValues(up[1], {2, 0, 3, 4, 1, 3, 0, 1, 2, 4});
  auto down = evaluate("sort", {x}, {{"axis", int64_t{1}}, {"descending", true}}).value();
  expectValues(down[0], {kInfinity, 3, 3, 1, kNan, 0, 0, -kInfinity, kNan, kNan});
  expectValues(down[1], {4, 0, 3, 2, 1, 0, 1, 3, 2, 4});
  auto columns = evaluate("sort", {i64({2, 2}, {4, 1, 2, 3})}, {{"axis", int64_t{0}}}).value();
  expectValues(columns[0], {2, 1, 4, 3});
  EXPECT_EQ(evaluate("sort", {HostArray::zeros(DType::F32, {0, 3})}, {{"axis", int64_t{0}}}).value()[1].shape(),
            Shape({0, 3}));
}

TEST(Scan, RunsFromEitherEnd) {
  auto scan = [](const char* kind, int64_t axis, bool reverse) {
    return Attributes{{"kind", Symbol(kind)}, {"axis", axis}, {"reverse", reverse}};
  };
  HostArray x = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  for (const HostArray& input : {x, strided(x)}) {
    expectValues(run("scan", {input}, scan("sum", 1, false)), {1, 3, 6, 4, 9, 15});
    expectValues(run("scan", {input}, scan("sum", 1, true)), {6, 5, 3, 15, 11, 6});
    expectValues(run("scan", {input}, scan("prod", 0, false)), {1, 2, 3, 4, 10, 18});
  }
  expectValues(run("scan", {f32({4}, {2, kNan, 9, 1})}, scan("max", 0, false)), {2, kNan, kNan, kNan});
  expectValues(run("scan", {f32({4}, {2, kNan, 9, 1})}, scan("min", 0, true)), {kNan, kNan, 1, 1});
  EXPECT_EQ(complaint("scan", {x.type()}, scan("mean", 0, false)),
            "scan: kind is mean; expected sum, prod, max or min");
}

} // namespace
} // namespace tegula
