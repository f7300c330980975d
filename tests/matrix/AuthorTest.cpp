// Tile kernels that no template was made for: what an author of operators may write.
#include "KernelRun.h"

#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tegula {
namespace {

constexpr const char* kSource = R"(
@tile_op(differentiable=False)
@example("square_sums x=5,7 f32")
def square_sums(x: Tensor[..., R, C]) -> Tensor[..., R, 1]:
    return sum(x * x, axis=-1, keepdim=True)


@tile_kernel(implements=square_sums)
def square_sums_by_tiles(x: Tensor[R, C], y: Out[R, 1], BR: Tunable, BC: Tunable):
    for i in grid(R, BR):
        acc = zeros(BR, 1, f32)
        for j in tiles(C, BC):
            acc += sum(x[i, j] * x[i, j], axis=1, keepdim=True)
        y[i, :] = acc


@tile_op(differentiable=False)
@example("gated x=5,7 w=7,3 g=5,3 f32")
def gated(x: Tensor[..., M, K], w: Tensor[K, N], g: Tensor[..., M, N]) -> Tensor[..., M, N]:
    return maximum(x @ w, 0) * g - (x @ w)


@tile_kernel(implements=gated)
def gated_by_tiles(x: Tensor[M, K], w: Tensor[K, N], g: Tensor[M, N], y: Out[M, N], BM: Tunable, BN: Tunable, BK: Tunable):
    for i, j in grid(M, BM, N, BN):
        acc = zeros(BM, BN, f32)
        for k in tiles(K, BK):
            acc = acc + dot(x[i, k], w[k, j])
        y[i, j] = where(acc > 0.0, acc, 0.0) * g[i, j] - acc


@tile_op(differentiable=False)
@example("two_products a=6,9 w=9,10 u=9,10 f32")
def two_products(a: Tensor[M, K], w: Tensor[K, N], u: Tensor[K, N]) -> Tensor[M, N]:
    return (a @ w) * (a @ u)


@tile_kernel(implements=two_products)
def two_products_by_tiles(a: Tensor[M, K], w: Tensor[K, N], u: Tensor[K, N], c: Out[M, N], BM: Tunable, BN: Tunable, BK: Tunable):
    for i, j in grid(M, BM, N, BN):
        left = zeros(BM, BN, f32)
        for k in tiles(K, BK):
            left += dot(a[i, k], w[k, j])
        right = zeros(BM, BN, f32)
        for k in tiles(K, BK):
            right += dot(a[i, k], u[k, j])
        c[i, j] = left * right


@tile_op(differentiable=False)
@example("exchanged x=5,7 f32")
def exchanged(x: Tensor[R, C]) -> Tensor[R, 1]:
    return 1 + sum(x, axis=-1, keepdim=True)


# One step of (a, b) = (b + s, a) from (1, 2).
@tile_kernel(implements=exchanged)
def exchanged_by_tiles(x: Tensor[R, C], y: Out[R, 1], BR: Tunable, BC: Tunable):
    for i in grid(R, BR):
        a = full(BR, 1, 1.0, f32)
        b = full(BR, 1, 2.0, f32)
        for j in tiles(C, BC):
            old = a
            a = b + sum(x[i, j], axis=1, keepdim=True)
            b = old
        y[i, :] = a - b


@tile_op(differentiable=False)
@example("first_product a=6,9 b=9,10 f32")
def first_product(a: Tensor[M, K], b: Tensor[K, N]) -> Tensor[M, N]:
    return a @ b


# What a transpose saw is not what the accumulator becomes.
@tile_kernel(implements=first_product)
def first_product_by_tiles(a: Tensor[M, K], b: Tensor[K, N], c: Out[M, N], BM: Tunable, BN: Tunable, BK: Tunable):
    for i, j in grid(M, BM, N, BN):
        acc = zeros(BM, BN, f32)
        before = zeros(BM, BN, f32)
        for k in tiles(K, BK):
            turned = transpose(acc)
            acc = acc + dot(a[i, k], b[k, j])
            before = transpose(turned)
        c[i, j] = acc - before


@tile_op(differentiable=False)
@example("cut_sums x=5,7 f32 first=3 last=5")
def cut_sums(x: Tensor[R, C], first: int, last: int) -> Tensor[R, 1]:
    s = sum(x, axis=-1, keepdim=True)
    return s if last > first else s * 0


@tile_kernel(implements=cut_sums)
def cut_sums_by_tiles(x: Tensor[R, C], y: Out[R, 1], first: int, last: int, BR: Tunable, BC: Tunable):
    for i in grid(R, BR):
        acc = zeros(BR, 1, f32)
        for j in tiles(C, BC, start=first, stop=last):
            acc += sum(x[i, j], axis=1, keepdim=True)
        y[i, :] = acc


# Operators of square matrices: one name stands for two axes.
@tile_op(differentiable=False)
@example("square_rows x=2,9,9 f32")
def square_rows(x: Tensor[..., M, M]) -> Tensor[..., M, M]:
    return x * 2


@tile_kernel(implements=square_rows)
def square_rows_by_tiles(x: Tensor[M, M], y: Out[M, M], BM: Tunable):
    for i in grid(M, BM):
        y[i, :] = x[i, :] * 2.0


@tile_op(differentiable=False)
@example("square_columns x=2,9,9 f32")
def square_columns(x: Tensor[..., M, M]) -> Tensor[..., M, M]:
    return x * 2


@tile_kernel(implements=square_columns)
def square_columns_by_tiles(x: Tensor[M, M], y: Out[M, M], BM: Tunable):
    for i in grid(M, BM):
        y[:, i] = x[:, i] * 2.0


@tile_op(differentiable=False)
@example("square_blocks x=2,9,9 f32")
def square_blocks(x: Tensor[..., M, M]) -> Tensor[..., M, M]:
    return x * 2


@tile_kernel(implements=square_blocks)
def square_blocks_by_tiles(x: Tensor[M, M], y: Out[M, M], BM: Tunable, BN: Tunable):
    for i in grid(M, BM):
        for j in tiles(M, BN):
            y[i, j] = x[i, j] * 2.0


@tile_op(differentiable=False)
@example("one_size x=2,9,9 f32")
def one_size(x: Tensor[..., M, M]) -> Tensor[..., M, M]:
    return x * 2


@tile_kernel(implements=one_size)
def one_size_by_tiles(x: Tensor[M, M], y: Out[M, M], BM: Tunable):
    for i in grid(M, BM):
        for j in tiles(M, BM):
            y[i, j] = x[i, j] * 2.0 + transpose(x[j, i]) * 0.0


@tile_op(differentiable=False)
@example("square_turned x=2,9,9 f32")
def square_turned(x: Tensor[..., M, M]) -> Tensor[..., M, M]:
    return 2 * transpose(x)


@tile_kernel(implements=square_turned)
def square_turned_by_tiles(x: Tensor[M, M], y: Out[M, M], BM: Tunable, BN: Tunable):
    for i in grid(M, BM):
        for j in tiles(M, BN):
            y[i, j] = transpose(x[j, i]) * 2.0


@tile_op(differentiable=False)
@example("gram x=2,9,5 f32")
def gram(x: Tensor[..., M, D]) -> Tensor[..., M, M]:
    return x @ transpose(x)


@tile_kernel(implements=gram)
def gram_by_tiles(x: Tensor[M, D], y: Out[M, M], BM: Tunable):
    for i in grid(M, BM):
        y[i, :] = dot(x[i, :], transpose(x[:, :]))


@tile_op(differentiable=False)
@example("square_times x=2,9,9 w=2,9 f32")
def square_times(x: Tensor[..., M, M], w: Tensor[..., M]) -> Tensor[..., M, 1]:
    return sum(x * w[..., None, :], axis=-1, keepdim=True)


@tile_kernel(implements=square_times)
def square_times_by_tiles(x: Tensor[M, M], w: Tensor[1, M], y: Out[M, 1], BM: Tunable, BN: Tunable):
    for i in grid(M, BM):
        acc = zeros(BM, 1, f32)
        for j in tiles(M, BN):
            acc += sum(x[i, j] * w[:, j], axis=1, keepdim=True)
        y[i, :] = acc


# Kernels that use the dimension of their grid for more than its blocks.
@tile_op(differentiable=False)
@example("beside_totals x=3,9,5 f32")
def beside_totals(x: Tensor[..., M, N : f32]) -> Tensor[..., M, N]:
    return x + sum(x, axis=-2, keepdim=True)


@tile_kernel(implements=beside_totals)
def beside_totals_by_tiles(x: Tensor[M, N], y: Out[M, N], BM: Tunable, BK: Tunable):
    for i in grid(M, BM):
        acc = zeros(1, N, f32)
        for k in tiles(M, BK):
            acc += sum(x[k, :], axis=0, keepdim=True)
        y[i, :] = x[i, :] + acc


@tile_op(differentiable=False)
@example("times_rows x=3,9,5 f32")
def times_rows(x: Tensor[..., M, N : f32]) -> Tensor[..., M, N]:
    return x * M


@tile_kernel(implements=times_rows)
def times_rows_by_tiles(x: Tensor[M, N], y: Out[M, N], BM: Tunable):
    for i in grid(M, BM):
        y[i, :] = x[i, :] * M
)";

