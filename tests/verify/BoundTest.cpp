// Error bounds: wide enough for what a correct implementation does, narrow enough to see a wrong one.
#include "Library.h"
#include "verify/Check.h"
#include "verify/GuardedBuffer.h"

#include <cmath>
#include <gmock/gmock.h>

namespace tegula {
namespace {

constexpr const char* kProblems[] = {"add a=7,33 b=33 f32",
                                     "mul a=3,5 b=3,5 bf16",
                                     "div a=64 b=64:1..2 f16",
                                     "exp x=5,67 bf16",
                                     "log x=100:0.001..5 f32",
                                     "softmax x=9,67 f32",
                                     "softmax x=9,67:t bf16",
                                     "layer_norm x=5,129 w=129 b=129 f32",
                                     "layer_norm x=5,129 w=129 b=129 bf16",
                                     "matmul a=17,67 b=67,5 f32",
                                     "matmul a=17,67:t b=67,5:e bf16",
                                     "sum x=3,1001:1..2 axis=1 f32",
                                     "sum x=3,1001:1..2 axis=1 bf16",
                                     "gelu x=97 bf16",
                                     "attention q=2,2,9,8 k=2,2,9,8 v=2,2,9,8 f32 causal=true",
                                     "embedding w=20,5 i=3,7:0..20 bf16",
                                     "cross_entropy x=7,19 y=7:0..19 f32",
                                     "max x=4,9 axis=1 bf16",
                                     "cumsum x=4,33 axis=1 f32"};

/// Rounding every value to its stated type is one correct implementation; so errors must lie within the bounds, and not
/// all of them far below.
TEST(Bound, HoldsForTheStatedTypes) {
  OperationUnderTest stated = referenceOperation(library(), Precision::AsStated);
  for (const char* line : kProblems) {
    auto problem = parseProblem(line, *library());
    ASSERT_TRUE(problem.ok()) << line << ": " << message(problem.status());
    CheckOptions options;
    options.compare.slack = 1;
    auto report = checkProblem(*problem, stated, library(), options);
    EXPECT_TRUE(report.ok()) << message(report.status());
    if (report.ok()) EXPECT_GT(report->comparisons, 1) << line;
  }
}

/// Which candidate a maximum is follows from the values, although each of them is uncertain.
TEST(Bound, DecidesWhichElementIsTheExtreme) {
  std::vector<SourceFile> files{{"mine.tile", R"(
@tile_op
def scaled_logsumexp(x: Tensor[..., N : float], t: Tensor[..., 1 : float]) -> Tensor[..., 1]:
    v = wide(x) * wide(t)
    m = max(v, axis=-1, keepdim=True)
    return cast(m + log(sum(exp(v - m), axis=-1, keepdim=True)), x.dtype)
)"}};
  auto mine = OperatorLibrary::load(files);
  ASSERT_TRUE(mine.ok()) << message(mine.status());
  OperationUnderTest stated = referenceOperation(*mine, Precision::AsStated);
  for (const char* line : {"scaled_logsumexp x=3,5,40 t=5,1 f32", "scaled_logsumexp x=1,1 t=1,1 f32"}) {
    auto problem = parseProblem(line, **mine);
    ASSERT_TRUE(problem.ok()) << message(problem.status());
    auto report = checkProblem(*problem, stated, *mine);
    ASSERT_TRUE(report.ok()) << message(report.status());
    EXPECT_EQ(report->undecided, 0) << line;
  }
}

/// An error of one part in 500 (f32) is found in every operator; in bf16 one of a quarter.
TEST(Bound, IsNarrowEnoughToSeeMistakes) {
  OperationUnderTest wrong = referenceOperation(library(), Precision::AsStated);
  ForwardFunction right = wrong.forward;
  for (const char* line : kProblems) {
    Problem problem = parseProblem(line, *library()).value();
    double factor = problem.dtype == DType::F32 ? 1 + 1.0 / 500 : 1.25;
    wrong.forward = [&](Symbol op, std::span<const HostArray> inputs, const Attributes& attributes) {
      auto results = right(op, inputs, attributes);
      for (int64_t i = 0; results.ok() && i < (*results)[0].elements(); ++i)
        (*results)[0].set(i, (*results)[0].get(i) * factor);
      return results;
    };
    auto report = checkProblem(problem, wrong, library());
    EXPECT_FALSE(report.ok()) << line << " accepts results that are off by " << factor;
    if (!report.ok()) EXPECT_THAT(std::string(message(report.status())), testing::HasSubstr("tegula op check '"));
  }
}

TEST(Bound, ExactOperationsHaveNone) {
  auto bounds = [](std::string_view line) {
    Problem p = parseProblem(line, *library()).value();
    auto inputs = makeInputs(p);
    return evaluateBounded(forwardGraph(library(), p.op, inputs, p.attributes).value(), inputs).value()[0].bound;
  };
  for (const char* line :
       {"neg x=9", "maximum a=9 b=9", "transpose x=3,4 permutation=1,0", "relu x=9 bf16", "max x=4,9 axis=1"})
    for (double e : bounds(line)) EXPECT_EQ(e, 0) << line;
  for (double e : bounds("exp x=9")) EXPECT_GT(e, 0);
}

/// The bounds of what a body makes of x, u in [1, 2) known to rounding, and an infinity.
std::vector<double> boundsOf(std::string_view expression) {
  std::vector<SourceFile> files{{"mine.tile", fmt::format(R"(
@tile_op
def limit(x: Tensor[N : float]) -> Tensor[N]:
    _u = 1 / (1 / x)
    _infinity = where(x > 0, inf, x)
    return {}
)",
                                                          expression)}};
  auto mine = OperatorLibrary::load(files);
  EXPECT_TRUE(mine.ok()) << message(mine.status());
  if (!mine.ok()) return {};
  Problem p = parseProblem("limit x=9:1..2 f32", **mine).value();
  auto inputs = makeInputs(p);
  Graph g = forwardGraph(*mine, p.op, inputs, p.attributes).value();
  return evaluateBounded(g, inputs).value()[0].bound;
}

/// Functions take their limits exactly, and no finite error moves an infinity.
TEST(Bound, LimitsHaveNone) {
  for (const char* exact : {"exp(-_infinity)",
                            "exp(_u - _infinity)",
                            "tanh(_infinity)",
                            "tanh(-_u * _infinity)",
                            "erf(_u + _infinity)",
                            "rsqrt(_u * _infinity)",
                            "log(x / x)",
                            "tanh(0 * x)",
                            "sin(0 * x)",
                            "erf(0 * x)",
                            "_u / _infinity",
                            "_u * _infinity",
                            "_infinity / _u",
                            "maximum(_u, _infinity)",
                            "x ** -_infinity",
                            "_infinity ** -_u",
                            "(3 + _u) ** -_infinity",
                            "(0 * x) ** _u",
                            "_u ** (0 * x)",
                            "where(_u - _infinity == -_infinity, x, _u)",
                            "where(_u < _infinity, x, _u)"})
    for (double e : boundsOf(exact)) EXPECT_EQ(e, 0) << exact;
  for (const char* rounded : {"exp(0 * x)", "_u", "cos(0 * x)", "_u % _infinity"})
    for (double e : boundsOf(rounded)) EXPECT_TRUE(e > 0 && e < 1e-5) << rounded << ": " << e;
  for (const char* open : {"(_u - x) * _infinity", "_infinity / (_u - x)", "(_u / x) ** _infinity",
                           "_infinity ** (_u - x)", "(_u - x) % _infinity"})
    for (double e : boundsOf(open)) EXPECT_TRUE(std::isinf(e)) << open << ": " << e;
}

/// A comparison that rounding may turn over leaves what it chooses between open.
TEST(Bound, UndecidedComparisonsAreNotGuessed) {
  Graph g(library());
  Value x = g.addInput("x", {DType::F32, {2}});
  GraphBuilder b(g);
  Value e = b.primitive("exp", {{x}}, {}).value()[0];
  Value one =
      b.primitive("broadcast", {{b.primitive("constant", {}, {{"value", 1.0}, {"dtype", DType::F32}}).value()[0]}},
                  {{"shape", Shape{2}}, {"axes", Shape{}}})
          .value()[0];
  Value less = b.primitive("less", {{e, one}}, {}).value()[0];
  g.outputs() = {b.primitive("select", {{less, e, x}}, {}).value()[0]};
  std::vector<HostArray> inputs = {HostArray::fromValues(DType::F32, {2}, std::vector<double>{0, 1})};
  auto result = evaluateBounded(g, inputs).value()[0];
  EXPECT_GE(result.bound[0], 1); // exp(0) is 1, or a little less: the result is 0 or 1
  EXPECT_EQ(result.bound[1], 0);
}

/// What the operator gives for s, and its gradient for ones, with bounds.
std::vector<BoundedArray> boundedGradient(std::string_view source, std::string_view line) {
  std::vector<SourceFile> files{{"mine.tile", std::string(source)}};
  auto mine = OperatorLibrary::load(files).value();
  Problem problem = parseProblem(line, *mine).value();
  std::vector<HostArray> inputs = makeInputs(problem);
  Graph forward = forwardGraph(mine, problem.op, inputs, problem.attributes).value();
  std::vector<HostArray> upstream = {HostArray({DType::F32, forward.typeOf(forward.outputs()[0]).shape})};
  for (int64_t i = 0; i < upstream[0].elements(); ++i) upstream[0].set(i, static_cast<double>(i));
  std::vector<size_t> wrt;
  Graph backward = gradientGraph(mine, problem.op, inputs, problem.attributes, upstream, wrt).value();
  return evaluateBounded(backward, std::vector<HostArray>{inputs[0], upstream[0]}).value();
}

/// The place of an element that rounding may exchange with another is open, and so is where its gradient goes; elements
/// that lie apart, and lines of their own, are decided.
TEST(Bound, UncertainPlacesLeaveWhatTheyTouchOpen) {
  constexpr std::string_view kSorted = R"(
@tile_op
@example("sorted_scores x=4,3 f32")
def sorted_scores(x: Tensor[N, M : float]) -> Tensor[N, M]:
    close = where(iota((N, M), 1) == 1, 1e-9, full((N, M), 1.0, x.dtype))
    y, _p = sort(exp(cast(iota((N, M), 0), x.dtype) * close) + x * 0, 0)
    return y
)";
  std::vector<BoundedArray> gradients = boundedGradient(kSorted, "sorted_scores x=4,3 f32");
  ASSERT_EQ(gradients.size(), 1u);
  for (size_t i = 0; i < 12; ++i)
    EXPECT_EQ(std::isinf(gradients[0].bound[i]), i % 3 == 1) << "element " << i; // exp(k · 1e-9) are all near 1
}

/// Reading by such a place is open as well.
TEST(Bound, UncertainPlacesLeaveWhatTheyReadOpen) {
  constexpr std::string_view kTaken = R"(
@tile_op
@example("taken x=4 f32")
def taken(x: Tensor[N : float]) -> Tensor[N]:
    _y, p = sort(exp(where(iota((N,), 0) < 2, x * 0, x * 0 + cast(iota((N,), 0), x.dtype))), 0)
    return take(cast(iota((N,), 0), x.dtype), p, 0)
)";
  std::vector<SourceFile> files{{"mine.tile", std::string(kTaken)}};
  auto mine = OperatorLibrary::load(files).value();
  Problem problem = parseProblem("taken x=4 f32", *mine).value();
  std::vector<HostArray> inputs = makeInputs(problem);
  auto result = evaluateBounded(forwardGraph(mine, problem.op, inputs, problem.attributes).value(), inputs).value()[0];
  EXPECT_TRUE(std::isinf(result.bound[0]) && std::isinf(result.bound[1])); // exp(0) twice
  EXPECT_EQ(result.bound[2], 0);
  EXPECT_EQ(result.bound[3], 0);
}

