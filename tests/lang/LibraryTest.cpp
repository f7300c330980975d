// OperatorLibrary: queries, attributes, binding of shapes, instantiation, gradients, loading from a folder.
#include "EagerBuilder.h"
#include "lang/Ast.h"
#include "lang/Format.h"
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

namespace tegula {
namespace {

std::shared_ptr<const OperatorLibrary> embedded() {
  auto l = OperatorLibrary::loadEmbedded();
  EXPECT_TRUE(l.ok()) << l.status();
  return *l;
}

std::string loaded(std::string_view text, std::shared_ptr<const OperatorLibrary>* out = nullptr) {
  SourceFile s{"t.tile", std::string(text)};
  auto l = OperatorLibrary::load({&s, 1});
  if (!l.ok()) return std::string(message(l.status()));
  if (out) *out = *l;
  return {};
}

StatusOr<TensorTypes> infer(const OperatorLibrary& l, Symbol op, std::vector<TensorType> types,
                            const Attributes& a = {}) {
  std::vector<const TensorType*> p;
  for (const TensorType& t : types) p.push_back(&t);
  return l.infer(op, p, a);
}
TensorType f32(Shape s) { return {DType::F32, s}; }

TEST(Library, TheWholeLibraryPassesTheShapeProbe) {
  std::vector<SourceFile> sources;
  for (const auto& e : std::filesystem::directory_iterator(TEGULA_SOURCE_DIR "/ops")) {
    std::ifstream in(e.path());
    std::stringstream s;
    s << in.rdbuf();
    sources.push_back({e.path().filename().string(), s.str()});
  }
  auto l = OperatorLibrary::load(sources);
  ASSERT_TRUE(l.ok()) << l.status();
  for (Symbol name : (*l)->names())
    EXPECT_FALSE((*l)->find(name)->example.empty()) << name.text() << " has no @example";
}

TEST(Library, DescribesOperators) {
  auto l = embedded();
  const OperatorInfo* i = l->find("scaled_dot_product_attention");
  ASSERT_NE(i, nullptr);
  EXPECT_EQ(i->inputs.size(), 5u);
  EXPECT_TRUE(i->inputs[3].optional);
  EXPECT_FALSE(i->inputs[3].differentiable);
  EXPECT_EQ(i->results, 1);
  EXPECT_EQ(i->residuals, 1);
  EXPECT_TRUE(i->hasGrad && i->hasKernel);
  EXPECT_TRUE(l->find("concatenate")->inputs[0].variadic);
  EXPECT_EQ(l->find("nothing"), nullptr);
  EXPECT_NE(l->sourceOf("matmul").find("def gemm("), std::string::npos);
}

TEST(Library, KernelsAreReadable) {
  auto l = embedded();
  const lang::KernelDecl* k = l->kernelFor("matmul");
  ASSERT_NE(k, nullptr);
  EXPECT_EQ(k->name, Symbol("gemm"));
  ASSERT_EQ(k->params.size(), 6u);
  EXPECT_EQ(k->params[2].role, lang::KernelParam::Role::Output);
  EXPECT_EQ(k->params[3].role, lang::KernelParam::Role::Tunable);
  EXPECT_EQ(k->body().size(), 1u);
}

TEST(Library, CompletesAttributes) {
  auto l = embedded();
  auto a = l->completeAttributes("softmax", {});
  ASSERT_TRUE(a.ok());
  EXPECT_EQ(a->getInt("axis"), -1);
  EXPECT_EQ(l->completeAttributes("conv2d", {{"stride", int64_t{2}}})->getInts("stride"), (Shape{2, 2}));
  EXPECT_EQ(l->completeAttributes("layer_norm", {{"eps", int64_t{1}}})->getFloat("eps"), 1.0);
  auto unknown = l->completeAttributes("softmax", {{"axes", int64_t{1}}}).status();
  EXPECT_EQ(message(unknown), "softmax: unknown attribute 'axes'; did you mean 'axis'?");
  auto wrong = l->completeAttributes("softmax", {{"axis", true}}).status();
  EXPECT_EQ(message(wrong), "softmax: attribute 'axis' is true; expected int");
  auto missing = l->completeAttributes("top_k", {}).status();
  EXPECT_EQ(message(missing), "top_k: attribute 'k' is missing; expected a value of type int");
  EXPECT_NE(message(infer(*l, "sofmax", {f32({3})}).status()).find("did you mean 'softmax'"), std::string_view::npos);
}

TEST(Library, ChecksShapesByName) {
  auto l = embedded();
  EXPECT_EQ((*infer(*l, "matmul", {f32({2, 1, 7, 33}), f32({3, 33, 18})}))[0], f32({2, 3, 7, 18}));
  EXPECT_EQ(message(infer(*l, "matmul", {f32({7, 768}), f32({512, 18})}).status()),
            "matmul: a has K=768 but b has K=512");
  EXPECT_EQ(message(infer(*l, "embedding", {f32({11, 6}), f32({3})}).status()),
            "embedding: i is f32; expected integers");
  EXPECT_EQ(message(infer(*l, "matmul", {f32({7, 3})}).status()),
            "matmul: 1 inputs given, 'b' is missing; expected a, b");
  EXPECT_NE(message(infer(*l, "attention", {f32({1, 3, 4, 8}), f32({1, 2, 4, 8}), f32({1, 2, 4, 8})}).status())
                .find("multiple of key/value heads"),
            std::string_view::npos);
}

TEST(Library, ConditionsLoopsOptionalsAndVariadics) {
  std::shared_ptr<const OperatorLibrary> l;
  ASSERT_EQ(loaded("@tile_op\ndef total(*xs: Tensor[N], scale: float = 1.0, twice: bool = False) -> Tensor[N]:\n"
                   "    assert len(xs) > 0, \"total: needs one input\"\n"
                   "    y = xs[0] * scale\n    for i in range(1, len(xs)):\n        y += xs[i] * scale\n"
                   "    if twice:\n        y = y + y\n    return y\n\n\n"
                   "@tile_op\ndef shift(x: Tensor[N], by: Tensor[N] | None = None) -> Tensor[N]:\n"
                   "    if by is None:\n        return x\n    return x + by\n",
                   &l),
            "");
  EagerBuilder b(*l);
  Value x = b.input(HostArray::fromValues(DType::F32, {2}, std::vector<double>{1, 2}), DType::F32);
  Values in = {x, x, x};
  auto y = l->instantiate("total", {in.data(), 3}, {{"twice", true}}, b);
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_EQ(b.array((*y)[0]).toVector(), (std::vector<double>{6, 12}));
  EXPECT_EQ(message(l->instantiate("total", {}, {}, b).status()),
            "total (t.tile:3:5): total: needs one input\n"
            "        assert len(xs) > 0, \"total: needs one input\"\n"
            "        ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~");
  Values absent = {x, Value()};
  EXPECT_EQ((*l->instantiate("shift", {absent.data(), 2}, {}, b))[0], x);
  EXPECT_EQ((*l->instantiate("shift", {absent.data(), 1}, {}, b))[0], x);
}

/// spec/problem-line.md: what a problem line may hold, an example may.
TEST(Library, ExamplesAreProblemLines) {
  for (std::string line :
       {"x=4,6 f32 seed=3", "x=4,6:bf16:t:-1..1 d=[1,2]", "bf16 x=[4,6] d=none", "x=2,2 d=3", "x=2,2 d=3,4"})
    EXPECT_EQ(loaded("@tile_op\n@example(\"f " + line + "\")\ndef f(x: Tensor[M, N], d: ints[2] | None = None) -> " +
                     "Tensor[M, N]:\n    return x if d is None else x * d[1]\n"),
              "")
        << line;
}

TEST(Library, PositionalArgumentsFollowTheHeader) {
  std::shared_ptr<const OperatorLibrary> l;
  ASSERT_EQ(loaded("@tile_op\ndef f(x: Tensor[N], k: int, y: Tensor[N]) -> Tensor[N]:\n    return x * k + y\n\n\n"
                   "@tile_op\ndef g(x: Tensor[N], y: Tensor[N]) -> Tensor[N]:\n    return f(y, 10, x)\n",
                   &l),
            "");
  EagerBuilder b(*l);
  auto vector = [&](double v) {
    return b.input(HostArray::fromValues(DType::F32, {1}, std::vector<double>{v}), DType::F32);
  };
  Values in = {vector(1), vector(2)};
  auto y = l->instantiate("g", {in.data(), 2}, {}, b);
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_EQ(b.array((*y)[0]).toVector(), (std::vector<double>{21}));
}

/// Every pair of i8 against plain integers: `//` rounds down, `%` has the sign of the divisor, both give 0 by 0, and the
/// one quotient that does not fit wraps.
TEST(Library, DivisionOfIntegersRoundsDown) {
  std::shared_ptr<const OperatorLibrary> l;
  ASSERT_EQ(loaded("@tile_op\ndef divided(a: Tensor[N, 1], b: Tensor[M]) -> tuple[Tensor[N, M], Tensor[N, M]]:\n"
                   "    return a // b, a % b\n",
                   &l),
            "");
  EagerBuilder builder(*l);
  std::vector<double> all;
  for (int v = -128; v < 128; ++v) all.push_back(v);
  Values in = {builder.input(HostArray::fromValues(DType::I8, {256, 1}, all), DType::I8),
               builder.input(HostArray::fromValues(DType::I8, {256}, all), DType::I8)};
  auto out = l->instantiate("divided", {in.data(), 2}, {}, builder);
  ASSERT_TRUE(out.ok()) << out.status();
  for (int a = -128; a < 128; ++a)
    for (int b = -128; b < 128; ++b) {
      double floor = b == 0 ? 0 : std::floor(static_cast<double>(a) / b); // exact: both are small
      int64_t at = (a + 128) * 256 + b + 128;
      ASSERT_EQ(builder.array((*out)[0]).getInt(at), static_cast<int8_t>(static_cast<int>(floor))) << a << " // " << b;
      ASSERT_EQ(builder.array((*out)[1]).getInt(at), b == 0 ? 0 : a - static_cast<int>(floor) * b) << a << " % " << b;
    }
}

/// Python's `%` of constants is exact: a - floor(a / b) * b would be inf * 0, and lose the digits of a large quotient.
TEST(Library, RemaindersOfConstantsAreExact) {
  std::shared_ptr<const OperatorLibrary> l;
  ASSERT_EQ(
      loaded("@tile_op\ndef rest(x: Tensor[N], a: float, b: float) -> Tensor[N]:\n    return x * 0 + a % b\n", &l), "");
  struct Case {
    double a, b, rest;
  };
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (Case c : {Case{5.5, 2, 1.5}, {-5.5, 2, 0.5}, {5.5, -2, -0.5}, {5.5, kInfinity, 5.5}, {0x1p70, 3, 1}}) {
    EagerBuilder b(*l);
    Values in = {b.input(HostArray::zeros(DType::F32, {1}), DType::F32)};
    auto y = l->instantiate("rest", {in.data(), 1}, {{"a", c.a}, {"b", c.b}}, b);
    ASSERT_TRUE(y.ok()) << y.status();
    EXPECT_EQ(b.array((*y)[0]).get(0), c.rest) << c.a << " % " << c.b;
  }
}

TEST(Library, ClampsIntegersBetweenWholeBounds) {
  auto l = embedded();
  EagerBuilder b(*l);
  Values in = {b.input(HostArray::fromValues(DType::I32, {5}, std::vector<double>{-9, -2, 0, 3, 9}), DType::I32)};
  auto y = l->instantiate("clamp", {in.data(), 1}, {{"low", -2.0}, {"high", 3.0}}, b);
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_EQ(b.array((*y)[0]).toVector(), (std::vector<double>{-2, -2, 0, 3, 3}));
  auto refusal = [&](DType d, double low) {
    return std::string(message(infer(*l, "clamp", {{d, {3}}}, {{"low", low}}).status()));
  };
  EXPECT_NE(refusal(DType::I32, 0.5).find("0.5 cannot stand for an element of i32"), std::string::npos);
  EXPECT_NE(refusal(DType::U8, -1).find("-1 does not fit u8 (0 ... 255)"), std::string::npos);
  EXPECT_NE(refusal(DType::Bool, 1).find("cannot stand for an element of bool"), std::string::npos);
}

/// Attributes that no call can mean, on shapes that fit.
TEST(Library, RefusesAbsurdAttributes) {
  auto l = embedded();
  const TensorType row = f32({5}), image = f32({2, 3, 9, 8}), kernel = f32({5, 3, 3, 3}), labels{DType::I64, {5}};
  struct Case {
    std::string op;
    std::vector<TensorType> inputs;
    Attributes attributes;
    std::string says;
  };
  const int64_t none = 0, negative = -1, three = 3;
  for (const Case& c : std::vector<Case>{
           {"top_k", {row}, {{"k", negative}}, "k must be from 0 to the extent"},
           {"top_k", {row}, {{"k", int64_t{6}}}, "k must be from 0 to the extent"},
           {"one_hot", {labels}, {{"classes", negative}}, "classes must be at least 0"},
           {"conv2d", {image, kernel}, {{"stride", none}}, "strides [0,0] and dilation [1,1] must be at least 1"},
           {"conv2d", {image, kernel}, {{"dilation", none}}, "must be at least 1"},
           {"conv2d", {image, kernel}, {{"groups", none}}, "must be groups times"},
           {"max_pool2d", {image}, {{"size", none}}, "the size must be at least 1"},
           {"max_pool2d", {image}, {{"size", three}, {"stride", none}}, "the stride must be at least 1"},
           {"max_pool2d", {image}, {{"size", three}, {"padding", negative}}, "the padding must be at least 0"},
           {"max_pool2d", {image}, {{"size", three}, {"padding", three}}, "padding must be smaller than the window"},
           {"avg_pool2d", {image}, {{"size", negative}}, "the size must be at least 1"},
           {"avg_pool2d", {image}, {{"size", three}, {"stride", negative}}, "the stride must be at least 1"},
           {"avg_pool2d", {image}, {{"size", three}, {"padding", negative}}, "the padding must be at least 0"},
           {"group_norm", {image}, {{"groups", none}}, "groups must divide the channels"},
           {"rope", {f32({3, 4})}, {{"theta", 0.0}}, "theta must be above 0"},
           {"attention", {f32({1, 9, 4}), f32({1, 9, 4}), f32({1, 9, 4})}, {{"window", negative}}, "window must be"},
           {"cross_entropy", {f32({5, 7}), labels}, {{"label_smoothing", 1.5}}, "label_smoothing must be from 0 to 1"},
           {"clip_scale", {f32({})}, {{"limit", -1.0}}, "limit must be at least 0"},
           {"slice", {row}, {{"start", Shape{0}}, {"stop", Shape{5}}, {"step", Shape{0}}}, "step is 0"},
           {"pad", {row}, {{"low", Shape{-1}}, {"high", Shape{0}}}, "expected 0 or more"},
           {"broadcast_to", {f32({1})}, {{"shape", Shape{-3}}}, "negative extent"}}) {
    Status refused = infer(*l, Symbol(c.op), c.inputs, c.attributes).status();
    EXPECT_FALSE(refused.ok()) << c.op << ": " << c.says;
    EXPECT_NE(message(refused).find(c.says), std::string_view::npos) << c.op << " says " << refused;
  }
}

TEST(Library, EqualShapesBroadcastNothing) {
  auto l = embedded();
  EagerBuilder b(*l);
  HostArray a(TensorType{DType::F32, {3, 4}});
  Values in = {b.input(a, DType::F32), b.input(a, DType::F32)};
  int before = b.primitives;
  ASSERT_TRUE(l->instantiate("add", {in.data(), 2}, {}, b).ok());
  EXPECT_EQ(b.primitives - before, 1);
}

TEST(Library, GradientsComeOnePerInput) {
  auto l = embedded();
  EagerBuilder b(*l);
  Value x = b.input(HostArray(TensorType{DType::F32, {4, 3}}), DType::F32),
        w = b.input(HostArray(TensorType{DType::F32, {5, 3}}), DType::F32);
  Value y = b.input(HostArray(TensorType{DType::F32, {4, 5}}), DType::F32);
  Values in = {x, w, Value()}, out = {y}, dy = {y};
  auto g = l->instantiateGrad("linear", {in.data(), 3}, {out.data(), 1}, {dy.data(), 1}, {}, b);
  ASSERT_TRUE(g.ok()) << g.status();
  ASSERT_EQ(g->size(), 3u);
  EXPECT_TRUE((*g)[0].present() && (*g)[1].present());
  EXPECT_FALSE((*g)[2].present());
  EXPECT_EQ(b.typeOf((*g)[1]).shape, (Shape{5, 3}));
}

TEST(Library, AdamwIsTheTextbookStep) {
  auto l = embedded();
  EagerBuilder b(*l);
  auto one = [&](double v, Shape s) {
    return b.input(HostArray::fromValues(DType::F32, s, std::vector<double>(s.elements(), v)), DType::F32);
  };
  double p = 0.5, g = 0.25, m = 0.1, v = 0.01, lr = 0.001, c1 = 1 - std::pow(0.9, 3), c2 = 1 - std::pow(0.999, 3);
  Values in = {one(p, {2}), one(g, {2}), one(m, {2}), one(v, {2}), one(lr, {}), one(0.5, {}), one(c1, {}), one(c2, {})};
  auto out = l->instantiate("adamw", {in.data(), in.size()}, {{"weight_decay", 0.1}}, b);
  ASSERT_TRUE(out.ok()) << out.status();
  double lr32 = static_cast<float>(lr), gs = g * 0.5, mm = 0.9 * static_cast<float>(m) + 0.1 * gs,
         vv = 0.999 * static_cast<float>(v) + 0.001 * gs * gs;
  double want =
      p * (1 - lr32 * 0.1) - lr32 * (mm / static_cast<float>(c1)) / (std::sqrt(vv / static_cast<float>(c2)) + 1e-8);
  EXPECT_NEAR(b.array((*out)[0]).get(0), want, 1e-12);
  EXPECT_NEAR(b.array((*out)[1]).get(1), mm, 1e-12);
  EXPECT_NEAR(b.array((*out)[2]).get(0), vv, 1e-12);
}

TEST(Library, DropoutKeepsTheMean) {
  auto l = embedded();
  EagerBuilder b(*l);
  HostArray x = HostArray::fromValues(DType::F32, {100, 100}, std::vector<double>(10000, 1.0));
  HostArray seed(TensorType{DType::I64, {}}), step(TensorType{DType::I64, {}});
  Values in = {b.input(x, DType::F32), b.input(seed, DType::I64), b.input(step, DType::I64)};
  auto y = l->instantiate("dropout", {in.data(), 3}, {{"rate", 0.25}, {"stream", int64_t{9}}}, b);
  ASSERT_TRUE(y.ok()) << y.status();
  double sum = 0;
  int zeros = 0;
  for (double v : b.array((*y)[0]).toVector()) sum += v, zeros += v == 0;
  // 10,000 draws of probability 1/4: the standard deviation of the count is 43; six of them.
  EXPECT_NEAR(zeros, 2500, 260);
  EXPECT_NEAR(sum, (10000 - zeros) / 0.75, 1e-6);
}

TEST(Library, FolderOverridesTheBinary) {
  std::string folder = testing::TempDir() + "/tegula_ops_override";
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/mine.tile") << "@tile_op\ndef mine(x: Tensor[...]) -> Tensor[...]:\n    return -x\n";
  setenv("TEGULA_OPS", folder.c_str(), 1);
  auto l = OperatorLibrary::loadEmbedded();
  unsetenv("TEGULA_OPS");
  ASSERT_TRUE(l.ok()) << l.status();
  EXPECT_EQ((*l)->names().size(), 1u);
  setenv("TEGULA_OPS", "/nowhere", 1);
  auto missing = OperatorLibrary::loadEmbedded();
  unsetenv("TEGULA_OPS");
  EXPECT_NE(message(missing.status()).find("TEGULA_OPS names /nowhere"), std::string_view::npos);
}

/// Examples that are whole programs: those with a @tile_op.
TEST(Library, ExamplesOfTheSpecificationCheck) {
  std::ifstream in(TEGULA_SOURCE_DIR "/spec/tile-language.md");
  std::stringstream all;
  all << in.rdbuf();
  std::string text = all.str();
  constexpr std::string_view kBegin = "```python\n", kEnd = "```\n";
  int checked = 0;
  for (size_t at = 0; (at = text.find(kBegin, at)) != std::string::npos;) {
    at += kBegin.size();
    size_t end = text.find(kEnd, at);
    ASSERT_NE(end, std::string::npos);
    SourceFile source{"spec.tile", text.substr(at, end - at)};
    at = end;
    if (source.text.find("@tile_op") == std::string::npos) continue;
    auto library = OperatorLibrary::load({&source, 1});
    EXPECT_TRUE(library.ok()) << library.status();
    auto canonical = lang::format(source);
    ASSERT_TRUE(canonical.ok()) << canonical.status();
    EXPECT_EQ(*canonical, source.text);
    ++checked;
  }
  EXPECT_GE(checked, 1);
}

} // namespace
} // namespace tegula
