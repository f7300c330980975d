// Tile kernels of every element type: author's kernels against their definitions, in blocks of usual size and small
// ones. A kernel that were not run would agree by itself, so each problem also has to say that it runs.
#include "Library.h"
#include "verify/Check.h"
#include "verify/SessionOperation.h"

namespace tegula {
namespace {

struct IntegerType {
  const char* name;
  const char* large; // a constant near its upper end
  const char* least;
  const char* most;
  const char* range; // of the values
};
constexpr IntegerType kIntegers[] = {
    {"i8", "100", "-128", "127", "-128..127"},
    {"u8", "200", "0", "255", "0..255"},
    {"i16", "30000", "-32768", "32767", "-32768..32767"},
    {"u16", "60000", "0", "65535", "0..65535"},
    {"i32", "2000000000", "-2147483648", "2147483647", "-2147483648..2147483647"},
    {"i64", "9007199254740993", "-9223372036854775807", "9223372036854775807", "-4000000000000000..4000000000000000"}};
constexpr const char* kFloats[] = {"f16", "bf16", "f32", "f64"};

/// Operators of one integer type: TYPE, LARGE, LEAST and MOST stand for IntegerType's.
constexpr const char* kOfIntegers = R"(
@tile_op(differentiable=False)
def mixed_TYPE(x: Tensor[..., M, N : TYPE], y: Tensor[..., M, N : TYPE]) -> Tensor[..., M, N : TYPE]:
    return where(x < y, x * 3 - y, maximum(x // 3, y % 5)) + minimum(abs(x), 7) + LARGE


@tile_kernel(implements=mixed_TYPE)
def mixed_TYPE_tiles(x: Tensor[M, N : TYPE], y: Tensor[M, N], z: Out[M, N], BM: Tunable, BN: Tunable):
    for i, j in grid(M, BM, N, BN):
        a = where(x[i, j] < y[i, j], x[i, j] * 3 - y[i, j], maximum(x[i, j] / 3, y[i, j] % 5))
        z[i, j] = a + minimum(abs(x[i, j]), 7) + LARGE


@tile_op(differentiable=False)
def around_mixed_TYPE(x: Tensor[..., M, N : TYPE], y: Tensor[..., M, N : TYPE]) -> Tensor[..., M, N : TYPE]:
    return mixed_TYPE(x + 1, transpose(transpose(y))) * 2 - x


@tile_op(differentiable=False)
def row_facts_TYPE(
    x: Tensor[..., M, N : TYPE],
) -> tuple[Tensor[..., M, 1 : TYPE], Tensor[..., M, 1 : TYPE], Tensor[..., M, 1 : TYPE], Tensor[..., M, 1 : bool]]:
    some = max(cast(x > 3, i32), axis=-1, keepdim=True) > 0
    return (
        sum(x, axis=-1, keepdim=True),
        max(x, axis=-1, keepdim=True),
        min(x, axis=-1, keepdim=True),
        some,
    )


@tile_kernel(implements=row_facts_TYPE)
def row_facts_TYPE_tiles(
    x: Tensor[M, N : TYPE], total: Out[M, 1], high: Out[M, 1], low: Out[M, 1], some: Out[M, 1], BM: Tunable, BN: Tunable
):
    for i in grid(M, BM):
        s = zeros(BM, 1, TYPE)
        h = full(BM, 1, LEAST, TYPE)
        l = full(BM, 1, MOST, TYPE)
        t = full(BM, 1, 0, TYPE) > 0
        for j in tiles(N, BN):
            s += sum(x[i, j], axis=1, keepdim=True)
            h = maximum(h, max(x[i, j], axis=1, keepdim=True))
            l = minimum(l, min(x[i, j], axis=1, keepdim=True))
            t = t | max(x[i, j] > 3, axis=1, keepdim=True)
        total[i, :] = s
        high[i, :] = h
        low[i, :] = l
        some[i, :] = t


@tile_op(differentiable=False)
def column_sums_TYPE(x: Tensor[..., M, N : TYPE]) -> Tensor[..., 1, N : TYPE]:
    return sum(x, axis=-2, keepdim=True)


@tile_kernel(implements=column_sums_TYPE)
def column_sums_TYPE_tiles(x: Tensor[M, N : TYPE], y: Out[1, N], BM: Tunable, BN: Tunable):
    for j in grid(N, BN):
        s = zeros(1, BN, TYPE)
        for i in tiles(M, BM):
            s += transpose(sum(transpose(x[i, j]), axis=1, keepdim=True))
        y[:, j] = s


@tile_op(differentiable=False)
def halves_TYPE(x: Tensor[..., M, N : TYPE]) -> Tensor[..., M, N : f16]:
    return cast(x, f16) * 0.5


@tile_kernel(implements=halves_TYPE)
def halves_TYPE_tiles(x: Tensor[M, N : TYPE], y: Out[M, N], BM: Tunable):
    for i in grid(M, BM):
        y[i, :] = cast(x[i, :], f16) * 0.5


@tile_op(differentiable=False)
def tenths_TYPE(x: Tensor[..., M, N : float]) -> Tensor[..., M, N : TYPE]:
    return cast(floor(x * 10), TYPE)


@tile_kernel(implements=tenths_TYPE)
def tenths_TYPE_tiles(x: Tensor[M, N], y: Out[M, N], BM: Tunable):
    for i in grid(M, BM):
        y[i, :] = cast(floor(x[i, :] * 10.0), TYPE)
)";

constexpr const char* kOthers = R"(
@tile_op(differentiable=False)
def twice(x: Tensor[..., M, N : float]) -> Tensor[..., M, N]:
    return x * 2


@tile_kernel(implements=twice)
def twice_tiles(x: Tensor[M, N], y: Out[M, N], BM: Tunable, BN: Tunable):
    for i, j in grid(M, BM, N, BN):
        y[i, j] = x[i, j] * 2.0


@tile_op(differentiable=False)
def compared(x: Tensor[..., M, N : float], y: Tensor[..., M, N : float]) -> tuple[Tensor[..., M, N : bool], Tensor[..., M, N]]:
    return (x < y) & ~(x == y), where(x <= y, x, y)


@tile_kernel(implements=compared)
def compared_tiles(x: Tensor[M, N], y: Tensor[M, N], less: Out[M, N], least: Out[M, N], BM: Tunable, BN: Tunable):
    for i, j in grid(M, BM, N, BN):
        less[i, j] = (x[i, j] < y[i, j]) & ~(x[i, j] == y[i, j])
        least[i, j] = where(x[i, j] <= y[i, j], x[i, j], y[i, j])


@tile_op(differentiable=False)
def first_largest(x: Tensor[..., M, N : float]) -> Tensor[..., M, 1 : i64]:
    return arg_max(x, -1, True)


@tile_kernel(implements=first_largest)
def first_largest_tiles(x: Tensor[M, N], at: Out[M, 1], BM: Tunable, BN: Tunable):
    for i in grid(M, BM):
        best = full(BM, 1, -inf, f32)
        place = zeros(BM, 1, i64)
        for j in tiles(N, BN):
            m = max(x[i, j], axis=1, keepdim=True)
            here = min(where(x[i, j] == m, cols(j), 9223372036854775807), axis=1, keepdim=True)
            place = where(m > best, here, place)
            best = maximum(best, m)
        at[i, :] = place


@tile_op(differentiable=False)
def flipped(x: Tensor[..., M, N : bool]) -> tuple[Tensor[..., M, N : bool], Tensor[..., M, 1 : i64]]:
    return ~x, sum(cast(x, i64), axis=-1, keepdim=True)


@tile_kernel(implements=flipped)
def flipped_tiles(x: Tensor[M, N : bool], y: Out[M, N], count: Out[M, 1], BM: Tunable, BN: Tunable):
    for i in grid(M, BM):
        n = zeros(BM, 1, i64)
        for j in tiles(N, BN):
            y[i, j] = ~x[i, j]
            n += sum(cast(x[i, j], i64), axis=1, keepdim=True)
        count[i, :] = n


@tile_op(differentiable=False)
def chosen(x: Tensor[..., M, K : float], w: Tensor[K, N : float], labels: Tensor[..., M : i32]) -> Tensor[..., M, N]:
    return where((labels > 0)[..., None], cast(x @ w, x.dtype), 0)


@tile_kernel(implements=chosen)
def chosen_tiles(
    x: Tensor[M, K], w: Tensor[K, N], labels: Tensor[M, 1 : i32], y: Out[M, N], BM: Tunable, BN: Tunable, BK: Tunable
):
    for i, j in grid(M, BM, N, BN):
        acc = zeros(BM, BN, f32)
        for k in tiles(K, BK):
            acc += dot(x[i, k], w[k, j])
        y[i, j] = where(labels[i, :] > 0, acc, 0.0)


@tile_op(differentiable=False)
def open_type(x: Tensor[..., M, N]) -> Tensor[..., M, N]:
    return x * 2


@tile_kernel(implements=open_type)
def open_type_tiles(x: Tensor[M, N], y: Out[M, N], BM: Tunable):
    for i in grid(M, BM):
        y[i, :] = x[i, :] * 2.0


# Wrong on purpose.
@tile_op(differentiable=False)
def wrong_float(x: Tensor[M, N : float]) -> Tensor[M, N]:
    return x * 2


@tile_kernel(implements=wrong_float)
def wrong_float_tiles(x: Tensor[M, N], y: Out[M, N], BM: Tunable):
    for i in grid(M, BM):
        y[i, :] = x[i, :] * 3.0


@tile_op(differentiable=False)
def wrong_integer(x: Tensor[M, N : int]) -> Tensor[M, N]:
    return x * 2 + 1


@tile_kernel(implements=wrong_integer)
def wrong_integer_tiles(x: Tensor[M, N], y: Out[M, N], BM: Tunable):
    for i in grid(M, BM):
        y[i, :] = x[i, :] * 2


@tile_op(differentiable=False)
def wrong_truth(x: Tensor[M, N : float]) -> Tensor[M, N : bool]:
    return x < 0


@tile_kernel(implements=wrong_truth)
def wrong_truth_tiles(x: Tensor[M, N], y: Out[M, N], BM: Tunable):
    for i in grid(M, BM):
        y[i, :] = x[i, :] > 0.0
)";

std::string replaced(std::string text, std::string_view what, std::string_view with) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size()))
    text.replace(at, what.size(), with);
  return text;
}

