// A whole training run against PyTorch's record of it: the same start, batches and schedule give the same curve. The
// bars are the issue's; the default run takes the first 200 steps, TEGULA_LONG=1 all 2,000.
#include "../recorded/Recorded.h"
#include "TrainTestSupport.h"
#include "base/Files.h"
#include "data/Tokenizer.h"
#include "tensor/Safetensors.h"
#include <nlohmann/json.hpp>

using namespace tegula;

namespace {

constexpr int64_t kBatch = 12, kBlock = 64, kShortRun = 200, kLongRun = 2000;

struct Recorded {
  std::map<std::string, HostArray> initial;
  HostArray trainOffsets, validationOffsets;
  std::vector<int32_t> train, validation;
  std::vector<double> loss, norm, lr;
  std::map<int64_t, double> validationLoss;
};

Recorded load(const std::string& folder) {
  Recorded r;
  r.initial = orFail(readSafetensors(folder + "/init.safetensors")).tensors;
  auto batches = orFail(readSafetensors(folder + "/batches.safetensors")).tensors;
  r.trainOffsets = batches["train_offsets"];
  r.validationOffsets = batches["val_offsets"];
  std::string text = orFail(readFile(folder + "/tinyshakespeare.txt"));
  std::string_view view = text;
  std::vector<int32_t> tokens = orFail(Tokenizer::characters({&view, 1}).encode(text));
  auto split = static_cast<size_t>(0.9 * static_cast<double>(tokens.size()));
  r.train.assign(tokens.begin(), tokens.begin() + static_cast<ptrdiff_t>(split));
  r.validation.assign(tokens.begin() + static_cast<ptrdiff_t>(split), tokens.end());
  nlohmann::json curve = nlohmann::json::parse(orFail(readFile(folder + "/curve.json")));
  r.loss = curve["train_loss"].get<std::vector<double>>();
  r.norm = curve["grad_norm"].get<std::vector<double>>();
  r.lr = curve["lr"].get<std::vector<double>>();
  for (auto& [step, loss] : curve["val_loss"].items()) r.validationLoss[std::stoll(step)] = loss;
  return r;
}

std::pair<HostArray, HostArray> batchAt(const HostArray& offsets, int64_t row, const std::vector<int32_t>& tokens) {
  HostArray x = HostArray::zeros(DType::I32, {kBatch, kBlock}), y = x.clone();
  for (int64_t b = 0; b < kBatch; ++b)
    for (int64_t t = 0; t < kBlock; ++t) {
      int64_t at = offsets.getInt(row * kBatch + b) + t;
      x.as<int32_t>()[b * kBlock + t] = tokens[at];
      y.as<int32_t>()[b * kBlock + t] = tokens[at + 1];
    }
  return {x, y};
}

/// How a run differs from the recorded one.
struct Change {
  GptConfig model{.vocabulary = 65, .layers = 4, .heads = 4, .width = 128, .block = kBlock, .bias = false};
  OptimizerOptions optimizer{.beta1 = 0.9, .beta2 = 0.99, .epsilon = 1e-8, .weightDecay = 0.1, .maxNorm = 1.0};
  DType compute = DType::F32;
};

struct Curve {
  std::vector<double> loss, norm;
  std::map<int64_t, double> validationLoss;
  SessionStats stats;
  std::string plan;
};

double validationLoss(Session& session, const Gpt& model, const Recorded& r) {
  double sum = 0;
  int64_t batches = r.validationOffsets.shape()[0];
  for (int64_t i = 0; i < batches; ++i) {
    auto [x, y] = batchAt(r.validationOffsets, i, r.validation);
    std::vector<Tensor> p = model.parameters().read(session);
    Tensor loss = model.loss(model.logits(p, model.hidden(p, session.input(x))), session.input(y));
    const Tensor results[] = {loss};
    EXPECT_TRUE(session.evaluate(results).ok());
    sum += orFail(session.scalarValue(loss));
  }
  return sum / static_cast<double>(batches);
}

Curve train(const Recorded& r, int64_t steps, const Change& change) {
  Curve curve;
  std::unique_ptr<Session> session = makeSession(change.compute);
  if (!session) return curve;
  Gpt model(change.model);
  EXPECT_TRUE(model.parameters().create(*session, r.initial).ok());
  StatusOr<TrainStep> step = TrainStep::create(*session, model.parameters(), meanLossOf(model), change.optimizer);
  EXPECT_TRUE(step.ok()) << step.status();
  for (int64_t i = 0; i < steps; ++i) {
    if (r.validationLoss.contains(i)) curve.validationLoss[i] = validationLoss(*session, model, r);
    auto [x, y] = batchAt(r.trainOffsets, i, r.train);
    StatusOr<StepResult> result = step->run(x, y, r.lr[i]);
    EXPECT_TRUE(result.ok()) << "step " << i << ": " << result.status();
    if (!result.ok()) return curve;
    curve.loss.push_back(result->loss);
    curve.norm.push_back(result->gradientNorm);
    if (i == 0 && session->lastPlan()) curve.plan = session->lastPlan()->text();
  }
  if (r.validationLoss.contains(steps)) curve.validationLoss[steps] = validationLoss(*session, model, r);
  curve.stats = session->stats();
  return curve;
}

struct Deviation {
  double lossFirst100 = 0, loss = 0, meanLoss = 0, normFirst100 = 0, norm = 0, validation = 0; // norms: relative
};

Deviation compare(const Curve& c, const Recorded& r) {
  Deviation d;
  for (size_t i = 0; i < c.loss.size(); ++i) {
    double loss = std::abs(c.loss[i] - r.loss[i]), norm = std::abs(c.norm[i] - r.norm[i]) / r.norm[i];
    d.loss = std::max(d.loss, loss);
    d.norm = std::max(d.norm, norm);
    d.meanLoss += loss / static_cast<double>(c.loss.size());
    if (i < 100) d.lossFirst100 = d.loss, d.normFirst100 = d.norm;
  }
  for (const auto& [step, loss] : c.validationLoss)
    d.validation = std::max(d.validation, std::abs(loss - r.validationLoss.at(step)));
  return d;
}

std::string describe(const Deviation& d) {
  return fmt::format(
      "loss {:.2e} (first 100 steps {:.2e}, mean {:.2e}), norm {:.2e} (first 100 {:.2e}), validation {:.2e}", d.loss,
      d.lossFirst100, d.meanLoss, d.norm, d.normFirst100, d.validation);
}

/// The f32 bars: empty if all hold.
std::string f32Violations(const Deviation& d) {
  std::string out;
  auto bar = [&](const char* what, double value, double limit) {
    if (!(value <= limit)) out += fmt::format("{} {:.2e} > {:.0e}; ", what, value, limit);
  };
  bar("loss in the first 100 steps", d.lossFirst100, 5e-6);
  bar("loss", d.loss, 5e-5);
  bar("norm in the first 100 steps", d.normFirst100, 1e-5);
  bar("norm", d.norm, 2e-4);
  bar("validation", d.validation, 5e-5);
  return out;
}

int64_t stepsToRun() { return longTests() ? kLongRun : kShortRun; }

TEST(NanoGptChar, F32FollowsTheRecordedCurve) {
  TEGULA_RECORDED_OR_SKIP(folder, "nanogpt-char");
  Recorded r = load(folder);
  Curve c = train(r, stepsToRun(), {});
  ASSERT_EQ(static_cast<int64_t>(c.loss.size()), stepsToRun());
  Deviation d = compare(c, r);
  RecordProperty("deviation", describe(d));
  fmt::print("f32: {}\n", describe(d));
  EXPECT_EQ(f32Violations(d), "");
  EXPECT_EQ(c.stats.kernelsReference, 0);
}

TEST(NanoGptChar, Bf16StaysNearAndIsReallyBf16) {
  TEGULA_RECORDED_OR_SKIP(folder, "nanogpt-char");
  Recorded r = load(folder);
  Curve c = train(r, stepsToRun(), {.compute = DType::BF16});
  ASSERT_EQ(static_cast<int64_t>(c.loss.size()), stepsToRun());
  Deviation d = compare(c, r);
  fmt::print("bf16: {}\n", describe(d));
  EXPECT_LE(d.lossFirst100, 2e-3);
  EXPECT_LE(d.meanLoss, 3e-3);
  EXPECT_LE(d.validation, 0.01);
  EXPECT_GT(d.lossFirst100, 1e-5) << "the bf16 run equals the f32 curve: nothing was computed in bf16";
  EXPECT_NE(c.plan.find("bf16"), std::string::npos) << "the plan shows no bf16 operand:\n" << c.plan;
  EXPECT_EQ(c.stats.kernelsReference, 0);
}

// A test of the test: three mistakes that are easy to make and hard to see must each leave the bars.
class Mistake : public testing::TestWithParam<const char*> {};

TEST_P(Mistake, TurnsTheCurveRed) {
  TEGULA_RECORDED_OR_SKIP(folder, "nanogpt-char");
  Recorded r = load(folder);
  Change change;
  std::string_view name = GetParam();
  if (name == "TanhGelu") change.model.gelu = "tanh";
  if (name == "DecayOnNorms") change.optimizer.decayAll = true;
  if (name == "NormEpsilon") change.model.normEpsilon = 1e-6;
  Curve c = train(r, kShortRun, change);
  ASSERT_EQ(static_cast<int64_t>(c.loss.size()), kShortRun);
  fmt::print("{}: {}\n", name, describe(compare(c, r)));
  EXPECT_NE(f32Violations(compare(c, r)), "") << describe(compare(c, r));
}

INSTANTIATE_TEST_SUITE_P(NanoGptChar, Mistake, testing::Values("TanhGelu", "DecayOnNorms", "NormEpsilon"),
                         [](const auto& info) { return std::string(info.param); });

} // namespace