std::shared_ptr<const OperatorLibrary> authorLibrary() {
  std::vector<SourceFile> files{{"author.tile", kSource}};
  auto loaded = OperatorLibrary::load(files);
  EXPECT_TRUE(loaded.ok()) << message(loaded.status());
  return loaded.ok() ? *loaded : nullptr;
}

/// A sum of terms, and that of their magnitudes.
struct Sum {
  double value = 0, size = 0;
};
template <typename Term> Sum sumOf(int64_t terms, Term&& term) {
  Sum sum;
  for (int64_t k = 0; k < terms; ++k) {
    double t = term(k);
    sum.value += t, sum.size += std::fabs(t);
  }
  return sum;
}
/// Element (i, j) of a product.
Sum productAt(const TestOperand& a, const TestOperand& b, int64_t i, int64_t j, int64_t depth) {
  return sumOf(depth, [&](int64_t k) { return a.at({i, k}) * b.at({k, j}); });
}

TEST(Author, ReductionsWithoutDots) {
  auto library = authorLibrary();
  ASSERT_TRUE(library);
  std::mt19937_64 random(4);
  for (const Target& target : runnableTargets())
    for (auto [r, c] : std::vector<std::pair<int64_t, int64_t>>{{1, 1}, {5, 7}, {97, 131}, {200, 64}}) {
      TestOperand x = randomOperand(random, DType::F32, {2, r, c});
      GroupProblem problem{"square_sums", {}, {&x}, {}, nullptr};
      problem.library = library;
      auto y = runGroup(problem, target, 2);
      ASSERT_TRUE(y.ok()) << message(y.status());
      for (int64_t i = 0; i < 2 * r; ++i) {
        double want = 0;
        for (int64_t j = 0; j < c; ++j)
          want += x.values[static_cast<size_t>(i * c + j)] * x.values[static_cast<size_t>(i * c + j)];
        ASSERT_NEAR(y->values[0][static_cast<size_t>(i)], want, static_cast<double>(c + 2) * 0x1p-24 * want)
            << target.name << " " << r << "x" << c << " row " << i;
      }
    }
}

