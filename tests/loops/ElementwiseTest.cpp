// Fused elementwise groups: every type, sizes around vectors and blocks, every kind of stride.
#include "LoopRun.h"

namespace tegula::test {
namespace {

const int64_t kSizes[] = {0, 1, 7, 15, 16, 17, 63, 64, 65, 997, 9000};

TEST(ElementwiseLoops, AddAtEverySize) {
  for (DType d : {DType::F32, DType::BF16, DType::F16, DType::F64, DType::I64, DType::I8, DType::U8})
    for (int64_t n : kSizes) {
      LoopCase c{
          {randomArray(d, {n}, 1), randomArray(d, {n}, 2)},
          [](GraphBuilder& b, std::span<const Value> x) { return std::vector<Value>{call(b, "add", {x[0], x[1]})}; },
          {}};
      expectLoops(c, 0, fmt::format("add x={} {}", n, name(d)));
    }
}

TEST(ElementwiseLoops, IntermediatesAreRoundedToTheirType) {
  LoopCase c{{randomArray(DType::BF16, {333}, 1), randomArray(DType::BF16, {333}, 2)},
             [](GraphBuilder& b, std::span<const Value> x) {
               Value product = call(b, "mul", {x[0], x[1]});
               return std::vector<Value>{call(b, "sub", {call(b, "add", {product, x[0]}), product})};
             },
             {}};
  expectLoops(c, 0, "bf16 chain");
}

TEST(ElementwiseLoops, StridesBroadcastsAndTransposes) {
  for (auto [rows, cols] :
       {std::pair<int64_t, int64_t>{1, 1}, {3, 5}, {17, 33}, {64, 130}, {5, 1}, {1, 70}, {0, 4}, {4, 0}}) {
    HostArray x = randomArray(DType::F32, {rows, cols}, 3), t = randomArray(DType::F32, {cols, rows}, 4);
    HostArray bias = randomArray(DType::F32, {cols}, 5), column = randomArray(DType::F32, {rows, 1}, 6);
    int64_t swap[] = {1, 0};
    Shape shape{rows, cols};
    LoopCase c{{x, t.transpose(swap), bias, column, randomArray(DType::F32, {}, 7)},
               [&](GraphBuilder& b, std::span<const Value> v) {
                 Value sum = call(b, "add", {v[0], v[1]});
                 sum = call(b, "add", {sum, broadcastTo(b, v[2], shape, {1})});
                 sum = call(b, "mul", {sum, broadcastTo(b, v[3], shape, {0, 1})});
                 return std::vector<Value>{call(b, "mul", {sum, broadcastTo(b, v[4], shape, {})})};
               },
               {}};
    expectLoops(c, 0, fmt::format("strides {}x{}", rows, cols));
  }
}

TEST(ElementwiseLoops, Functions) {
  for (DType d : {DType::F32, DType::F64}) {
    LoopCase c{{randomArray(d, {131}, 8)},
               [](GraphBuilder& b, std::span<const Value> x) {
                 std::vector<Value> results;
                 for (const char* fn :
                      {"neg", "abs", "sign", "sqrt", "rsqrt", "floor", "exp", "log", "sin", "cos", "tanh", "erf"})
                   results.push_back(call(b, fn, {x[0]}));
                 return results;
               },
               {}};
    expectLoops(c, 8 * roundoff(d), fmt::format("functions {}", name(d))); // Math.h: at most 4 ulp
  }
}

TEST(ElementwiseLoops, IntegerArithmeticNeverTraps) {
  for (DType d : {DType::I32, DType::I64, DType::U8, DType::I8}) {
    HostArray a = randomArray(d, {67}, 9, d == DType::U8 ? 0 : -9, 9),
              divisor = randomArray(d, {67}, 10, d == DType::U8 ? 0 : -3, 3);
    if (d == DType::I64) a.setInt(0, std::numeric_limits<int64_t>::min());
    divisor.setInt(0, -1);
    divisor.setInt(1, 0);
    LoopCase c{{a, divisor},
               [](GraphBuilder& b, std::span<const Value> x) {
                 std::vector<Value> results;
                 for (const char* fn : {"div", "remainder", "pow", "maximum", "minimum", "mul", "less", "equal"})
                   results.push_back(call(b, fn, {x[0], x[1]}));
                 return results;
               },
               {}};
    expectLoops(c, 0, fmt::format("integer arithmetic {}", name(d)));
  }
}

TEST(ElementwiseLoops, FloatRemainderAndPower) {
  HostArray a = randomArray(DType::F32, {67}, 11), d = randomArray(DType::F32, {67}, 12);
  a.set(3, 1e30);
  d.set(3, 3e-12);
  a.set(4, -7);
  d.set(4, 0);
  LoopCase remainder{
      {a, d},
      [](GraphBuilder& b, std::span<const Value> x) { return std::vector<Value>{call(b, "remainder", {x[0], x[1]})}; },
      {}};
  expectLoops(remainder, 0, "remainder f32");
  LoopCase power{{a, d},
                 [](GraphBuilder& b, std::span<const Value> x) {
                   return std::vector<Value>{call(b, "pow", {call(b, "abs", {x[0]}), x[1]})};
                 },
                 {}};
  expectLoops(power, 4 * roundoff(DType::F32), "pow f32");
}

TEST(ElementwiseLoops, CastsBetweenAllTypes) {
  const DType types[] = {DType::Bool, DType::I8,  DType::U8,   DType::I16, DType::I32,
                         DType::I64,  DType::F16, DType::BF16, DType::F32, DType::F64};
  for (DType from : types) {
    HostArray x = randomArray(from, {37}, 13, from == DType::U8 ? 0 : -100, 100);
    if (isFloat(from)) {
      x.set(0, std::numeric_limits<double>::quiet_NaN());
      x.set(1, 1e5);
      x.set(2, -1e30);
      x.set(3, 1.00390625 + 1e-9); // just above a tie of bf16
    }
    if (from == DType::I64) // near ties of bf16 and f16 that f64 cannot hold
      for (int64_t i = 0; i < 8; ++i) {
        int64_t tie = (int64_t{1} << 62) + (int64_t{1} << 54), near = tie + (i % 4 - 1);
        x.setInt(i, i < 4 ? near : -near);
      }
    LoopCase c{{x},
               [&](GraphBuilder& b, std::span<const Value> v) {
                 std::vector<Value> results;
                 for (DType to : types) results.push_back(call(b, "cast", {v[0]}, {{"dtype", to}}));
                 return results;
               },
               {}};
    expectLoops(c, 0, fmt::format("casts of {}", name(from)));
  }
}

TEST(ElementwiseLoops, SelectIotaConstantAndLogic) {
  Shape shape{9, 21};
  LoopCase c{
      {randomArray(DType::F32, shape, 14)},
      [&](GraphBuilder& b, std::span<const Value> v) {
        Value row = call(b, "iota", {}, {{"shape", shape}, {"axis", int64_t{0}}, {"dtype", DType::I64}});
        Value col = call(b, "iota", {}, {{"shape", shape}, {"axis", int64_t{1}}, {"dtype", DType::I64}});
        Value none = broadcastTo(b, call(b, "constant", {}, {{"value", -1.5}, {"dtype", DType::F32}}), shape, {});
        Value causal = call(b, "less_equal", {col, row});
        Value odd = call(b, "logical_not", {call(b, "logical_and", {causal, call(b, "is_nan", {v[0]})})});
        return std::vector<Value>{call(b, "select", {call(b, "logical_and", {causal, odd}), v[0], none}), causal};
      },
      {}};
  expectLoops(c, 0, "causal mask");
}

TEST(ElementwiseLoops, InPlaceUpdatesReadBeforeTheyWrite) {
  LoopCase c{{randomArray(DType::F32, {1000}, 15), randomArray(DType::F32, {1000}, 16)},
             [](GraphBuilder& b, std::span<const Value> x) {
               return std::vector<Value>{call(b, "add", {x[0], x[1]}), call(b, "sub", {x[1], x[0]})};
             },
             {0, 1}};
  expectLoops(c, 0, "in place");
}

TEST(ElementwiseLoops, RandomNumbersAreTheReferences) {
  HostArray seed = HostArray::zeros(DType::I64, {}), step = HostArray::zeros(DType::I64, {});
  seed.setInt(0, 0x123456789abcdef);
  step.setInt(0, 77);
  for (DType d : {DType::F32, DType::BF16, DType::F16, DType::F64}) {
    LoopCase c{{seed, step},
               [&](GraphBuilder& b, std::span<const Value> x) {
                 return std::vector<Value>{
                     call(b, "random_uniform", {x[0], x[1]},
                          {{"shape", Shape{5, 83}}, {"stream", int64_t{-12345678901}}, {"dtype", d}})};
               },
               {}};
    expectLoops(c, 0, fmt::format("random_uniform {}", name(d)));
  }
}

} // namespace
} // namespace tegula::test
