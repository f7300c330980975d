// Gathers, scatters, pieces, views, order: groups whose addresses are computed or whose axes have an order.
#include "LoopRun.h"

#include <algorithm>
#include <cmath>

namespace tegula::test {
namespace {

using Build = std::function<std::vector<Value>(GraphBuilder&, std::span<const Value>)>;

Build one(Symbol op, Attributes attrs) {
  return [=](GraphBuilder& b, std::span<const Value> x) {
    auto results = b.primitive(op, x, attrs);
    if (!results.ok()) throw std::runtime_error(std::string(message(results.status())));
    return std::vector<Value>(results->begin(), results->end());
  };
}

TEST(IndexLoops, GatherRowsWithIndicesOutside) {
  for (DType d : {DType::F32, DType::BF16, DType::I64})
    for (DType index : {DType::I64, DType::I32})
      for (int64_t cols : {1, 16, 37, 130})
        for (int64_t axis : {0, 1}) {
          LoopCase c{{randomArray(d, {9, cols}, 41), randomArray(index, {2, 5}, 42, -2, axis == 0 ? 11 : cols + 2)},
                     one("gather", {{"axis", axis}}),
                     {}};
          expectLoops(c, 0, fmt::format("gather 9x{} axis {} {}", cols, axis, name(d)));
        }
}

TEST(IndexLoops, GatherFeedsArithmetic) {
  LoopCase c{{randomArray(DType::F32, {11, 48}, 43), randomArray(DType::I64, {4, 6}, 44, 0, 11),
              randomArray(DType::F32, {6, 48}, 45)},
             [](GraphBuilder& b, std::span<const Value> v) {
               Value rows = call(b, "gather", {v[0], v[1]}, {{"axis", int64_t{0}}});
               return std::vector<Value>{call(b, "add", {rows, broadcastTo(b, v[2], {4, 6, 48}, {1, 2})})};
             },
             {}};
  expectLoops(c, 0, "embedding + positions");
}

TEST(IndexLoops, GatherElements) {
  for (int64_t axis : {0, 1})
    for (auto shape : {Shape{6, 1}, Shape{6, 40}, Shape{1, 17}}) {
      Shape from = shape;
      from[static_cast<int>(axis)] = 23;
      LoopCase c{{randomArray(DType::F32, from, 46), randomArray(DType::I64, shape, 47, -1, 24)},
                 one("gather_elements", {{"axis", axis}}),
                 {}};
      expectLoops(c, 0, fmt::format("gather_elements {} axis {}", toString(shape), axis));
    }
}

TEST(IndexLoops, ScatterAddIsOrderedAndSkipsOutside) {
  for (DType d : {DType::F32, DType::BF16, DType::I64})
    for (int64_t cols : {1, 16, 70}) {
      LoopCase rows{{randomArray(d, {4, 5, cols}, 48), randomArray(DType::I64, {4, 5}, 49, -1, 7)},
                    one("scatter_add", {{"axis", int64_t{0}}, {"size", int64_t{6}}}),
                    {}};
      expectLoops(rows, 20 * roundoff(d), fmt::format("scatter_add rows x{} {}", cols, name(d)));
      LoopCase columns{{randomArray(d, {3, 12}, 50), randomArray(DType::I32, {12}, 51, 0, cols)},
                       one("scatter_add", {{"axis", int64_t{1}}, {"size", cols}}),
                       {}};
      expectLoops(columns, 20 * roundoff(d), fmt::format("scatter_add columns x{} {}", cols, name(d)));
    }
}

TEST(IndexLoops, ScatterElementsAdd) {
  for (int64_t axis : {0, 1}) {
    LoopCase c{{randomArray(DType::F32, {8, 19}, 52), randomArray(DType::I64, {8, 19}, 53, -1, 13)},
               one("scatter_elements_add", {{"axis", axis}, {"size", int64_t{12}}}),
               {}};
    expectLoops(c, 20 * roundoff(DType::F32), fmt::format("scatter_elements_add axis {}", axis));
  }
}

TEST(IndexLoops, PiecesAndViews) {
  HostArray x = randomArray(DType::F32, {5, 7, 11}, 54);
  expectLoops(
      {{x},
       one("pad", {{"low", Shape{1, 0, 2}}, {"high", Shape{0, 3, 1}}, {"interior", Shape{0, 1, 2}}, {"value", -3.0}}),
       {}},
      0, "pad");
  expectLoops({{x, randomArray(DType::F32, {5, 2, 11}, 55), x}, one("concatenate", {{"axis", int64_t{1}}}), {}}, 0,
              "concatenate");
  expectLoops(
      {{x}, one("slice", {{"starts", Shape{4, 1, 0}}, {"sizes", Shape{3, 3, 5}}, {"steps", Shape{-2, 2, 2}}}), {}}, 0,
      "slice");
  expectLoops({{x}, one("transpose", {{"permutation", Shape{2, 0, 1}}}), {}}, 0, "transpose");
  expectLoops({{x}, one("reshape", {{"shape", Shape{35, 11}}}), {}}, 0, "reshape");
  int64_t order[] = {1, 2, 0};
  expectLoops({{x.transpose(order)}, one("reshape", {{"shape", Shape{55, 7}}}), {}}, 0, "reshape of a transpose");
  expectLoops({{x.transpose(order)}, one("cast", {{"dtype", DType::F32}}), {}}, 0, "copy of a transpose");
}

TEST(IndexLoops, Scans) {
  for (const char* kind : {"sum", "max", "prod"})
    for (int64_t axis : {0, 1, 2})
      for (bool reverse : {false, true}) {
        LoopCase c{{randomArray(DType::F32, {3, 20, 17}, 56)},
                   one("scan", {{"kind", Symbol(kind)}, {"axis", axis}, {"reverse", reverse}}),
                   {}};
        expectLoops(c, std::string_view(kind) == "prod" ? 1e-4 : 1e-5,
                    fmt::format("scan {} axis {} reverse {}", kind, axis, reverse));
      }
}

TEST(IndexLoops, SortIsStableAndPutsNanLast) {
  for (bool descending : {false, true})
    for (int64_t axis : {0, 1})
      for (int64_t n : {1, 16, 45}) {
        HostArray x = randomArray(DType::F32, {4, n}, 57);
        for (int64_t i = 0; i < x.elements(); i += 4) x.set(i, 0.5);
        x.set(2, std::numeric_limits<double>::quiet_NaN());
        expectLoops({{x}, one("sort", {{"axis", axis}, {"descending", descending}}), {}}, 0,
                    fmt::format("sort 4x{} axis {} descending {}", n, axis, descending));
      }
}

TEST(IndexLoops, GenericContractions) {
  for (DType d : {DType::F32, DType::BF16, DType::I32})
    for (auto [m, k, n] : {std::array<int64_t, 3>{1, 1, 1}, {5, 9, 17}, {3, 70, 33}, {4, 0, 5}, {0, 3, 4}}) {
      LoopCase c{
          {randomArray(d, {2, m, k}, 58), randomArray(d, {k, n, 2}, 59)},
          one("contract",
              {{"batch_a", Shape{0}}, {"batch_b", Shape{2}}, {"contract_a", Shape{2}}, {"contract_b", Shape{0}}}),
          {}};
      expectLoops(c, 4 * static_cast<double>(k + 1) * roundoff(DType::F32) + 8 * roundoff(d),
                  fmt::format("contract {}x{}x{} {}", m, k, n, name(d)));
    }
}

TEST(IndexLoops, Convolutions) {
  for (int64_t groups : {1, 2}) {
    LoopCase c{{randomArray(DType::F32, {2, 4, 9, 13}, 60), randomArray(DType::F32, {6, 4 / groups, 3, 2}, 61)},
               one("convolution", {{"strides", Shape{2, 1}},
                                   {"pad_low", Shape{1, 0}},
                                   {"pad_high", Shape{1, 2}},
                                   {"dilation", Shape{1, 3}},
                                   {"groups", groups}}),
               {}};
    expectLoops(c, 200 * roundoff(DType::F32), fmt::format("convolution groups {}", groups));
  }
}

/// A position outside the image adds nothing, whatever weight meets it.
TEST(IndexLoops, ConvolutionsOfInfiniteWeightsSkipThePadding) {
  for (DType d : {DType::F32, DType::BF16, DType::F16}) {
    HostArray image = randomArray(d, {1, 2, 5, 19}, 66), weights = randomArray(d, {3, 2, 3, 3}, 67);
    for (int64_t i = 0; i < image.elements(); ++i) image.set(i, std::fabs(image.get(i)) + 1);
    for (int64_t tap : {0, 13, 26, 31, 53}) weights.set(tap, std::numeric_limits<double>::infinity());
    LoopCase c{{image, weights},
               one("convolution", {{"strides", Shape{1, 1}},
                                   {"pad_low", Shape{1, 0}},
                                   {"pad_high", Shape{0, 2}},
                                   {"dilation", Shape{1, 1}},
                                   {"groups", int64_t{1}}}),
               {}};
    expectLoops(c, 200 * roundoff(d), fmt::format("convolution of infinite weights {}", name(d)));
  }
}

TEST(IndexLoops, RelayoutPacksAndPadsWithZeros) {
  for (int axis : {0, 1})
    for (int64_t pair : {1, 2}) {
      const int64_t kPanel = 6, rows = 5, cols = 13;
      HostArray x = randomArray(DType::F32, {rows, cols}, 62);
      LoopCase c{{x}, one("relayout", {{"panel_axis", int64_t{axis}}, {"panel", kPanel}, {"pair", pair}}), {}};
      int64_t panelled = axis == 0 ? rows : cols, other = axis == 0 ? cols : rows;
      int64_t panels = (panelled + kPanel - 1) / kPanel, blocks = (other + pair - 1) / pair;
      for (const Target& target : loopTargets()) {
        auto packed = runRelayout(c, target, panels * blocks * kPanel * pair);
        ASSERT_TRUE(packed.ok()) << message(packed.status());
        for (int64_t i = 0; i < packed->elements(); ++i) {
          int64_t q = i % pair, p = i / pair % kPanel, block = i / pair / kPanel % blocks,
                  panel = i / pair / kPanel / blocks;
          int64_t along = panel * kPanel + p, across = block * pair + q;
          bool inside = along < panelled && across < other;
          double want = !inside ? 0 : axis == 0 ? x.get(along * cols + across) : x.get(across * cols + along);
          ASSERT_EQ(packed->get(i), want) << "axis " << axis << " pair " << pair << " place " << i;
        }
      }
    }
}

TEST(IndexLoops, KeysHoldNoExtent) {
  auto keyOf = [](int64_t rows, int64_t cols) {
    LoopCase c{{randomArray(DType::F32, {rows, 3, cols}, 63), randomArray(DType::F32, {cols}, 64)},
               [=](GraphBuilder& b, std::span<const Value> v) {
                 Value y = call(b, "add", {v[0], broadcastTo(b, v[1], {rows, 3, cols}, {2})});
                 return std::vector<Value>{call(b, "reduce_sum", {y}, {{"axes", Shape{2}}, {"keepdim", true}})};
               },
               {}};
    return keyAt(c, loopTargets()[0]);
  };
  std::string key = keyOf(4, 10);
  EXPECT_EQ(key, keyOf(1, 10));
  EXPECT_EQ(key, keyOf(7, 33));
}

/// A step of generation (T = 1) and a batch of 1 run the kernel of [B,H,T,D] heads, with the same bits as a kernel of
/// their own.
TEST(IndexLoops, ExtentsOfOneRunTheGeneralKernel) {
  auto heads = [](int64_t B, int64_t T) {
    int64_t order[] = {0, 2, 1, 3};
    HostArray x = randomArray(DType::F32, {B, T, 4, 12}, 65).transpose(order),
              y = randomArray(DType::F32, {B, T, 4, 12}, 66).transpose(order);
    return LoopCase{{x, y},
                    [](GraphBuilder& b, std::span<const Value> v) {
                      return std::vector<Value>{call(b, "reduce_sum", {call(b, "mul", {v[0], v[1]})},
                                                     {{"axes", Shape{3}}, {"keepdim", false}})};
                    },
                    {}};
  };
  const Target& target = loopTargets()[0];
  std::string key = keyAt(heads(3, 40), target);
  loop::AxisMemory memory;
  ASSERT_TRUE(runLoops(heads(3, 40), target, Calls::Whole, &memory).ok());
  for (auto [B, T] : {std::pair<int64_t, int64_t>{1, 40}, {4, 1}, {1, 1}, {2, 7}}) {
    EXPECT_EQ(keyAt(heads(B, T), target), key) << B << " " << T;
    auto general = runLoops(heads(B, T), target, Calls::Whole, &memory), own = runLoops(heads(B, T), target);
    ASSERT_TRUE(general.ok() && own.ok());
    EXPECT_TRUE(std::ranges::equal((*general)[0].bytes(), (*own)[0].bytes())) << B << " " << T;
  }
}

} // namespace
} // namespace tegula::test