// A loop over part of an axis takes the tiles that hold any of it, each of them whole: 7 columns are one tile.
TEST(Author, LoopsOverPartOfAnAxisTakeWholeTiles) {
  auto library = authorLibrary();
  ASSERT_TRUE(library);
  TestOperand x{{DType::F32, {5, 7}}, {7, 1}, {}, 0};
  for (int i = 0; i < 5 * 7; ++i) x.values.push_back(i);
  struct Part {
    int64_t first, last;
    bool any;
  };
  for (const Target& target : runnableTargets())
    for (Part part : {Part{0, 7, true},
                      {3, 5, true},
                      {6, 100, true},
                      {-4, 1, true},
                      {6, 7, true},
                      {5, 5, false},
                      {5, 3, false},
                      {7, 9, false},
                      {-4, 0, false},
                      {-4, -2, false}}) {
      GroupProblem problem{"cut_sums", {{"first", part.first}, {"last", part.last}}, {&x}, {}, nullptr};
      problem.library = library;
      auto y = runGroup(problem, target);
      ASSERT_TRUE(y.ok()) << message(y.status());
      for (int64_t i = 0; i < 5; ++i) {
        double whole = static_cast<double>(7 * (7 * i) + 21);
        EXPECT_EQ(y->values[0][static_cast<size_t>(i)], part.any ? whole : 0)
            << target.name << ": [" << part.first << ", " << part.last << ") row " << i;
      }
    }
}

