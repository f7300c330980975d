// Broadcasts, views, moves, gathers and scatters.
#include "Evaluate.h"

namespace tegula {
namespace {

const std::vector<double> kSix = {1, 2, 3, 4, 5, 6};

TEST(Broadcast, RepeatsNewAndUnitAxes) {
  Attributes to = {{"shape", Shape{2, 3, 2}}, {"axes", Shape{0, 2}}};
  HostArray x = f32({2, 2}, {1, 2, 3, 4});
  for (const HostArray& input : {x, strided(x)})
    expectValues(run("broadcast", {input}, to), {1, 2, 1, 2, 1, 2, 3, 4, 3, 4, 3, 4});
  expectValues(run("broadcast", {f32({1, 2}, {1, 2})}, {{"shape", Shape{3, 2}}, {"axes", Shape{0, 1}}}),
               {1, 2, 1, 2, 1, 2});
  expectValues(run("broadcast", {f32({}, {7})}, {{"shape", Shape{2}}, {"axes", Shape{}}}), {7, 7});
  EXPECT_EQ(run("broadcast", {f32({1}, {7})}, {{"shape", Shape{0}}, {"axes", Shape{0}}}).shape(), Shape({0}));
  EXPECT_EQ(complaint("broadcast", {x.type()}, {{"shape", Shape{3, 2}}, {"axes", Shape{0, 1}}}),
            "broadcast: axis 0 of f32[2,2] has extent 2 but axis 0 of the result [3,2] has 3; only 1 repeats");
  EXPECT_EQ(complaint("broadcast", {x.type()}, {{"shape", Shape{2, 2}}, {"axes", Shape{1, 0}}}),
            "broadcast: axes [1,0] are not increasing; transpose first");
  EXPECT_EQ(complaint("broadcast", {x.type()}, {{"shape", Shape{2, -2}}, {"axes", Shape{0, 1}}}),
            "broadcast: the result f32[2,-2] has a negative extent at axis 1");
}

TEST(View, SlicesForwardsAndBackwards) {
  auto cut = [](Shape starts, Shape sizes, Shape steps) {
    return Attributes{{"starts", starts}, {"sizes", sizes}, {"steps", steps}};
  };
  HostArray x = f32({2, 3}, kSix);
  for (const HostArray& input : {x, strided(x)}) {
    expectValues(run("slice", {input}, cut({0, 1}, {2, 2}, {1, 1})), {2, 3, 5, 6});
    expectValues(run("slice", {input}, cut({1, 2}, {2, 3}, {-1, -1})), {6, 5, 4, 3, 2, 1});
    expectValues(run("slice", {input}, cut({0, 0}, {2, 2}, {1, 2})), {1, 3, 4, 6});
    expectValues(run("slice", {input}, cut({0, 0}, {0, 2}, {1, 1})), {});
  }
  EXPECT_EQ(complaint("slice", {x.type()}, cut({0, 1}, {2, 3}, {1, 1})),
            "slice: axis 1 of f32[2,3] has extent 3 but start 1, size 3, step 1 reads 1 to 3");
  EXPECT_EQ(complaint("slice", {x.type()}, cut({0, 1}, {2, 3}, {1, 0})),
            "slice: the step of axis 1 is 0; expected 1, -1 or more in size");
  EXPECT_EQ(complaint("slice", {x.type()}, cut({0}, {2}, {1})),
            "slice: attribute starts is [0] with 1 numbers; expected 2, one per axis");
  EXPECT_NE(complaint("slice", {x.type()}, cut({0, 1}, {2, INT64_MAX}, {1, INT64_MAX})), "");
}

TEST(View, TransposesAndReshapes) {
  HostArray x = f32({2, 3}, kSix);
  for (const HostArray& input : {x, strided(x)}) {
    expectValues(run("transpose", {input}, {{"permutation", Shape{1, 0}}}), {1, 4, 2, 5, 3, 6});
    expectValues(run("reshape", {input}, {{"shape", Shape{3, 1, 2}}}), kSix);
  }
  EXPECT_EQ(run("reshape", {f32({1, 1}, {5})}, {{"shape", Shape{}}}).shape(), Shape());
  EXPECT_EQ(complaint("reshape", {x.type()}, {{"shape", Shape{4, 2}}}),
            "reshape: f32[2,3] has 6 elements but [4,2] has 8");
  EXPECT_EQ(complaint("transpose", {x.type()}, {{"permutation", Shape{1, 1}}}),
            "transpose: permutation [1,1] names axis 1 twice");
}

TEST(Move, PadsAroundAndBetween) {
  HostArray x = f32({2, 2}, {1, 2, 3, 4});
  Attributes around = {{"low", Shape{0, 1}}, {"high", Shape{1, 0}}, {"interior", Shape{0, 2}}, {"value", 9.0}};
  for (const HostArray& input : {x, strided(x)})
    expectValues(run("pad", {input}, around), {9, 1, 9, 9, 2, 9, 3, 9, 9, 4, 9, 9, 9, 9, 9});
  expectValues(run("pad", {HostArray::zeros(DType::F32, {0})},
                   {{"low", Shape{1}}, {"high", Shape{1}}, {"interior", Shape{3}}, {"value", -kInfinity}}),
               {-kInfinity, -kInfinity});
  expectValues(run("pad", {i64({1}, {4})},
                   {{"low", Shape{1}}, {"high", Shape{0}}, {"interior", Shape{0}}, {"value", int64_t{-1}}}),
               {-1, 4});
  EXPECT_EQ(complaint("pad", {x.type()},
                      {{"low", Shape{0, -1}}, {"high", Shape{0, 0}}, {"interior", Shape{0, 0}}, {"value", 0.0}}),
            "pad: axis 1 has low -1, high 0, interior 0; expected 0 or more (slice cuts)");
}

TEST(Move, ConcatenatesWithEmptyParts) {
  HostArray a = f32({2, 1}, {1, 2}), b = f32({2, 2}, {3, 4, 5, 6}), empty = HostArray::zeros(DType::F32, {2, 0});
  expectValues(run("concatenate", {a, empty, strided(b)}, {{"axis", int64_t{1}}}), {1, 3, 4, 2, 5, 6});
  expectValues(run("concatenate", {b, b}, {{"axis", int64_t{0}}}), {3, 4, 5, 6, 3, 4, 5, 6});
  EXPECT_EQ(complaint("concatenate", {a.type(), b.type()}, {{"axis", int64_t{0}}}),
            "concatenate: axis 1 of input 0 f32[2,1] has extent 1 but of input 1 f32[2,2] 2; only axis 0 may differ");
  EXPECT_EQ(complaint("concatenate", {a.type(), b.type()}, {{"axis", int64_t{3}}}),
            "concatenate: axis 3 is outside rank 2");
  EXPECT_EQ(complaint("concatenate", {}), "concatenate: takes one or more inputs but was given 0");
}

TEST(Gather, TakesAndPutsBack) {
  HostArray x = f32({3, 2}, kSix), indices = i64({2, 2}, {2, 0, -1, 3});
  Attributes rows = {{"axis", int64_t{0}}};
  for (const HostArray& input : {x, strided(x)})
    expectValues(run("gather", {input, strided(indices)}, rows), {5, 6, 1, 2, kNan, kNan, kNan, kNan});
  expectValues(run("gather", {i64({3}, {7, 8, 9}), i64({2}, {1, 5})}, rows), {8, 0});
  expectValues(run("gather", {x, i64({}, {1})}, {{"axis", int64_t{1}}}), {2, 4, 6});
  HostArray updates = f32({3, 2}, {1, 2, 10, 20, 100, 200});
  for (const HostArray& input : {updates, strided(updates)}) {
    expectValues(
        run("scatter_add", {input, array(DType::I32, {3}, {1, 1, 9})}, {{"axis", int64_t{0}}, {"size", int64_t{2}}}),
        {0, 0, 11, 22});
    expectValues(run("scatter_add", {input, i64({2}, {0, 0})}, {{"axis", int64_t{1}}, {"size", int64_t{1}}}),
                 {3, 30, 300});
  }
  EXPECT_EQ(complaint("gather", {x.type(), x.type()}, rows), "gather: indices are f32[3,2]; expected integers");
  EXPECT_EQ(complaint("scatter_add", {x.type(), {DType::I64, {4}}}, {{"axis", int64_t{0}}, {"size", int64_t{2}}}),
            "scatter_add: axis 0 of updates f32[3,2] has extent 3 but axis 0 of indices i64[4] has 4");
}

TEST(Gather, ElementsTakeAndPutBack) {
  HostArray x = f32({3, 2}, kSix), indices = i64({2, 2}, {2, 0, 5, 1});
  Attributes rows = {{"axis", int64_t{0}}};
  expectValues(run("gather_elements", {strided(x), indices}, rows), {5, 2, kNan, 4});
  expectValues(run("scatter_elements_add", {f32({2, 2}, {1, 2, 4, 8}), i64({2, 2}, {1, 0, 1, 7})},
                   {{"axis", int64_t{0}}, {"size", int64_t{3}}}),
               {0, 2, 5, 0, 0, 0});
  EXPECT_EQ(complaint("gather_elements", {x.type(), {DType::I64, {2, 3}}}, rows),
            "gather_elements: axis 1 of x f32[3,2] has extent 2 but of indices i64[2,3] 3; only axis 0 may differ");
}

TEST(Source, IotaConstantRelayout) {
  expectValues(run("iota", {}, {{"shape", Shape{2, 3}}, {"axis", int64_t{1}}, {"dtype", DType::I32}}),
               {0, 1, 2, 0, 1, 2});
  expectValues(run("iota", {}, {{"shape", Shape{3}}, {"axis", int64_t{0}}, {"dtype", DType::BF16}}), {0, 1, 2});
  expectValues(run("constant", {}, {{"value", 0.1}, {"dtype", DType::F32}}), {static_cast<double>(0.1f)});
  expectValues(run("constant", {}, {{"value", true}, {"dtype", DType::Bool}}), {1});
  expectValues(run("constant", {}, {{"value", int64_t{-3}}, {"dtype", DType::F64}}), {-3});
  EXPECT_EQ(complaint("constant", {}, {{"value", 0.5}, {"dtype", DType::I32}}),
            "constant: value 0.5 is not a whole number but dtype is i32");
  HostArray x = f32({2, 3}, kSix);
  expectValues(run("relayout", {x}, {{"panel_axis", int64_t{1}}, {"panel", int64_t{32}}, {"pair", int64_t{1}}}), kSix);
  EXPECT_EQ(
      complaint("relayout", {x.type()}, {{"panel_axis", int64_t{2}}, {"panel", int64_t{32}}, {"pair", int64_t{1}}}),
      "relayout: panel_axis is 2; expected 0 (panels of rows) or 1 (panels of columns)");
}

TEST(Source, RandomUniformIsAFunctionOfItsNumbers) {
  auto draw = [](int64_t seed, int64_t step, int64_t stream, Shape shape, DType d) {
    return run("random_uniform", {i64({}, {static_cast<double>(seed)}), i64({}, {static_cast<double>(step)})},
               {{"shape", shape}, {"stream", stream}, {"dtype", d}});
  };
  HostArray a = draw(1, 2, 3, {1000}, DType::F32);
  EXPECT_EQ(a.toVector(), draw(1, 2, 3, {10, 100}, DType::F32).toVector()); // only the element's index matters
  EXPECT_NE(a.toVector(), draw(2, 2, 3, {1000}, DType::F32).toVector());
  EXPECT_NE(a.toVector(), draw(1, 3, 3, {1000}, DType::F32).toVector());
  EXPECT_NE(a.toVector(), draw(1, 2, 4, {1000}, DType::F32).toVector());
  for (DType d : {DType::F16, DType::BF16, DType::F32, DType::F64}) {
    double sum = 0;
    for (double x : draw(1, 2, 3, {10000}, d).toVector()) {
      ASSERT_GE(x, 0);
      ASSERT_LT(x, 1) << name(d);
      sum += x;
    }
    EXPECT_NEAR(sum / 10000, 0.5, 5 / (100 * 3.46) + 0x1p-9); // five deviations, and bf16's truncation
  }
}

} // namespace
} // namespace tegula
