// What kernels may say: each body here stands beside a refusal in tests/errors that differs from it by the mistake.
#include "lang/OperatorLibrary.h"
#include <gtest/gtest.h>

namespace tegula {
namespace {

constexpr const char* kOperator = R"(
@tile_op(differentiable=False)
def f(x: Tensor[M, N], m: Tensor[M, N : bool], bias: Tensor[M, N] | None, *, factor: float, flag: bool = False, window: int = 0) -> Tensor[M, N]:
    y = where(m, x, 0) * (factor + window) if flag else x
    return y if bias is None else y + bias


@tile_kernel(implements=f)
def f_tiles(x: Tensor[M, N], m: Tensor[M, N : bool], bias: Tensor[M, N] | None, y: Out[M, N], factor: float, flag: bool, window: int, BM: Tunable, BN: Tunable):
    for i, j in grid(M, BM, N, BN):
        used = where(m[i, j], factor, 1.0)
        if bias is not None and flag or window == 3:
            pass
)";

struct Case {
  const char *name, *body;
};

const Case kCases[] = {
    {"store in both branches", R"(
        if flag:
            y[i, j] = x[i, j] * used
        else:
            y[i, j] = x[i, j]
)"},
    {"store in a branch over a store", R"(
        y[i, j] = x[i, j] * used
        if window > 0 and not flag:
            y[i, j] = x[i, j]
)"},
    {"optional input where it is there", R"(
        t = x[i, j]
        if bias is None or flag:
            t = t * used
        else:
            t = t + bias[i, j]
        if not (bias is None):
            t = t + bias[i, j]
        y[i, j] = t * used
)"},
    {"truth values", R"(
        even = (rows(i) % 2 == 0) & m[i, j] | ~(x[i, j] > 0)
        any = max(even, axis=1, keepdim=True)
        y[i, j] = where(where(any, even, m[i, j]) == m[i, j], x[i, j] * used, 0.0) + cast(even, f32)
)"},
    {"integers", R"(
        p = (rows(i) + cols(j) + i.start * window - M) / 2 + rows(i) ** 2
        p = maximum(p, 0) - abs(p)
        y[i, j] = where(p == M, x[i, j], used) * cast(p, x.dtype)
)"},
    {"constants", R"(
        half = 1 / 2
        t = full(BM, BN, -inf, dtype=f32) * exp(factor) + cast(x[i, j], dtype=f32) / (factor * half)
        if flag and window >= 2 * 2 - 1:
            t = t * window / M
        y[i, j] = t * used
)"},
    {"a dimension that is read whole", R"(
        if N > 64:
            used = used * 2.0
        y[i, j] = sum(x[i, :], axis=1, keepdim=True) * (1.0 / N) + sum(zeros(BM, N, f32), axis=1, keepdim=True) * used
)"},
    {"a loop that carries a tile and an integer", R"(
        n = 0
        acc = zeros(BM, 1, f32)
        for k in tiles(N, BN, start=i.start - window, stop=N):
            acc += sum(x[i, k], axis=1, keepdim=True)
            n += k.stop - k.start
        y[i, j] = acc / n * used
)"},
};

std::string loaded(std::string text) {
  SourceFile s{"t.tile", std::move(text)};
  auto l = OperatorLibrary::load({&s, 1});
  return l.ok() ? "" : std::string(message(l.status()));
}

TEST(Kernel, Accepted) {
  for (const Case& c : kCases) EXPECT_EQ(loaded(kOperator + std::string(c.body + 1)), "") << c.name;
}

constexpr const char* kRows = R"(
@tile_op(differentiable=False)
def f(x: Tensor[M, N]) -> Tensor[M, N]:
    return x


@tile_kernel(implements=f)
def f_tiles(x: Tensor[M, N], y: Out[M, N], BM: Tunable, BN: Tunable):
    for i in grid(M, BM):
)";

TEST(Kernel, StoresInLoops) {
  EXPECT_EQ(loaded(std::string(kRows) + "        for j in tiles(N, BN):\n            y[i, j] = x[i, j]\n"), "");
  EXPECT_EQ(loaded(std::string(kRows) + "        y[i, :] = x[i, :] * 0.0\n"
                                        "        for j in tiles(N, BN, stop=i.stop):\n            y[i, j] = x[i, j]\n"),
            "");
}

/// Axes in another order, and an axis that a result lacks.
TEST(Kernel, OutputsPresentResults) {
  EXPECT_EQ(
      loaded("@tile_op(differentiable=False)\n"
             "def f(x: Tensor[..., M, N]) -> tuple[Tensor[..., M, N], Residual[..., M : float], Residual[..., M, 1]]:\n"
             "    return x, sum(wide(x), axis=-1), sum(x, axis=-1, keepdim=True)\n\n\n"
             "@tile_kernel(implements=f)\n"
             "def f_tiles(x: Tensor[N, M], y: Out[N, M], s: Out[1, M : float], t: Out[1, M], BM: Tunable):\n"
             "    for i in grid(M, BM):\n"
             "        y[:, i] = x[:, i]\n"
             "        s[:, i] = sum(x[:, i], axis=0, keepdim=True)\n"
             "        t[:, i] = sum(x[:, i], axis=0, keepdim=True)\n"),
      "");
}

} // namespace
} // namespace tegula
