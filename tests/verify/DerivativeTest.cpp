// Derived and hand-written gradients of the operator library against finite differences in f64.
#include "Library.h"
#include "verify/Check.h"
#include "verify/FiniteDifference.h"

#include <gmock/gmock.h>

namespace tegula {
namespace {

class Derivative : public testing::TestWithParam<const char*> {};

TEST_P(Derivative, AgreesWithDifferences) {
  auto problem = parseProblem(GetParam(), *library());
  ASSERT_TRUE(problem.ok()) << message(problem.status());
  Status status = checkDerivative(*problem, library());
  EXPECT_TRUE(status.ok()) << message(status);
}

INSTANTIATE_TEST_SUITE_P(
    Operators, Derivative,
    testing::Values(
        "exp x=5", "log x=5:0.5..2", "sin x=5", "cos x=5", "tanh x=5", "erf x=5", "sqrt x=5:0.5..2", "rsqrt x=5:0.5..2",
        "reciprocal x=5:0.5..2", "sigmoid x=5", "silu x=5", "softplus x=5", "gelu x=5", "gelu x=5 form=tanh",
        "relu x=5:0.2..2", "elu x=5:-2..-0.1", "leaky_relu x=5:0.2..2", "abs x=5:0.1..2", "pow x=5:0.5..2 y=5",
        "add a=3,5 b=5", "sub a=3,1 b=5", "mul a=3,5 b=1,5", "div a=3,5 b=3,1:0.5..2", "maximum a=3,5 b=3,5",
        "minimum a=7:t b=7:e", "clamp x=5 low=-0.5 high=0.7", "where c=3,5 a=5 b=3,1", "sum x=3,5 axis=1",
        "mean x=3,5:t axis=0", "prod x=3,5 axis=1", "max x=3,5 axis=1", "min x=3,5 axis=0", "logsumexp x=3,5 axis=1",
        "var x=3,5 axis=1", "cumsum x=3,5 axis=1", "softmax x=3,5", "log_softmax x=3,5 axis=0", "matmul a=3,4 b=4,5",
        "matmul a=2,3,4:t b=4,5", "linear x=3,4 w=5,4 b=5", "embedding w=6,3 i=2,4:0..6", "layer_norm x=3,7 w=7 b=7",
        "rms_norm x=3,7 w=7", "rope x=1,2,5,6", "attention q=1,2,3,4 k=1,2,3,4 v=1,2,3,4 causal=true",
        "attention q=1,4,3,4 k=1,2,5,4 v=1,2,5,3", "attention q=1,2,3,4 k=1,2,5,4 v=1,2,5,4 bias=1,1,3,5",
        "attention q=1,2,3,4 k=1,2,5,4 v=1,2,5,4 f64", "attention q=1,2,3,4 k=1,2,5,4 v=1,2,5,4 bf16",
        "cross_entropy x=5,7 y=5:0..7", "cross_entropy x=5,7 y=5:0..7 label_smoothing=0.1",
        "concatenate xs=2,3 xs=2,1 axis=1", "pad x=2,3 low=0,1 high=1,0 value=0.5",
        "slice x=4,6 start=1,0 stop=4,6 step=1,2", "gather x=4,3 i=2,3:0..4 axis=0",
        "conv2d x=2,4,5,5 w=4,2,3,3 b=4 stride=2 padding=1 groups=2", "max_pool2d x=1,2,5,5 size=3 stride=2 padding=1",
        "avg_pool2d x=1,2,4,4 size=2 stride=2", "batch_norm x=3,4,2,2 w=4 b=4 training=true",
        "group_norm x=2,4,3,3 w=4 b=4 groups=2", "top_k x=3,7 k=3"));

std::vector<double> gradientOf(Symbol op, std::vector<HostArray> inputs, const Attributes& attributes,
                               Precision precision) {
  OperationUnderTest reference = referenceOperation(library(), precision);
  auto results = reference.forward(op, inputs, attributes).value();
  std::vector<HostArray> upstream = {HostArray(results[0].type())};
  for (int64_t i = 0; i < upstream[0].elements(); ++i) upstream[0].set(i, 1);
  return reference.gradient(op, inputs, attributes, upstream).value()[0].toVector();
}

/// A label that is ignored counts for nothing, also where all are.
TEST(Gradient, IgnoredLabelsHaveNone) {
  HostArray x = HostArray::fromValues(DType::F32, {2, 3}, std::vector<double>{1, 2, 3, 4, 5, 6});
  HostArray labels = HostArray::fromValues(DType::I64, {2}, std::vector<double>{-100, -100});
  for (const char* reduction : {"mean", "sum"})
    for (double g : gradientOf("cross_entropy", {x, labels}, {{"reduction", Symbol(reduction)}}, Precision::AsStated))
      EXPECT_EQ(g, 0) << reduction;
}

/// Ties share the gradient however many they are: f16 holds no 70000, bf16 no 257.
TEST(Gradient, TiesAreCountedInFullPrecision) {
  for (auto [dtype, ties] : {std::pair(DType::F16, 70000), {DType::BF16, 257}, {DType::BF16, 70000}, {DType::F32, 9}})
    for (const char* op : {"max", "min"}) {
      std::vector<double> g = gradientOf(op, {HostArray::zeros(dtype, {ties})}, {}, Precision::AsStated);
      HostArray share = HostArray::fromValues(dtype, {1}, std::vector<double>{1.0 / ties});
      for (double each : {g.front(), g.back()}) EXPECT_EQ(each, share.get(0)) << op << " of " << name(dtype);
    }
}

/// Types that headers state, alone and beside ones that they leave open, are those of the graph without rounding too.
TEST(FiniteDifference, KeepsTheTypesThatHeadersState) {
  std::vector<SourceFile> files{{"mine.tile", R"(
@tile_op
def in_f64(x: Tensor[N : f64], y: Tensor[N : f64]) -> Tensor[N : f64]:
    return tanh(x) * y


@tile_op
def in_bf16(x: Tensor[N : bf16], y: Tensor[N : bf16]) -> Tensor[N : bf16]:
    return tanh(x) * y


@tile_op
def in_f16(x: Tensor[N : f16], y: Tensor[N : f16]) -> Tensor[N : f16]:
    return tanh(x) * y


@tile_op
def in_two(x: Tensor[N : f64], y: Tensor[N : float]) -> tuple[Tensor[N : f64], Tensor[N]]:
    return tanh(x) * cast(y, f64), exp(y)
)"}};
  auto mine = OperatorLibrary::load(files);
  ASSERT_TRUE(mine.ok()) << message(mine.status());
  for (const char* line : {"in_f64 x=5 y=5", "in_f64 x=5 y=5 f64", "in_bf16 x=5 y=5", "in_f16 x=5 y=5",
                           "in_two x=5 y=5", "in_two x=5 y=5 bf16", "in_two x=5 y=5 f64"}) {
    auto problem = parseProblem(line, **mine);
    ASSERT_TRUE(problem.ok()) << message(problem.status());
    auto why = whyNoDifferences(*problem, *mine);
    EXPECT_TRUE(why.ok()) << message(why.status());
    if (why.ok()) EXPECT_EQ(*why, "") << line;
    Status status = checkDerivative(*problem, *mine);
    EXPECT_TRUE(status.ok()) << message(status);
  }
}

/// Where nothing can be compared, that is said, and why.
TEST(FiniteDifference, SaysWhyThereIsNothingToCompare) {
  auto why = [](std::string_view line) {
    return whyNoDifferences(parseProblem(line, *library()).value(), library()).value();
  };
  EXPECT_EQ(why("softmax x=4,9"), "");
  EXPECT_EQ(why("remainder a=4:i8 b=4:i8"), "no input is a float with a gradient");
  EXPECT_EQ(why("argmax x=4,9:i8 axis=1"), "no input is a float with a gradient");
  EXPECT_EQ(why("argmax x=4,9 axis=1"), "no result is a float");
  EXPECT_EQ(why("exp x=0"), "no input has an element");
  EXPECT_EQ(why("normal x=3 seed= step= deviation="), "it is declared without one");
}

/// The reference with one element of the first gradient off by a part of itself.
OperationUnderTest wrongBy(double part, std::shared_ptr<const OperatorLibrary> operators) {
  OperationUnderTest wrong = referenceOperation(std::move(operators), Precision::Wide);
  wrong.gradient = [right = wrong.gradient, part](Symbol op, std::span<const HostArray> inputs,
                                                  const Attributes& attributes, std::span<const HostArray> upstream) {
    auto gradients = right(op, inputs, attributes, upstream);
    (*gradients)[0].set(1, (*gradients)[0].get(1) * (1 + part));
    return gradients;
  };
  return wrong;
}

/// 1e-8 is less than rounding hides at small steps.
TEST(FiniteDifference, SeesAWrongGradient) {
  std::vector<HostArray> inputs = {HostArray::fromValues(DType::F64, {3}, std::vector<double>{0.5, 1, 2})};
  std::vector<HostArray> upstream = {HostArray::fromValues(DType::F64, {3}, std::vector<double>{1, 1, 1})};
  for (double part : {1e-8, 1e-6, 1e-3, 1.0, -1.0}) {
    Status status = checkGradient(wrongBy(part, library()), "exp", inputs, {}, upstream);
    EXPECT_THAT(
        std::string(message(status)),
        testing::HasSubstr(fmt::format("gradient of input 0 at element 1 is {:.12g} but differences give 2.7182818",
                                       std::exp(1) * (1 + part))));
  }
}

/// Steps that make elements of a sort change places say nothing; a wrong gradient is seen all the same.
TEST(FiniteDifference, StepsThatCrossKinksDecideNothing) {
  std::vector<SourceFile> files{{"mine.tile", R"(
@tile_op
def sorted_twice(x: Tensor[N, M : float]) -> tuple[Tensor[N, M], Tensor[N, M], Tensor[N, M]]:
    v, p = sort(x, 1)
    w, q = sort(x, 0, True)
    return v + w, gather_elements(x, p, 1), gather_elements(x, q, 0)
)"}};
  auto mine = OperatorLibrary::load(files);
  ASSERT_TRUE(mine.ok()) << message(mine.status());
  for (int seed = 1; seed <= 5; ++seed) {
    Problem problem = parseProblem(fmt::format("sorted_twice x=17,33:f64 seed={}", seed), **mine).value();
    Status status = checkDerivative(problem, *mine);
    EXPECT_TRUE(status.ok()) << message(status);
    std::vector<HostArray> inputs = makeInputs(problem);
    auto results = referenceOperation(*mine, Precision::Wide).forward(problem.op, inputs, {}).value();
    auto upstream = makeUpstream(results, problem.seed).value();
    EXPECT_FALSE(checkGradient(wrongBy(0.1, *mine), problem.op, inputs, {}, upstream).ok()) << seed;
  }
}

} // namespace
} // namespace tegula
