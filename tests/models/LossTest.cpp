// The loss of a batch is the number that people compare: it must be near what f32 allows.
#include "runtime/Session.h"
#include "runtime/Tensor.h"
#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace tegula;

namespace {

/// Mean cross entropy of B x T x V logits, in f64.
double meanLoss(const HostArray& x, const HostArray& y, int64_t V) {
  double total = 0;
  for (int64_t r = 0; r < y.elements(); ++r) {
    double sum = 0;
    for (int64_t c = 0; c < V; ++c) sum += std::exp(x.get(r * V + c));
    total += std::log(sum) - x.get(r * V + y.getInt(r));
  }
  return total / static_cast<double>(y.elements());
}

TEST(Loss, MeanOverABatchIsNotOneLongSum) {
  // 768 losses of about 4.2: one running sum of them is wrong by about sqrt(768) * ulp(2048) / 4 / 768 = 2e-6, sums of
  // blocks of 64 by sqrt(64) * ulp(128) / 4 * sqrt(12) + sqrt(12) * ulp(2048) / 4 = 3e-7 of the mean, root mean square.
  constexpr int64_t B = 12, T = 64, V = 65;
  auto session = Session::create({});
  ASSERT_TRUE(session.ok()) << session.status();
  static const Symbol crossEntropy("cross_entropy");
  double squares = 0;
  constexpr int kTrials = 20;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::mt19937 random(static_cast<uint32_t>(trial));
    HostArray x = HostArray::zeros(DType::F32, {B, T, V}), y = HostArray::zeros(DType::I32, {B, T});
    for (int64_t i = 0; i < x.elements(); ++i)
      x.as<float>()[i] = std::uniform_real_distribution<float>(-0.4f, 0.4f)(random);
    for (int64_t i = 0; i < y.elements(); ++i) y.setInt(i, static_cast<int64_t>(random() % V));
    Tensor loss = call(crossEntropy, {(*session)->input(x), (*session)->input(y)});
    const Tensor results[] = {loss};
    ASSERT_TRUE((*session)->evaluate(results).ok());
    double error = *(*session)->scalarValue(loss) - meanLoss(x, y, V);
    squares += error * error;
  }
  EXPECT_LT(std::sqrt(squares / kTrials), 6e-7);
}

} // namespace