/// The built-in library and the operators above.
std::shared_ptr<const OperatorLibrary> typesLibrary() {
  static const auto loaded = [] {
    std::string own = kOthers;
    for (const IntegerType& t : kIntegers) {
      std::string text = replaced(replaced(kOfIntegers, "TYPE", t.name), "LARGE", t.large);
      own += "\n" + replaced(replaced(text, "LEAST", t.least), "MOST", t.most);
    }
    return libraryWith(own);
  }();
  return loaded;
}

/// A session that compiles for `target`, and its compiler.
struct Machine {
  explicit Machine(const Target& target) : session(sessionFor(target, typesLibrary())) {}

  std::string unused(const Problem& p) const {
    auto graph = forwardGraph(typesLibrary(), p.op, makeInputs(p), p.attributes);
    EXPECT_TRUE(graph.ok()) << message(graph.status());
    auto lines = unusedKernels(*graph, **session->compiler());
    EXPECT_TRUE(lines.ok()) << message(lines.status());
    return fmt::format("{}", fmt::join(*lines, "; "));
  }

  Status check(const Problem& p) const {
    CheckOptions forward;
    forward.gradients = false;
    return checkProblem(p, sessionOperation(*session), typesLibrary(), forward).status();
  }

  std::unique_ptr<Session> session;
};

