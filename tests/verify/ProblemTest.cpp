// Problem lines: canonical form, inputs that are a function of the line, and refusals.
#include "verify/Problem.h"
#include "Library.h"

#include <gmock/gmock.h>

namespace tegula {
namespace {

using testing::HasSubstr;

std::string canonical(std::string_view line) {
  auto problem = parseProblem(line, *library());
  return problem.ok() ? toString(*problem) : std::string(message(problem.status()));
}

TEST(Problem, CanonicalLinesReadBack) {
  for (const auto& [line, expected] : std::initializer_list<std::pair<std::string_view, std::string_view>>{
           {"softmax x=3,5 f32", "softmax x=3,5:f32 f32"},
           {"  softmax   x=3,5:e bf16 axis=0", "softmax x=3,5:bf16:e bf16 axis=0"},
           {"matmul a=3,4:t b=4,5:f64 seed=9", "matmul a=3,4:f32:t b=4,5:f64 f32 seed=9"},
           {"embedding w=10,4 i=7:0..10", "embedding w=10,4:f32 i=7:i64:0..10 f32"},
           {"concatenate xs=2,3 xs=2,0 xs=2,4 axis=1", "concatenate xs=2,3:f32 xs=2,0:f32 xs=2,4:f32 f32 axis=1"},
           {"exp x=", "exp x=:f32 f32"},
           {"reduce_sum x=2,3 axes=1 keepdim=true", "reduce_sum x=2,3:f32 f32 axes=1 keepdim=true"},
           {"clamp x=3 low=-0.5 high=inf", "clamp x=3:f32 f32 high=inf low=-0.5"}}) {
    EXPECT_EQ(canonical(line), expected);
    EXPECT_EQ(canonical(expected), expected);
  }
}

TEST(Problem, RefusalsNameTheFault) {
  EXPECT_THAT(canonical("sofmax x=3"), HasSubstr("no operator or primitive sofmax; did you mean softmax?"));
  EXPECT_THAT(canonical("softmax y=3"), HasSubstr("softmax: input x is missing; expected x=shape"));
  EXPECT_THAT(canonical("softmax x=3 axi=0"), HasSubstr("softmax: no input or attribute axi; did you mean axis?"));
  EXPECT_THAT(canonical("softmax x=3 axis=last"), HasSubstr("axis=last: expected a value of type int"));
  EXPECT_THAT(canonical("softmax x=3,b"), HasSubstr("softmax: x: shape 3,b is not a list"));
  EXPECT_THAT(canonical("softmax x=3:q"), HasSubstr("x: q is not t, e, a dtype or a range low..high"));
  EXPECT_THAT(canonical("softmax x=3:5..2"), HasSubstr("range 5..2 is not low..high"));
  EXPECT_THAT(canonical("softmax x=-3"), HasSubstr("negative extent"));
  EXPECT_THAT(canonical("softmax x=3 float32"), HasSubstr("float32 is neither name=value nor a dtype"));
  EXPECT_THAT(canonical("softmax x=3 seed=-1"), HasSubstr("seed=-1: expected a count"));
  EXPECT_THAT(canonical("softmax x=3 x=3"), HasSubstr("softmax: x is given more than once"));
  EXPECT_THAT(canonical("softmax x=3 axis=0 axis=0"), HasSubstr("softmax: axis is given more than once"));
  EXPECT_THAT(canonical("softmax x=3 seed=1 seed=2"), HasSubstr("softmax: seed is given more than once"));
  EXPECT_THAT(canonical("softmax x=3 f32 bf16"), HasSubstr("softmax: bf16 is a second dtype"));
  EXPECT_THAT(canonical("softmax x=3,4:t:e"), HasSubstr("x: e is one too many"));
  EXPECT_THAT(canonical("softmax x=3:0..inf"), HasSubstr("range 0..inf is not low..high with finite numbers"));
  EXPECT_THAT(canonical(""), HasSubstr("the problem line is empty"));
}

TEST(Problem, InputsAreAFunctionOfTheLine) {
  auto inputs = [](std::string_view line) { return makeInputs(parseProblem(line, *library()).value()); };
  auto plain = inputs("matmul a=3,5 b=5,4"), again = inputs("matmul a=3,5 b=5,4");
  EXPECT_EQ(plain[0].toVector(), again[0].toVector());
  EXPECT_NE(plain[0].toVector(), inputs("matmul a=3,5 b=5,4 seed=2")[0].toVector());
  auto transposed = inputs("matmul a=3,5:t b=5,4");
  EXPECT_EQ(transposed[0].strides(), Shape({1, 3}));
  EXPECT_EQ(transposed[0].toVector(), plain[0].toVector());
  auto expanded = inputs("matmul a=3,5:e b=5,4");
  EXPECT_EQ(expanded[0].strides(), Shape({0, 1}));
  EXPECT_EQ(expanded[0].get(7), plain[0].get(2));
  EXPECT_EQ(inputs("exp x=6:t")[0].strides(), Shape({2}));
  for (double i : inputs("embedding w=10,4 i=100:3..5")[1].toVector()) EXPECT_TRUE(i == 3 || i == 4);
}

TEST(Problem, ResultTypes) {
  auto types = resultTypes(parseProblem("softmax x=3,5 bf16", *library()).value(), *library());
  ASSERT_TRUE(types.ok()) << message(types.status());
  EXPECT_EQ(toString((*types)[0]), "bf16[3,5]");
}

// Every example of the library is a problem line.
TEST(Problem, ExamplesParse) {
  for (Symbol op : library()->names()) {
    const OperatorInfo* info = library()->find(op);
    if (info->example.empty()) continue;
    auto problem = parseProblem(info->example, *library());
    EXPECT_TRUE(problem.ok()) << info->example << ": " << message(problem.status());
  }
}

} // namespace
} // namespace tegula
