// Parameters: names, initial values, and what a file must hold.
#include "../data/TemporaryFolder.h"
#include "models/Gpt.h"
#include "models/hf/Gpt2.h"
#include <cmath>
#include <gmock/gmock.h>

using namespace tegula;
using testing::HasSubstr;

namespace {

TEST(Gpt, NamesAreNanoGpts) {
  Gpt model({.vocabulary = 7, .layers = 1, .heads = 1, .width = 4, .block = 3, .bias = true, .tiedHead = false});
  std::vector<std::string> names;
  for (const Parameter& p : model.parameters().list()) names.push_back(p.name);
  EXPECT_THAT(names, testing::ElementsAre("transformer.wte.weight", "transformer.wpe.weight",
                                          "transformer.h.0.ln_1.weight", "transformer.h.0.ln_1.bias",
                                          "transformer.h.0.attn.c_attn.weight", "transformer.h.0.attn.c_attn.bias",
                                          "transformer.h.0.attn.c_proj.weight", "transformer.h.0.attn.c_proj.bias",
                                          "transformer.h.0.ln_2.weight", "transformer.h.0.ln_2.bias",
                                          "transformer.h.0.mlp.c_fc.weight", "transformer.h.0.mlp.c_fc.bias",
                                          "transformer.h.0.mlp.c_proj.weight", "transformer.h.0.mlp.c_proj.bias",
                                          "transformer.ln_f.weight", "transformer.ln_f.bias", "lm_head.weight"));
  Gpt small({.vocabulary = 65, .layers = 4, .heads = 4, .width = 128, .block = 64, .bias = false});
  EXPECT_EQ(small.parameters().elements(), 65 * 128 + 64 * 128 + 4 * (12 * 128 * 128 + 2 * 128) + 128);
}

TEST(Gpt, RefusesBadSizes) {
  EXPECT_THAT(
      std::string(message(GptConfig{.vocabulary = 7, .layers = 1, .heads = 3, .width = 64, .block = 8}.check())),
      HasSubstr("width 64 is not a multiple of heads 3; the nearest width is 63"));
  EXPECT_THAT(
      std::string(message(GptConfig{.vocabulary = 7, .layers = 0, .heads = 3, .width = 63, .block = 8}.check())),
      HasSubstr("layers is 0"));
}

/// The value of the last of `count` parameters of this shape, all started from `seed`.
HostArray initialValues(Shape shape, uint64_t seed, int count = 1) {
  auto session = Session::create({});
  EXPECT_TRUE(session.ok()) << session.status();
  Parameters parameters;
  for (int i = count; i-- > 0;) parameters.declare(fmt::format("w{}", i), shape, Initialization::normal(0.02));
  Status created = parameters.create(**session, seed);
  EXPECT_TRUE(created.ok()) << created;
  auto value = (*session)->fetchState(parameters.list().back().state);
  EXPECT_TRUE(value.ok()) << value.status();
  return *value;
}

TEST(Initialization, IsNormalAndAFunctionOfSeedAndName) {
  // Large enough for several threads, and no multiple of a vector.
  HostArray a = initialValues({1501, 2003}, 1);
  double sum = 0, squares = 0, largest = 0;
  int64_t n = a.elements();
  for (int64_t i = 0; i < n; ++i) {
    double x = a.as<float>()[i] / 0.02;
    sum += x;
    squares += x * x;
    largest = std::max(largest, std::abs(x));
  }
  auto count = static_cast<double>(n);
  EXPECT_NEAR(sum / count, 0, 5 / std::sqrt(count));
  EXPECT_NEAR(squares / count, 1, 5 * std::sqrt(2 / count));
  EXPECT_GT(largest, 4);
  EXPECT_LT(largest, 6);
  // Whatever is declared around it.
  HostArray again = initialValues({1501, 2003}, 1, 2), otherSeed = initialValues({1501, 2003}, 2);
  EXPECT_TRUE(std::ranges::equal(a.bytes(), again.bytes()));
  EXPECT_FALSE(std::ranges::equal(a.bytes(), otherSeed.bytes()));
  // The same elements whatever the extent: element i depends on i only.
  HostArray shorter = initialValues({10}, 1);
  for (int64_t i = 0; i < 10; ++i) EXPECT_EQ(shorter.get(i), a.get(i));
}

TEST(Initialization, OfManyParametersAtOnceIsThatOfEach) {
  auto session = Session::create({});
  ASSERT_TRUE(session.ok()) << session.status();
  Parameters parameters;
  const std::vector<Shape> shapes{{65, 32}, {7}, {96, 32}, {32, 32}, {1}, {65, 32}, {33, 17}, {128, 128}, {32, 128}};
  for (size_t i = 0; i < shapes.size(); ++i)
    parameters.declare(fmt::format("p{}", i), shapes[i], Initialization::normal(0.02 * static_cast<double>(i + 1)));
  ASSERT_TRUE(parameters.create(**session, 3).ok());
  for (size_t i = 0; i < shapes.size(); ++i) {
    Parameters alone;
    auto other = Session::create({});
    alone.declare(fmt::format("p{}", i), shapes[i], Initialization::normal(0.02 * static_cast<double>(i + 1)));
    ASSERT_TRUE(alone.create(**other, 3).ok());
    HostArray together = *(*session)->fetchState(parameters.list()[i].state);
    HostArray single = *(*other)->fetchState(alone.list()[0].state);
    EXPECT_TRUE(std::ranges::equal(together.bytes(), single.bytes())) << i;
  }
}

TEST(HuggingFace, ConfigIsCheckedInWords) {
  TemporaryFolder f;
  const char* good =
      R"({"model_type": "gpt2", "vocab_size": 9, "n_layer": 1, "n_head": 2, "n_embd": 4, "n_positions": 8, "extra": {"a": 1}, )";
  f.write("a.json", std::string(good) + R"("activation_function": "gelu", "n_inner": null})");
  auto c = hf::readGpt2Config(f.path("a.json"));
  ASSERT_TRUE(c.ok()) << c.status();
  EXPECT_EQ(c->gelu, "erf");
  EXPECT_EQ(c->hiddenWidth(), 16);
  EXPECT_TRUE(c->tiedHead);
  f.write("b.json", std::string(good) + R"("activation_function": "relu"})");
  EXPECT_THAT(std::string(message(hf::readGpt2Config(f.path("b.json")).status())),
              HasSubstr("activation_function is 'relu'"));
  f.write("c.json", R"({"model_type": "llama"})");
  EXPECT_THAT(std::string(message(hf::readGpt2Config(f.path("c.json")).status())),
              HasSubstr("found 'llama', expected one of gpt2"));
}

} // namespace