/// Runs `op` of x [batch, m, m] and asks for 2 x, or 2 x^T.
void expectTwice(const std::shared_ptr<const OperatorLibrary>& library, const char* op, const TestOperand& x,
                 bool turned) {
  int64_t batch = x.type.shape[0], m = x.type.shape[1];
  GroupProblem problem{op, {}, {&x}, {}, nullptr};
  problem.library = library;
  for (const Target& target : runnableTargets()) {
    auto y = runGroup(problem, target, 2);
    ASSERT_TRUE(y.ok()) << op << ": " << message(y.status());
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < m; ++j)
          ASSERT_EQ(y->values[0][static_cast<size_t>((b * m + i) * m + j)],
                    2 * (turned ? x.at({b, j, i}) : x.at({b, i, j})))
              << op << " " << target.name << " m=" << m << " at " << b << "," << i << "," << j;
  }
}

// The first M of a kernel's parameter is the first axis of that name, the second the second.
TEST(Author, ANameForTwoAxes) {
  auto library = authorLibrary();
  ASSERT_TRUE(library);
  std::mt19937_64 random(9);
  for (int64_t batch : {1, 3})
    for (int64_t m : {0, 1, 2, 9, 31, 64, 127, 200}) {
      TestOperand x = randomOperand(random, DType::F32, {batch, m, m});
      for (const char* op : {"square_rows", "square_columns", "square_blocks", "one_size", "square_turned"}) {
        bool turned = std::string_view(op) == "square_turned";
        expectTwice(library, op, x, turned);
        expectTwice(library, op, layTransposed(x), turned);
        if (m > 0) expectTwice(library, op, layExpanded(x, 0), turned);
        if (HasFatalFailure()) return;
      }
    }
}

TEST(Author, ANameForTwoAxesOfTheResultOnly) {
  auto library = authorLibrary();
  ASSERT_TRUE(library);
  std::mt19937_64 random(10);
  for (auto [m, d] : std::vector<std::pair<int64_t, int64_t>>{{1, 1}, {9, 5}, {127, 31}, {64, 130}, {5, 0}}) {
    TestOperand rows = randomOperand(random, DType::F32, {2, m, d}), columns = layTransposed(rows);
    for (const TestOperand* x : {&rows, &columns})
      for (const Target& target : runnableTargets()) {
        GroupProblem problem{"gram", {}, {x}, {}, nullptr};
        problem.library = library;
        auto y = runGroup(problem, target);
        ASSERT_TRUE(y.ok()) << message(y.status());
        for (int64_t b = 0; b < 2; ++b)
          for (int64_t i = 0; i < m; ++i)
            for (int64_t j = 0; j < m; ++j) {
              Sum want = sumOf(d, [&](int64_t k) { return x->at({b, i, k}) * x->at({b, j, k}); });
              ASSERT_NEAR(y->values[0][static_cast<size_t>((b * m + i) * m + j)], want.value,
                          static_cast<double>(d + 2) * 0x1p-24 * want.size)
                  << target.name << " " << m << "x" << d << " at " << b << "," << i << "," << j;
            }
      }
  }
}

