// GPT-2 folders as Hugging Face writes them, against what transformers computed in f64: logits, loss, every gradient,
// ten AdamW steps and a greedy continuation.
#include "../recorded/Recorded.h"
#include "../train/TrainTestSupport.h"
#include "base/Files.h"
#include "models/hf/Gpt2.h"
#include "train/Sampler.h"
#include <cmath>
#include <nlohmann/json.hpp>

using namespace tegula;

namespace {

struct Expected {
  std::map<std::string, HostArray> arrays;
  nlohmann::json json;
};

/// Batch `i` of an i32 [n, B, T] array.
HostArray batchOf(const HostArray& all, int64_t i) {
  Shape shape{all.shape()[1], all.shape()[2]};
  HostArray out = HostArray::zeros(DType::I32, shape);
  std::copy_n(all.as<int32_t>() + i * shape.elements(), shape.elements(), out.as<int32_t>());
  return out;
}

double relativeNorm(const HostArray& found, const HostArray& expected) {
  double difference = 0, size = 0;
  for (int64_t i = 0; i < expected.elements(); ++i) {
    difference += std::pow(found.get(i) - expected.get(i), 2);
    size += std::pow(expected.get(i), 2);
  }
  return std::sqrt(difference / size);
}

double largest(const HostArray& a) {
  double top = 0;
  for (double x : a.toVector()) top = std::max(top, std::abs(x));
  return top;
}

class Gpt2Folder : public testing::TestWithParam<const char*> {
protected:
  void load(const std::string& folder) {
    config_ = orFail(hf::readGpt2Config(folder + "/config.json"));
    weights_ = orFail(hf::readGpt2Weights(folder + "/model.safetensors", config_));
    expected_.arrays = orFail(readSafetensors(folder + "/expected.safetensors")).tensors;
    expected_.json = nlohmann::json::parse(orFail(readFile(folder + "/expected.json")));
    session_ = makeSession();
    model_ = std::make_unique<Gpt>(config_);
    Status created = model_->parameters().create(*session_, weights_);
    ASSERT_TRUE(created.ok()) << created;
  }
  HostArray tokens(int64_t i) { return batchOf(expected_.arrays.at("input_ids"), i); }
  HostArray labels(int64_t i) { return batchOf(expected_.arrays.at("labels"), i); }

  GptConfig config_;
  std::map<std::string, HostArray> weights_;
  Expected expected_;
  std::unique_ptr<Session> session_;
  std::unique_ptr<Gpt> model_;
};

TEST_P(Gpt2Folder, LogitsLossAndEveryGradient) {
  TEGULA_RECORDED_OR_SKIP(folder, GetParam());
  ASSERT_NO_FATAL_FAILURE(load(folder));
  std::vector<Tensor> p = model_->parameters().read(*session_);
  Tensor logits = model_->logits(p, model_->hidden(p, session_->input(tokens(0))));
  Tensor loss = model_->loss(logits, session_->input(labels(0)));
  std::vector<Tensor> results = grad(loss, p);
  results.push_back(logits);
  results.push_back(loss);
  Status s = session_->evaluate(results);
  ASSERT_TRUE(s.ok()) << s;
  EXPECT_NEAR(orFail(session_->scalarValue(loss)), expected_.json["loss"].get<double>(), 1e-5);

  HostArray found = orFail(session_->value(logits)), expected = expected_.arrays.at("logits");
  ASSERT_EQ(toString(found.shape()), toString(expected.shape()));
  double top = largest(expected), worst = 0;
  for (int64_t i = 0; i < expected.elements(); ++i) worst = std::max(worst, std::abs(found.get(i) - expected.get(i)));
  EXPECT_LE(worst, 5e-6 * top) << "largest logit " << top;

  for (size_t i = 0; i < p.size(); ++i) {
    const std::string& name = model_->parameters().list()[i].name;
    HostArray gradient = orFail(session_->value(results[i]));
    const int64_t swap[] = {1, 0};
    if (hf::isConv1d(name)) gradient = gradient.transpose(swap);
    double error = relativeNorm(gradient, expected_.arrays.at("grad." + name));
    EXPECT_LE(error, 1e-5) << name;
  }
  EXPECT_EQ(session_->stats().kernelsReference, 0);
}

TEST_P(Gpt2Folder, TenAdamWSteps) {
  TEGULA_RECORDED_OR_SKIP(folder, GetParam());
  ASSERT_NO_FATAL_FAILURE(load(folder));
  const nlohmann::json& a = expected_.json["adamw"];
  OptimizerOptions options{.beta1 = a["betas"][0],
                           .beta2 = a["betas"][1],
                           .epsilon = a["eps"],
                           .weightDecay = a["weight_decay"],
                           .maxNorm = a["clip_grad_norm"]};
  StatusOr<TrainStep> step = TrainStep::create(*session_, model_->parameters(), meanLossOf(*model_), options);
  ASSERT_TRUE(step.ok()) << step.status();
  for (int64_t i = 0; i < 10; ++i) {
    StatusOr<StepResult> r = step->run(tokens(i + 1), labels(i + 1), a["lr"]);
    ASSERT_TRUE(r.ok()) << r.status();
    EXPECT_NEAR(r->loss, expected_.json["losses_of_10_steps"][i].get<double>(), 1e-5) << "step " << i;
    double norm = expected_.json["grad_norms_before_clipping"][i];
    EXPECT_NEAR(r->gradientNorm, norm, 1e-5 * norm) << "step " << i;
  }
  std::vector<Tensor> p = model_->parameters().read(*session_);
  Tensor loss = meanLossOf(*model_)(p, session_->input(tokens(0)), session_->input(labels(0)));
  const Tensor results[] = {loss};
  ASSERT_TRUE(session_->evaluate(results).ok());
  EXPECT_NEAR(orFail(session_->scalarValue(loss)), expected_.json["loss_on_batch_0_after"].get<double>(), 1e-5);
}

TEST_P(Gpt2Folder, GreedyContinuation) {
  TEGULA_RECORDED_OR_SKIP(folder, GetParam());
  ASSERT_NO_FATAL_FAILURE(load(folder));
  const nlohmann::json& greedy = expected_.json["greedy"];
  auto expected = greedy["continuation"].get<std::vector<int32_t>>();
  Sampler sampler(*session_, *model_, Tokenizer::bytes());
  int64_t compiledAtFirst = -1, compiled = 0;
  SamplingOptions options{.tokens = static_cast<int64_t>(expected.size()), .temperature = 0};
  auto found = orFail(sampler.continueTokens(greedy["prompt"].get<std::vector<int32_t>>(), options, [&](int32_t) {
    compiled = session_->stats().kernelsCompiled;
    if (compiledAtFirst < 0) compiledAtFirst = compiled;
  }));
  EXPECT_EQ(found, expected);
  EXPECT_EQ(compiled, compiledAtFirst) << "generation compiled something after the first token";
  EXPECT_LE(session_->stats().plansMade, 1);
}

INSTANTIATE_TEST_SUITE_P(HuggingFace, Gpt2Folder, testing::Values("gpt2-tiny", "gpt2-long"), [](const auto& info) {
  std::string name = info.param;
  std::ranges::replace(name, '-', '_');
  return name;
});

} // namespace
