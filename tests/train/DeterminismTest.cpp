// The same bits for any number of threads: losses, gradients (as first moments) and weights over 50 steps.
#include "TrainTestSupport.h"

using namespace tegula;

namespace {

struct Bits {
  std::vector<double> losses, norms;
  std::map<std::string, HostArray> weights, moments;
};

Bits run(int threads, DType compute) {
  Bits out;
  std::unique_ptr<Session> session = makeSession(compute, threads);
  if (!session) return out;
  // Odd sizes: work that does not divide evenly among threads.
  Gpt model({.vocabulary = 61, .layers = 2, .heads = 3, .width = 63, .block = 37, .bias = true});
  EXPECT_TRUE(model.parameters().create(*session, 5).ok());
  StatusOr<TrainStep> step = TrainStep::create(*session, model.parameters(), meanLossOf(model), {});
  EXPECT_TRUE(step.ok()) << step.status();
  constexpr int64_t B = 5, T = 37;
  for (int64_t i = 0; i < 50; ++i) {
    std::vector<int32_t> x, y;
    for (int64_t j = 0; j < B * T; ++j)
      x.push_back(static_cast<int32_t>((j * j + 7 * i) % 61)), y.push_back((3 * x.back() + 1) % 61); // can be learned
    StatusOr<StepResult> r = step->run(tokensFrom(x, {B, T}), tokensFrom(y, {B, T}), 1e-3);
    EXPECT_TRUE(r.ok()) << r.status();
    if (!r.ok()) return out;
    out.losses.push_back(r->loss);
    out.norms.push_back(r->gradientNorm);
  }
  out.weights = orFail(model.parameters().fetch(*session));
  out.moments = orFail(step->fetchMoments());
  return out;
}

void expectSameBytes(const std::map<std::string, HostArray>& a, const std::map<std::string, HostArray>& b,
                     const std::string& what) {
  ASSERT_EQ(a.size(), b.size());
  for (const auto& [name, array] : a) {
    auto left = array.bytes(), right = b.at(name).bytes();
    EXPECT_TRUE(std::equal(left.begin(), left.end(), right.begin(), right.end())) << what << ": " << name << " differs";
  }
}

class Threads : public testing::TestWithParam<DType> {};

TEST_P(Threads, DoNotChangeABit) {
  Bits one = run(1, GetParam());
  ASSERT_EQ(one.losses.size(), 50u);
  EXPECT_LT(one.losses.back(), one.losses.front());
  for (int threads : {2, 3, 7}) {
    Bits many = run(threads, GetParam());
    EXPECT_EQ(many.losses, one.losses) << threads << " threads";
    EXPECT_EQ(many.norms, one.norms) << threads << " threads";
    expectSameBytes(one.weights, many.weights, fmt::format("{} threads", threads));
    expectSameBytes(one.moments, many.moments, fmt::format("{} threads", threads));
  }
}

INSTANTIATE_TEST_SUITE_P(Precision, Threads, testing::Values(DType::F32, DType::BF16),
                         [](const auto& info) { return std::string(name(info.param)); });

} // namespace