const std::vector<Machine>& machines() {
  static const auto* made = [] {
    auto* all = new std::vector<Machine>;
    all->emplace_back(*detectTarget());
    all->emplace_back(withSmallBlocks(*detectTarget()));
    return all;
  }();
  return *made;
}

Problem problemOf(const std::string& line) {
  auto problem = parseProblem(line, *typesLibrary());
  EXPECT_TRUE(problem.ok()) << line << ": " << message(problem.status());
  return *problem;
}

/// The kernel runs, and agrees with the definition.
void expectRight(const std::string& line) {
  Problem problem = problemOf(line);
  for (const Machine& m : machines()) {
    EXPECT_EQ(m.unused(problem), "") << line;
    Status checked = m.check(problem);
    EXPECT_TRUE(checked.ok()) << message(checked);
  }
}

constexpr const char* kShapes[] = {"1,1", "7,9", "2,33,17", "3,64,65", "130,131"};

TEST(KernelTypes, Integers) {
  ASSERT_TRUE(typesLibrary());
  for (const IntegerType& t : kIntegers)
    for (const char* shape : kShapes)
      for (const char* layout : {"", ":t"}) {
        std::string of = fmt::format("{}{}:{}:{}", shape, layout, t.name, t.range);
        std::string like = fmt::format("{}:{}:1..99", shape, t.name), few = fmt::format("{}:{}", shape, t.name);
        for (const std::string& y : {like, few}) expectRight(fmt::format("mixed_{} x={} y={}", t.name, of, y));
        expectRight(fmt::format("around_mixed_{} x={} y={}", t.name, like, of));
        expectRight(fmt::format("halves_{} x={}", t.name, like)); // most of the range overflows f16
        for (const char* op : {"row_facts", "column_sums"}) expectRight(fmt::format("{}_{} x={}", op, t.name, of));
      }
}