TEST(Compare, NanAndInfinitiesAgreeOnlyWithThemselves) {
  double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  auto differs = [](double actual, double expected, double bound) {
    BoundedArray e{HostArray::scalar(DType::F64, expected), {bound}, DType::F32};
    return !compare(HostArray::scalar(DType::F32, actual), e).ok();
  };
  EXPECT_FALSE(differs(nan, nan, 0));
  EXPECT_TRUE(differs(1, nan, 1));
  EXPECT_TRUE(differs(nan, 1, 1));
  EXPECT_FALSE(differs(inf, inf, 0));
  EXPECT_TRUE(differs(inf, -inf, 1));
  EXPECT_TRUE(differs(inf, 3e38, 1e30));
  EXPECT_TRUE(differs(1, 2, 0));
  EXPECT_FALSE(differs(1, 2, 0.25)); // four times the bound
  EXPECT_TRUE(differs(1, 2, 0.24));
  EXPECT_TRUE(differs(1, 1, inf)); // too many elements undecided
  BoundedArray other{HostArray::zeros(DType::F64, {2}), {0, 0}, DType::F32};
  EXPECT_THAT(compare(HostArray::zeros(DType::BF16, {2}), other).message,
              testing::HasSubstr("the result is bf16[2] but f32[2] was expected"));
}

