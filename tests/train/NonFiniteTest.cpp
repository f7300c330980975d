// Losses and gradients that are not finite change nothing and are named; gradients whose squares overflow are clipped.
#include "TrainTestSupport.h"
#include <cmath>
#include <limits>

using namespace tegula;

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

/// loss = sum(a · x) + sum(b): its gradient with respect to a is x, to b is 1.
struct Fixture {
  std::unique_ptr<Session> session = makeSession();
  Parameters parameters;
  std::optional<TrainStep> step;

  explicit Fixture(HostArray x, OptimizerOptions options = {.weightDecay = 0}) {
    parameters.declare("a", {4}, Initialization::zeros());
    parameters.declare("b", {3}, Initialization::ones());
    EXPECT_TRUE(parameters.create(*session, 1).ok());
    LossFunction loss = [this, x](ParameterValues p, const Tensor&, const Tensor&) {
      return call("sum", {p[0] * session->input(x)}) + call("sum", {p[1]});
    };
    StatusOr<TrainStep> made = TrainStep::create(*session, parameters, loss, options);
    EXPECT_TRUE(made.ok()) << made.status();
    if (made.ok()) step.emplace(*std::move(made));
  }
  StepResult run() {
    HostArray none = HostArray::zeros(DType::I32, {1});
    return orFail(step->run(none, none, 0.1));
  }
  std::vector<double> values(size_t i) { return orFail(session->fetchState(parameters.list()[i].state)).toVector(); }
};

HostArray gradientOf(std::vector<double> x) { return HostArray::fromValues(DType::F32, {4}, x); }

TEST(NonFinite, AnInfiniteGradientChangesNothingAndIsNamed) {
  Fixture f(gradientOf({1, 2, kInf, 3}));
  StepResult r = f.run();
  EXPECT_FALSE(r.applied);
  // 0 · inf is NaN: the loss is named too.
  EXPECT_EQ(r.nonFinite, (std::vector<std::string>{"loss", "a"}));
  EXPECT_EQ(f.values(0), (std::vector<double>{0, 0, 0, 0}));
  EXPECT_EQ(f.values(1), (std::vector<double>{1, 1, 1}));
  EXPECT_EQ(f.step->updates(), 0);
  for (const auto& [name, moment] : orFail(f.step->fetchMoments()))
    for (double m : moment.toVector()) EXPECT_EQ(m, 0) << name;
}

TEST(NonFinite, ANanInTheDataChangesNothing) {
  Fixture f(gradientOf({1, NAN, 2, 3}));
  StepResult r = f.run();
  EXPECT_FALSE(r.applied);
  EXPECT_EQ(f.values(1), (std::vector<double>{1, 1, 1}));
}

TEST(NonFinite, SquaresThatOverflowAreClippedProperly) {
  Fixture f(gradientOf({1e20, -1e20, 0, 1e20}));
  StepResult r = f.run();
  EXPECT_TRUE(r.applied);
  EXPECT_NEAR(r.gradientNorm / (std::sqrt(3.0) * 1e20), 1, 1e-6);
  EXPECT_EQ(f.step->updates(), 1);
  // Adam's first step moves by the learning rate, whatever the gradient's size.
  std::vector<double> a = f.values(0);
  EXPECT_NEAR(a[0], -0.1, 1e-4);
  EXPECT_NEAR(a[1], 0.1, 1e-4);
  EXPECT_EQ(a[2], 0);
}

/// AdamW's second moment would be infinite for ever after, and the weight would never move again.
TEST(NonFinite, SquaresThatOverflowAndAreNotClippedChangeNothing) {
  for (double maxNorm : {0.0, 1e30}) {
    Fixture f(gradientOf({1e20, -1e20, 1e18, 1}), {.weightDecay = 0, .maxNorm = maxNorm});
    StepResult r = f.run();
    EXPECT_FALSE(r.applied);
    EXPECT_EQ(r.nonFinite, (std::vector<std::string>{"a (its square)"}));
    EXPECT_EQ(f.values(0), (std::vector<double>{0, 0, 0, 0}));
    for (const auto& [name, moment] : orFail(f.step->fetchMoments()))
      for (double m : moment.toVector()) EXPECT_EQ(m, 0) << name;
  }
}

TEST(NonFinite, OnlyTheSumOfSquaresOverflows) {
  Fixture f(gradientOf({1.5e19, -1.5e19, 1e18, 1}), {.weightDecay = 0, .maxNorm = 0});
  StepResult r = f.run();
  EXPECT_TRUE(r.applied);
  EXPECT_NEAR(f.values(0)[0], -0.1, 1e-4);
  for (const auto& [name, moment] : orFail(f.step->fetchMoments()))
    for (double m : moment.toVector()) EXPECT_TRUE(std::isfinite(m)) << name;
}

TEST(NonFinite, TheNextStepGoesOn) {
  Fixture f(gradientOf({1, 2, 3, 4}));
  StepResult r = f.run();
  EXPECT_TRUE(r.applied);
  EXPECT_NEAR(r.gradientNorm, std::sqrt(30.0 + 3.0), 1e-5);
  EXPECT_NEAR(f.values(0)[0], -0.1, 1e-4);
}

} // namespace