// A batch whose matrices lie one after another is not one tall matrix here: M is the length of a row too.
TEST(Author, ANameForTwoAxesOfAnInputOnly) {
  auto library = authorLibrary();
  ASSERT_TRUE(library);
  std::mt19937_64 random(11);
  for (int64_t m : {1, 9, 64, 127}) {
    TestOperand rows = randomOperand(random, DType::F32, {3, m, m}), columns = layTransposed(rows);
    TestOperand w = randomOperand(random, DType::F32, {3, m});
    for (const TestOperand* x : {&rows, &columns})
      for (const Target& target : runnableTargets()) {
        GroupProblem problem{"square_times", {}, {x, &w}, {}, nullptr};
        problem.library = library;
        auto y = runGroup(problem, target);
        ASSERT_TRUE(y.ok()) << message(y.status());
        for (int64_t b = 0; b < 3; ++b)
          for (int64_t i = 0; i < m; ++i) {
            Sum want = sumOf(m, [&](int64_t k) { return x->at({b, i, k}) * w.at({b, k}); });
            ASSERT_NEAR(y->values[0][static_cast<size_t>(b * m + i)], want.value,
                        static_cast<double>(m + 2) * 0x1p-24 * want.size)
                << target.name << " m=" << m << " at " << b << "," << i;
          }
      }
  }
}

// Matrices of a batch that lie one after another are no taller matrix where the body means its own rows.
TEST(Author, ABatchIsNotRowsOfAGridThatTheBodyCounts) {
  auto library = authorLibrary();
  ASSERT_TRUE(library);
  constexpr int64_t kBatch = 3, kRows = 70, kColumns = 5;
  TestOperand x{{DType::F32, {kBatch, kRows, kColumns}}, {kRows * kColumns, kColumns, 1}, {}, 0};
  for (int64_t i = 0; i < x.type.shape.elements(); ++i) x.values.push_back(static_cast<double>(i % 7));
  for (const Target& target : runnableTargets())
    for (bool totals : {true, false}) {
      GroupProblem problem{totals ? "beside_totals" : "times_rows", {}, {&x}, {}, nullptr};
      problem.library = library;
      auto y = runGroup(problem, target);
      ASSERT_TRUE(y.ok()) << message(y.status());
      for (int64_t b = 0; b < kBatch; ++b)
        for (int64_t j = 0; j < kColumns; ++j) {
          double total = 0;
          for (int64_t i = 0; i < kRows; ++i) total += x.at({b, i, j});
          for (int64_t i = 0; i < kRows; ++i)
            ASSERT_EQ(y->values[0][static_cast<size_t>((b * kRows + i) * kColumns + j)],
                      totals ? x.at({b, i, j}) + total : x.at({b, i, j}) * kRows)
                << problem.op << " " << target.name << " at " << b << "," << i << "," << j;
        }
    }
}

