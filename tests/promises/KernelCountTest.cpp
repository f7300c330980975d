// What compiles, and when: a deep model needs few distinct kernels, other extents need no further kernel, a second
// session compiles nothing, and nothing ever runs on the reference evaluator.
#include "runtime/Session.h"
#include "train/TrainStep.h"
#include <filesystem>
#include <gtest/gtest.h>
#include <unistd.h>

namespace tegula {
namespace {

/// An empty kernel cache that goes away with the test.
struct CacheFolder {
  std::string path = (std::filesystem::temp_directory_path() / ("tegula-kernels-" + std::to_string(getpid()))).string();
  CacheFolder() { std::filesystem::remove_all(path); }
  ~CacheFolder() { std::filesystem::remove_all(path); }
};

HostArray ids(int64_t B, int64_t T, int64_t vocabulary, int64_t salt) {
  HostArray a = HostArray::zeros(DType::I32, {B, T});
  for (int64_t i = 0; i < a.elements(); ++i) a.setInt(i, (i * 7 + salt) % vocabulary);
  return a;
}

struct Trainer {
  std::unique_ptr<Session> session;
  std::unique_ptr<Gpt> model;
  std::optional<TrainStep> step;

  Trainer(const std::string& cache, const GptConfig& config, DType compute) {
    SessionOptions options;
    options.cacheFolder = cache;
    options.precision.compute = compute;
    auto s = Session::create(options);
    EXPECT_TRUE(s.ok()) << s.status();
    session = std::move(*s);
    model = std::make_unique<Gpt>(config);
    Status created = model->parameters().create(*session, 7);
    EXPECT_TRUE(created.ok()) << created;
    auto made = TrainStep::create(*session, model->parameters(), meanLossOf(*model), {});
    EXPECT_TRUE(made.ok()) << made.status();
    step.emplace(std::move(*made));
  }
  ~Trainer() {
    step.reset();
    model.reset();
  }
  void run(int64_t B, int64_t T) {
    int64_t V = model->config().vocabulary;
    auto r = step->run(ids(B, T, V, 1), ids(B, T, V, 2), 1e-3);
    ASSERT_TRUE(r.ok()) << "B " << B << " T " << T << ": " << r.status();
    EXPECT_TRUE(r->applied);
  }
};

const GptConfig kDeep{.vocabulary = 101, .layers = 12, .heads = 4, .width = 48, .block = 40};

class KernelCount : public testing::TestWithParam<DType> {};

TEST_P(KernelCount, TwelveLayersNeedAtMostSixtyKernels) {
  CacheFolder cache;
  Trainer t(cache.path, kDeep, GetParam());
  t.run(3, 40);
  EXPECT_LE(t.session->stats().distinctKernels, 60);
  EXPECT_GE(t.session->stats().distinctKernels, 5) << "too few to be a training step";
  EXPECT_EQ(t.session->stats().kernelsReference, 0);
  EXPECT_EQ(t.session->stats().kernelsFromCache, 0);
}

TEST_P(KernelCount, OtherExtentsCompileNothing) {
  CacheFolder cache;
  GptConfig config = kDeep;
  config.layers = 2;
  Trainer t(cache.path, config, GetParam());
  t.run(3, 40);
  SessionStats first = t.session->stats();
  for (auto [B, T] : {std::pair<int64_t, int64_t>{5, 40}, {3, 17}, {2, 32}, {7, 5}, {1, 40}, {4, 1}, {1, 1}}) {
    t.run(B, T);
    SessionStats now = t.session->stats();
    EXPECT_EQ(now.kernelsCompiled, first.kernelsCompiled) << "B " << B << " T " << T << " compiled a kernel";
    EXPECT_EQ(now.kernelsReference, 0);
  }
  EXPECT_GT(t.session->stats().plansMade, first.plansMade);
}

TEST_P(KernelCount, SecondSessionCompilesNothing) {
  CacheFolder cache;
  GptConfig config = kDeep;
  config.layers = 1;
  int64_t compiled = 0;
  {
    Trainer t(cache.path, config, GetParam());
    t.run(2, 16);
    compiled = t.session->stats().kernelsCompiled;
    EXPECT_GT(compiled, 0);
  }
  Trainer t(cache.path, config, GetParam());
  t.run(2, 16);
  EXPECT_EQ(t.session->stats().kernelsCompiled, 0);
  EXPECT_EQ(t.session->stats().kernelsFromCache, compiled);
}

INSTANTIATE_TEST_SUITE_P(Types, KernelCount, testing::Values(DType::F32, DType::BF16),
                         [](const auto& info) { return std::string(name(info.param)); });

} // namespace
} // namespace tegula
