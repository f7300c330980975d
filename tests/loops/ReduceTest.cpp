// Reductions over inner, outer, middle and all axes, alone and inside softmax, normalisation and cross entropy.
#include "LoopRun.h"

#include <cmath>

namespace tegula::test {
namespace {

Attributes over(std::initializer_list<int64_t> axes, bool keepdim = false) {
  return {{"axes", Shape(axes)}, {"keepdim", keepdim}};
}

/// Sums of n terms of size 2 with blocked partial sums: (blocks of 64 + log) roundings of the running sum at most.
double sumTolerance(int64_t n, DType d) {
  return 2.0 * static_cast<double>(n) * (64 + 16) * roundoff(d == DType::F64 ? DType::F64 : DType::F32) +
         roundoff(d) * 2;
}

TEST(ReduceLoops, SumsAlongEveryAxis) {
  for (DType d : {DType::F32, DType::BF16, DType::F64})
    for (auto [a, r, z] :
         {std::array<int64_t, 3>{2, 3, 5}, {1, 1, 1}, {3, 67, 35}, {2, 300, 16}, {1, 0, 4}, {0, 3, 4}, {2, 5, 513}})
      for (auto axes : {Shape{2}, Shape{0}, Shape{1}, Shape{0, 1}, Shape{1, 2}, Shape{0, 2}, Shape{0, 1, 2}}) {
        Shape shape{a, r, z};
        int64_t n = 1;
        for (int64_t axis : axes) n *= shape[static_cast<int>(axis)];
        LoopCase c{{randomArray(d, shape, 21)},
                   [&](GraphBuilder& b, std::span<const Value> x) {
                     return std::vector<Value>{call(b, "reduce_sum", {x[0]}, {{"axes", axes}, {"keepdim", false}})};
                   },
                   {}};
        expectLoops(c, sumTolerance(n, d), fmt::format("sum {} over {} {}", toString(shape), toString(axes), name(d)));
      }
}

TEST(ReduceLoops, ExtremesPassNanAndStartAtTheTypesEnd) {
  for (DType d : {DType::F32, DType::BF16, DType::I8, DType::U8, DType::I64, DType::Bool})
    for (auto axes : {Shape{1}, Shape{0}, Shape{0, 1}})
      for (int64_t cols : {0, 1, 16, 37, 150}) {
        HostArray x = randomArray(d, {6, cols}, 22, d == DType::U8 ? 1 : -100, -1 + (d == DType::U8 ? 100 : 0));
        if (isFloat(d) && cols > 1) x.set(cols + 1, std::numeric_limits<double>::quiet_NaN());
        LoopCase c{{x},
                   [&](GraphBuilder& b, std::span<const Value> v) {
                     Attributes attrs{{"axes", axes}, {"keepdim", true}};
                     return std::vector<Value>{call(b, "reduce_max", {v[0]}, attrs),
                                               call(b, "reduce_min", {v[0]}, attrs)};
                   },
                   {}};
        expectLoops(c, 0, fmt::format("extremes 6x{} over {} {}", cols, toString(axes), name(d)));
      }
}

TEST(ReduceLoops, ProductsOfIntegersWrap) {
  LoopCase c{{randomArray(DType::I32, {3, 40}, 23, -9, 9)},
             [](GraphBuilder& b, std::span<const Value> x) {
               return std::vector<Value>{call(b, "reduce_prod", {x[0]}, over({1})),
                                         call(b, "reduce_sum", {x[0]}, over({1}))};
             },
             {}};
  expectLoops(c, 0, "prod i32");
}

Value softmax(GraphBuilder& b, Value x) {
  Shape shape = b.typeOf(x).shape;
  Shape all;
  for (int i = 0; i < shape.rank(); ++i) all.push_back(i);
  int64_t last = shape.rank() - 1;
  Value top = broadcastTo(b, call(b, "reduce_max", {x}, over({last}, true)), shape, all);
  Value e = call(b, "exp", {call(b, "sub", {x, top})});
  return call(b, "div", {e, broadcastTo(b, call(b, "reduce_sum", {e}, over({last}, true)), shape, all)});
}

TEST(ReduceLoops, Softmax) {
  for (DType d : {DType::F32, DType::F64})
    for (int64_t cols : {1, 2, 15, 16, 17, 64, 65, 1000, 4099}) {
      LoopCase c{{randomArray(d, {3, cols}, 24)},
                 [](GraphBuilder& b, std::span<const Value> x) { return std::vector<Value>{softmax(b, x[0])}; },
                 {}};
      expectLoops(c, 32 * roundoff(d), fmt::format("softmax 3x{} {}", cols, name(d)));
    }
}

TEST(ReduceLoops, SoftmaxInPlaceAndTransposed) {
  HostArray x = randomArray(DType::F32, {5, 77}, 25);
  auto build = [](GraphBuilder& b, std::span<const Value> v) { return std::vector<Value>{softmax(b, v[0])}; };
  expectLoops({{x}, build, {0}}, 32 * roundoff(DType::F32), "softmax in place");
  int64_t swap[] = {1, 0};
  expectLoops({{x.transpose(swap)}, build, {}}, 32 * roundoff(DType::F32), "softmax of a transpose");
}

TEST(ReduceLoops, LayerNormWithStatistics) {
  for (int64_t cols : {1, 33, 128, 770}) {
    Shape shape{2, 3, cols};
    LoopCase c{{randomArray(DType::F32, shape, 26), randomArray(DType::F32, {cols}, 27)},
               [&](GraphBuilder& b, std::span<const Value> v) {
                 auto mean = [&](Value x) {
                   Value sum = call(b, "reduce_sum", {x}, over({2}, true));
                   Value n = broadcastTo(
                       b, call(b, "constant", {}, {{"value", static_cast<double>(cols)}, {"dtype", DType::F32}}),
                       {2, 3, 1}, {});
                   return call(b, "div", {sum, n});
                 };
                 Value m = mean(v[0]), centred = call(b, "sub", {v[0], broadcastTo(b, m, shape, {0, 1, 2})});
                 Value eps =
                     broadcastTo(b, call(b, "constant", {}, {{"value", 1e-5}, {"dtype", DType::F32}}), {2, 3, 1}, {});
                 Value r = call(b, "rsqrt", {call(b, "add", {mean(call(b, "mul", {centred, centred})), eps})});
                 Value y = call(b, "mul", {centred, broadcastTo(b, r, shape, {0, 1, 2})});
                 return std::vector<Value>{call(b, "mul", {y, broadcastTo(b, v[1], shape, {2})}), m, r};
               },
               {}};
    expectLoops(c, cols == 1 ? 1e-3 : 1e-5,
                fmt::format("layer norm {}", cols)); // 1/sqrt(eps) magnifies the rounding of a zero variance
  }
}

TEST(ReduceLoops, ColumnSumsOfProducts) {
  for (int64_t rows : {1, 63, 64, 65, 1024, 3001})
    for (int64_t cols : {1, 17, 128, 300}) {
      LoopCase c{{randomArray(DType::F32, {rows, cols}, 28), randomArray(DType::F32, {rows, cols}, 29),
                  randomArray(DType::F32, {rows, 1}, 30)},
                 [&](GraphBuilder& b, std::span<const Value> v) {
                   Value scaled = call(b, "mul", {v[0], broadcastTo(b, v[2], {rows, cols}, {0, 1})});
                   return std::vector<Value>{call(b, "reduce_sum", {call(b, "mul", {scaled, v[1]})}, over({0})),
                                             call(b, "reduce_sum", {v[1]}, over({0}))};
                 },
                 {}};
      expectLoops(c, 8 * std::sqrt(static_cast<double>(rows)) * 64 * roundoff(DType::F32),
                  fmt::format("columns {}x{}", rows, cols));
    }
}

TEST(ReduceLoops, FullReductionsAreSplitWithoutThreads) {
  for (int64_t n : {0, 1, 1000, 16384, 16385, 100003}) {
    LoopCase c{{randomArray(DType::F32, {n}, 31), randomArray(DType::F32, {}, 32)},
               [](GraphBuilder& b, std::span<const Value> v) {
                 Value sum = call(b, "reduce_sum", {call(b, "mul", {v[0], v[0]})}, over({0}));
                 return std::vector<Value>{call(b, "mul", {call(b, "sqrt", {sum}), v[1]}),
                                           call(b, "reduce_max", {v[0]}, over({0}))};
               },
               {}};
    expectLoops(c, 64 * roundoff(DType::F32), fmt::format("norm of {}", n));
  }
}

TEST(ReduceLoops, NearConstantRowsKeepTheirVariance) {
  HostArray x = HostArray::zeros(DType::F64, {4, 256});
  for (int64_t i = 0; i < x.elements(); ++i)
    x.set(i, std::pow(10, static_cast<double>(i / 256 * 2)) + 1e-3 * static_cast<double>(i % 256));
  LoopCase c{{x},
             [](GraphBuilder& b, std::span<const Value> v) {
               return std::vector<Value>{call(b, "reduce_sum", {v[0]}, over({1}))};
             },
             {}};
  expectLoops(c, 1e-12, "sum f64");
}

TEST(ReduceLoops, ArgExtremes) {
  for (const char* fn : {"arg_max", "arg_min"})
    for (int64_t axis : {0, 1})
      for (int64_t cols : {1, 16, 50}) {
        HostArray x = randomArray(DType::F32, {7, cols}, 33);
        for (int64_t i = 0; i < x.elements(); i += 3) x.set(i, 1.0); // ties
        if (cols > 1) x.set(2 * cols + 1, std::numeric_limits<double>::quiet_NaN());
        LoopCase c{{x},
                   [&](GraphBuilder& b, std::span<const Value> v) {
                     return std::vector<Value>{call(b, fn, {v[0]}, {{"axis", axis}, {"keepdim", false}})};
                   },
                   {}};
        expectLoops(c, 0, fmt::format("{} 7x{} axis {}", fn, cols, axis));
      }
}

} // namespace
} // namespace tegula::test