TEST(KernelTypes, Floats) {
  ASSERT_TRUE(typesLibrary());
  for (const char* type : kFloats)
    for (const char* shape : kShapes)
      for (const char* layout : {"", ":t"}) {
        expectRight(fmt::format("twice x={}{} {}", shape, layout, type));
        expectRight(fmt::format("compared x={}{} y={} {}", shape, layout, shape, type));
        expectRight(fmt::format("first_largest x={}{} {}", shape, layout, type));
        for (const IntegerType& t : kIntegers)
          expectRight(fmt::format("tenths_{} x={}{} {}", t.name, shape, layout, type));
      }
}

TEST(KernelTypes, TruthValues) {
  ASSERT_TRUE(typesLibrary());
  for (const char* shape : kShapes)
    for (const char* layout : {"", ":t"}) expectRight(fmt::format("flipped x={}{}:bool", shape, layout));
}

TEST(KernelTypes, ProductsOfFloats) {
  ASSERT_TRUE(typesLibrary());
  for (const char* type : kFloats) {
    for (const char* line : {"a=7,9 b=9,5", "a=2,33,70 b=2,70,45", "a=130,131:t b=131,65:t", "a=3,1,64 b=64,1"})
      expectRight(fmt::format("matmul {} {}", line, type));
    for (const char* line : {"x=7,9 w=9,5 labels=7:i32", "x=2,33,70 w=70,45 labels=2,33:i32"})
      expectRight(fmt::format("chosen {} {}", line, type));
    expectRight(fmt::format("scaled_dot_product_attention q=2,19,8 k=2,19,8 v=2,19,8 {} scale=0.35 causal=true", type));
  }
}

TEST(KernelTypes, AWrongKernelIsFound) {
  ASSERT_TRUE(typesLibrary());
  std::vector<std::string> lines;
  for (const char* type : kFloats) {
    lines.push_back(fmt::format("wrong_float x=9,9 {}", type));
    lines.push_back(fmt::format("wrong_truth x=9,9 {}", type));
  }
  for (const IntegerType& t : kIntegers) lines.push_back(fmt::format("wrong_integer x=9,9:{}", t.name));
  for (const std::string& line : lines)
    for (const Machine& m : machines()) EXPECT_FALSE(m.check(problemOf(line)).ok()) << line;
}

// Where the operator leaves its type open, the checker took the kernel for one of floats.
TEST(KernelTypes, WhatAKernelWasNotCheckedForIsComputedByTheDefinitionAndSaid) {
  ASSERT_TRUE(typesLibrary());
  const Machine& m = machines()[0];
  Problem integers = problemOf("open_type x=9,9:i32");
  EXPECT_EQ(m.unused(integers), "open_type's tile kernel is not used: the input x is i32: the operator does not state "
                                "the type, and kernels count such elements as floats");
  EXPECT_TRUE(m.check(integers).ok());
  EXPECT_EQ(m.unused(problemOf("open_type x=9,9 f16")), "");
  EXPECT_EQ(m.unused(problemOf("matmul a=9 b=9 f32")), "matmul's tile kernel is not used: result 1 is a scalar");
  EXPECT_TRUE(m.check(problemOf("matmul a=9,9:i32 b=9,9:i32")).ok());
}

} // namespace
} // namespace tegula
