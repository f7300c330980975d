// Operators that the library does not have: one value read along several axes, views of repeated rows, prologues and
// epilogues that share operands, and random expressions. Compiled, forward and backward, against values with derived
// bounds.
#include "Library.h"
#include "verify/Check.h"
#include "verify/SessionOperation.h"

#include <cstdlib>
#include <random>

namespace tegula {
namespace {

void expectAgrees(const std::shared_ptr<const OperatorLibrary>& library, const std::vector<std::string>& lines,
                  const CheckOptions& options = {}) {
  ASSERT_TRUE(library);
  std::unique_ptr<Session> session = sessionFor(*detectTarget(), library);
  for (const std::string& line : lines) {
    auto problem = parseProblem(line, *library);
    ASSERT_TRUE(problem.ok()) << message(problem.status());
    auto report = checkProblem(*problem, sessionOperation(*session), library, options);
    EXPECT_TRUE(report.ok()) << message(report.status());
  }
}

constexpr const char* kOwn = R"(
@tile_op
def outer_difference(x: Tensor[N : float]) -> Tensor[N, N]:
    return x[:, None] - x[None, :]


@tile_op
def outer_of_computed(x: Tensor[N : float]) -> Tensor[N, N]:
    e = exp(x)
    return e[:, None] * e[None, :]


@tile_op
def relative_positions(x: Tensor[N : float]) -> Tensor[N, N]:
    i = iota((N,), 0, x.dtype)
    return (i[:, None] - i[None, :]) * x


@tile_op
def scaled_on_both_sides(a: Tensor[N, N : float], d: Tensor[N : float]) -> Tensor[N, N]:
    return a * d[:, None] * d[None, :]


@tile_op
def column_by_row_sum(x: Tensor[N, N : float]) -> Tensor[N, N]:
    return x / (1 + sum(x * x, axis=1))[None, :]


@tile_op
def softmax_by_other_sum(x: Tensor[N, N : float]) -> Tensor[N, N]:
    return softmax(x) * sum(x, axis=1)[None, :]


@tile_op
def pairwise_distance(x: Tensor[N, K : float]) -> Tensor[N, N]:
    d = x[:, None, :] - x[None, :, :]
    return sum(d * d, axis=-1)


@tile_op
def pairs_with_rows(a: Tensor[N, M : float], d: Tensor[N : float]) -> Tensor[N, N, M]:
    return a[:, None, :] * d[None, :, None] - a[None, :, :]


@tile_op
def square(x: Tensor[N, N]) -> Tensor[N, N]:
    return x @ x


@tile_op
def gram(x: Tensor[N, K : float]) -> Tensor[N, N]:
    return x @ transpose(x)


@tile_op
def take_of_itself(x: Tensor[N, N : i64]) -> Tensor[N, N, N]:
    return take(x, x, axis=0)


@tile_op
def convolution_with_itself(x: Tensor[N, N, H, W : float]) -> Tensor:
    return convolution(x, x, 1, 1)


@tile_op
def repeat_each(x: Tensor[N : float]) -> Tensor:
    return reshape(broadcast_to(x[:, None], (N, 3)), (N * 3,)) * 2


@tile_op
def repeat_heads(k: Tensor[B, G, T, D : float]) -> Tensor:
    return exp(reshape(broadcast_to(k[:, :, None], (B, G, 2, T, D)), (B, G * 2, T, D)))


@tile_op
def mean_of_linear(x: Tensor[B, T, K : float], w: Tensor[N, K : float]) -> Tensor[B, N]:
    return mean(linear(x, w), axis=1)


@tile_op
def sum_of_pairs(x: Tensor[B, M, D : float]) -> Tensor:
    assert M % 2 == 0
    return sum(reshape(x, (B, M // 2, 2, D)), axis=2)


@tile_op
def crossed(x: Tensor[N, N : float], y: Tensor[N, N : float]) -> tuple[Tensor[N, N], Tensor[N, N]]:
    a = exp(x)
    n, _ = sort(a, 1)
    p = exp(y)
    return a + transpose(p), p + transpose(n)


@tile_op
def prologue_and_epilogue(z: Tensor[P, N, N : float], w: Tensor[N, N : float]) -> Tensor[P, N, N]:
    return tanh(z @ (w * 0.3)[None] + z)


@tile_op
def product_scaled_on_both_sides(a: Tensor[N, K : float], b: Tensor[K, N : float], d: Tensor[N : float]) -> Tensor[N, N]:
    return (a @ b) * d[:, None] * d[None, :]


@tile_op
def equals_tenth(a: Tensor[M, K : float], b: Tensor[K, N : float]) -> Tensor[M, N]:
    y = a @ b
    return where(y == 0.1, y * 0, y * 0 + 1)


@tile_op
def functions_at_limits(x: Tensor[N : float]) -> tuple[Tensor[N], Tensor[N], Tensor[N], Tensor[N], Tensor[N]]:
    limit = where(x < 1, full((N,), inf, x.dtype), -inf)
    return exp(-abs(limit)), tanh(limit), erf(limit), rsqrt(abs(limit)), log(x / x)


@tile_op
def functions_at_zeros(x: Tensor[N : float]) -> tuple[Tensor[N], Tensor[N], Tensor[N]]:
    zero = floor(x * 0.25)
    return sin(zero), tanh(zero), erf(zero)


@tile_op
def powers_at_limits(x: Tensor[N : float]) -> tuple[Tensor[N], Tensor[N], Tensor[N], Tensor[N], Tensor[N]]:
    limit = where(x < 1, full((N,), inf, x.dtype), -inf)
    zero = floor(x * 0.25)
    return x**limit, limit**x, zero**x, x**zero, (x / x) ** x


@tile_op
def just_above_the_middle(x: Tensor[N : float]) -> Tensor[N]:
    return x * 0 + 1.0039062500009095
)";

class OwnOperators : public testing::TestWithParam<const char*> {};

TEST_P(OwnOperators, Agree) {
  static const auto* library = new std::shared_ptr<const OperatorLibrary>(libraryWith(kOwn));
  std::string line = GetParam();
  bool stated = line.ends_with("!"); // has its only type in it
  if (stated)
    expectAgrees(*library, {line.substr(0, line.size() - 1)});
  else
    expectAgrees(*library, {line + " f32", line + " bf16"});
}

INSTANTIATE_TEST_SUITE_P(
    Lines, OwnOperators,
    testing::Values("outer_difference x=7", "outer_difference x=1", "outer_difference x=0", "outer_of_computed x=7",
                    "relative_positions x=7", "scaled_on_both_sides a=7,7 d=7", "column_by_row_sum x=7,7",
                    "softmax_by_other_sum x=6,6", "pairwise_distance x=5,3", "pairs_with_rows a=7,9 d=7",
                    "square x=7,7", "square x=7,7 f16!", "square x=5,5 i32!", "gram x=5,3", "gram x=5,3 f16!",
                    "take_of_itself x=4,4:0..4 i64!", "convolution_with_itself x=3,3,4,4", "repeat_each x=5",
                    "repeat_each x=1", "repeat_heads k=2,3,5,4", "mean_of_linear x=2,5,8 w=6,8", "sum_of_pairs x=2,6,5",
                    "crossed x=7,7 y=7,7 f32!", "prologue_and_epilogue z=4,3,3 w=3,3",
                    "product_scaled_on_both_sides a=7,5 b=5,7 d=7", "equals_tenth a=5,5 b=5,5",
                    "just_above_the_middle x=4", "functions_at_limits x=35:0.5..3",
                    "functions_at_limits x=35:0.5..3 f16!", "functions_at_limits x=35:0.5..3 f64!",
                    "functions_at_zeros x=35:0.5..3", "functions_at_zeros x=35:0.5..3 f16!",
                    "functions_at_zeros x=35:0.5..3 f64!", "powers_at_limits x=35:0.5..3",
                    "powers_at_limits x=35:0.5..3 f16!", "powers_at_limits x=35:0.5..3 f64!"));

/// An operator of random statements over square matrices and vectors: everything fits everything.
class RandomOperator {
public:
  explicit RandomOperator(uint32_t seed) : random_(seed) {}

  std::string text(const std::string& name) {
    std::string body = "    _a = x * v[:, None] + y\n"; // every input is used
    for (int i = 0; i < 10; ++i) {
      auto [expression, isVector] = statement();
      std::string result = fmt::format("_t{}", i); // may stay unused
      body += fmt::format("    {} = {}\n", result, expression);
      (isVector ? vectors_ : matrices_).push_back(result);
    }
    return fmt::format(
        "\n\n@tile_op\ndef {}(x: Tensor[N, N : float], y: Tensor[N, N : float], v: Tensor[N : float]) -> "
        "tuple[Tensor[N, N], Tensor[N]]:\n{}    return {} * 0.5, {} * 0.5\n",
        name, body, matrices_.back(), vectors_.back());
  }

private:
  std::pair<std::string, bool> statement() {
    std::string m = one(matrices_), n = one(matrices_), u = one(vectors_), w = one(vectors_);
    switch (random_() % 14) {
    case 0:
      return {fmt::format("tanh({})", m), false};
    case 1:
      return {fmt::format("exp(-abs({}))", m), false};
    case 2:
      return {fmt::format("{} + {} * 0.5", m, n), false};
    case 3:
      return {fmt::format("{} - transpose({})", m, n), false};
    case 4:
      return {fmt::format("tanh({} @ {})", m, n), false};
    case 5:
      return {fmt::format("({} * 0.3) @ {} + {}", m, n, one(matrices_)), false};
    case 6:
      return {fmt::format("{} * {}[:, None] - {}[None, :]", m, u, w), false};
    case 7:
      return {fmt::format("{}[:, None] * {}[None, :]", u, w), false};
    case 8:
      return {fmt::format("softmax({})", m), false};
    case 9:
      return {fmt::format("sort({}, 1)[0]", m), false};
    case 10:
      return {fmt::format("reshape(broadcast_to({}[:, None], (N, N)), (N * N,))[:N] + {}", u, w), true};
    case 11:
      return {fmt::format("max({}, axis={})", m, random_() % 2), true};
    case 12:
      return {fmt::format("mean({}, axis={}) + {}", m, random_() % 2, u), true};
    default:
      return {fmt::format("tanh({})", u), true};
    }
  }
  std::string one(const std::vector<std::string>& from) {
    size_t recent = std::min<size_t>(from.size(), 3);
    return from[random_() % 2 ? from.size() - 1 - random_() % recent : random_() % from.size()];
  }

  std::mt19937 random_;
  std::vector<std::string> matrices_{"x", "y", "_a"}, vectors_{"v"};
};

TEST(OwnOperators, RandomExpressions) {
  constexpr uint32_t kSeed = 20261201;
  const uint32_t kOperators = std::getenv("TEGULA_LONG") ? 100 : 20;
  std::string source;
  std::vector<std::string> lines;
  for (uint32_t k = 0; k < kOperators; ++k) {
    source += RandomOperator(kSeed + k).text(fmt::format("random_{}", k));
    lines.push_back(
        fmt::format("random_{} x={},{} y={},{} v={} f32", k, 3 + k % 5, 3 + k % 5, 3 + k % 5, 3 + k % 5, 3 + k % 5));
  }
  SCOPED_TRACE(source);
  CheckOptions options;
  options.compare.undecidedPart = 1; // of one maximum among near ties everything may depend
  expectAgrees(libraryWith(source), lines, options);
}

} // namespace
} // namespace tegula