TEST(GuardedBuffer, FaultsBeyondEitherEnd) {
  for (int64_t bytes : {1, 4095, 4096, 5000}) {
    GuardedBuffer end(bytes, GuardedBuffer::Side::End), begin(bytes, GuardedBuffer::Side::Begin);
    EXPECT_DEATH(static_cast<volatile uint8_t*>(end.data())[bytes] = 1, "");
    EXPECT_DEATH(static_cast<volatile uint8_t*>(begin.data())[-1] = 1, "");
    static_cast<uint8_t*>(end.data())[bytes - 1] = 1;
    EXPECT_TRUE(end.surroundingsIntact());
    if (bytes % 4096) {
      static_cast<uint8_t*>(begin.data())[bytes] = 1;
      EXPECT_FALSE(begin.surroundingsIntact());
    }
  }
}

TEST(GuardedBuffer, CopiesKeepStrides) {
  HostArray a = HostArray::fromValues(DType::F32, {2, 3}, std::vector<double>{1, 2, 3, 4, 5, 6});
  for (InputLayout layout : {InputLayout::Contiguous, InputLayout::Transposed, InputLayout::Expanded}) {
    HostArray arranged = arrange(a, layout), copy = guardedCopy(arranged, GuardedBuffer::Side::End);
    EXPECT_EQ(copy.strides(), arranged.strides());
    EXPECT_EQ(copy.toVector(), arranged.toVector());
  }
  EXPECT_EQ(guardedCopy(HostArray::zeros(DType::F32, {0}), GuardedBuffer::Side::End).elements(), 0);
}

} // namespace
} // namespace tegula