// The epilogue of the second loop reads the first one's block, which lies in panels.
TEST(Author, TwoReductionsThatMeetInTheEpilogue) {
  auto library = authorLibrary();
  ASSERT_TRUE(library);
  std::mt19937_64 random(6);
  struct Extents {
    int64_t m, n, k;
  };
  for (const Target& target : runnableTargets())
    for (Extents x : {Extents{6, 64, 9}, {6, 65, 9}, {13, 330, 200}, {7, 256, 300}, {5, 33, 0}}) {
      TestOperand a = randomOperand(random, DType::F32, {x.m, x.k}), w = randomOperand(random, DType::F32, {x.k, x.n}),
                  u = randomOperand(random, DType::F32, {x.k, x.n});
      GroupProblem problem{"two_products", {}, {&a, &w, &u}, {}, nullptr};
      problem.library = library;
      auto y = runGroup(problem, target);
      ASSERT_TRUE(y.ok()) << message(y.status());
      for (int64_t i = 0; i < x.m; ++i)
        for (int64_t j = 0; j < x.n; ++j) {
          Sum left = productAt(a, w, i, j, x.k), right = productAt(a, u, i, j, x.k);
          double tolerance = static_cast<double>(2 * x.k + 3) * 0x1p-24 * left.size * right.size;
          ASSERT_NEAR(y->values[0][static_cast<size_t>(i * x.n + j)], left.value * right.value, tolerance)
              << target.name << " " << i << "," << j << " of " << x.m << "x" << x.n << "x" << x.k;
        }
    }
}

TEST(Author, CarriedValuesChangeTogether) {
  auto library = authorLibrary();
  ASSERT_TRUE(library);
  std::mt19937_64 random(7);
  TestOperand x = randomOperand(random, DType::F32, {19, 11});
  GroupProblem problem{"exchanged", {}, {&x}, {}, nullptr};
  problem.library = library;
  for (const Target& target : runnableTargets()) {
    auto y = runGroup(problem, target);
    ASSERT_TRUE(y.ok()) << message(y.status());
    for (int64_t i = 0; i < 19; ++i) {
      double want = 1, size = 4;
      for (int64_t j = 0; j < 11; ++j) want += x.at({i, j}), size += std::fabs(x.at({i, j}));
      ASSERT_NEAR(y->values[0][static_cast<size_t>(i)], want, 14 * 0x1p-24 * size) << target.name << " row " << i;
    }
  }
}

TEST(Author, ATransposeOfAnAccumulatorKeepsItsValue) {
  auto library = authorLibrary();
  ASSERT_TRUE(library);
  std::mt19937_64 random(8);
  TestOperand a = randomOperand(random, DType::F32, {13, 9}), b = randomOperand(random, DType::F32, {9, 21});
  GroupProblem problem{"first_product", {}, {&a, &b}, {}, nullptr};
  problem.library = library;
  for (const Target& target : runnableTargets()) {
    auto y = runGroup(problem, target);
    ASSERT_TRUE(y.ok()) << message(y.status());
    for (int64_t i = 0; i < 13; ++i)
      for (int64_t j = 0; j < 21; ++j) {
        Sum want = productAt(a, b, i, j, 9);
        ASSERT_NEAR(y->values[0][static_cast<size_t>(i * 21 + j)], want.value, 11 * 0x1p-24 * want.size)
            << i << "," << j;
      }
  }
}

TEST(Author, ElementwiseWorkAroundADot) {
  auto library = authorLibrary();
  ASSERT_TRUE(library);
  std::mt19937_64 random(5);
  TestOperand x = randomOperand(random, DType::F32, {31, 300}), w = randomOperand(random, DType::F32, {300, 45}),
              g = randomOperand(random, DType::F32, {31, 45});
  GroupProblem problem{"gated", {}, {&x, &w, &g}, {}, nullptr};
  problem.library = library;
  for (const Target& target : runnableTargets()) {
    auto y = runGroup(problem, target);
    ASSERT_TRUE(y.ok()) << message(y.status());
    for (int64_t i = 0; i < 31; ++i)
      for (int64_t j = 0; j < 45; ++j) {
        Sum sum = productAt(x, w, i, j, 300);
        double want = std::max(sum.value, 0.0) * g.at({i, j}) - sum.value;
        ASSERT_NEAR(y->values[0][static_cast<size_t>(i * 45 + j)], want, 2 * 304 * 0x1p-24 * sum.size) << target.name;
      }
  }
}

} // namespace
} // namespace tegula
