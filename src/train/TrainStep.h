// One optimizer step as one plan: loss, gradients, their global norm, clipping, AdamW for every parameter and the
// assignments. Reused by the training loop and by tests that bring their own batches.
//
//   TG_ASSIGN_OR_RETURN(TrainStep step, TrainStep::create(session, model.parameters(), lossOf(model), options));
//   TG_ASSIGN_OR_RETURN(StepResult r, step.run(tokens, labels, learningRate));
//
// Source of the update: Loshchilov & Hutter 2019, "Decoupled weight decay regularization", as PyTorch's AdamW computes
// it.
#pragma once

#include "models/Gpt.h"
#include <functional>

namespace tegula {

struct OptimizerOptions {
  double beta1 = 0.9, beta2 = 0.99, epsilon = 1e-8, weightDecay = 0.1;
  double maxNorm = 1.0;  // of all gradients together; 0: no clipping
  bool decayAll = false; // false: only tensors of two or more dimensions decay
};

struct StepResult {
  double loss = 0;         // before the update
  double gradientNorm = 0; // before clipping
  /// False where the loss, a gradient or the square that AdamW keeps of it was not finite: then no parameter and no
  /// moment has changed.
  bool applied = true;
  /// What was not finite, "loss", "NAME" or "NAME (its square)" of a parameter, where not applied.
  std::vector<std::string> nonFinite;
};

using LossFunction = std::function<Tensor(ParameterValues, const Tensor& tokens, const Tensor& labels)>;
/// Mean cross-entropy of a GPT, which must outlive the function.
LossFunction meanLossOf(const Gpt&);

class TrainStep {
public:
  /// Adds two moments, zero, for each parameter. Requires: the parameters have states; they outlive the step.
  static StatusOr<TrainStep> create(Session&, const Parameters&, LossFunction, const OptimizerOptions&);

  /// Fails: what evaluate() fails with. A result that is not finite is no failure.
  StatusOr<StepResult> run(const HostArray& tokens, const HostArray& labels, double learningRate);
  /// The graph that run() evaluates.
  StatusOr<Graph> recordedGraph(const HostArray& tokens, const HostArray& labels);

  /// How many updates have been applied: the exponent of the bias corrections.
  int64_t updates() const { return updates_; }
  /// Moments by name: NAME.exp_avg and NAME.exp_avg_sq.
  StatusOr<std::map<std::string, HostArray>> fetchMoments() const;
  Status storeMoments(const std::map<std::string, HostArray>&, int64_t updates);
  /// "weight decay 0.1 on 18 tensors of two or more dimensions (802,944 elements), none on 9 others (1,152 elements)"
  std::string decayRule() const;

private:
  struct Recorded {
    Tensor loss, norm;
  };
  TrainStep(Session& s, const Parameters& p, LossFunction loss, const OptimizerOptions& o)
      : session_(&s), parameters_(&p), loss_(std::move(loss)), options_(o) {}
  Recorded record(const HostArray& tokens, const HostArray& labels, double learningRate, double normScale);
  Tensor recordNorm(std::span<const Tensor> gradients, double normScale);
  StatusOr<StepResult> recover(const HostArray& tokens, const HostArray& labels, double learningRate,
                               StepResult failed);
  bool decays(const Parameter& p) const { return options_.decayAll || p.shape.rank() >= 2; }

  Session* session_;
  const Parameters* parameters_;
  LossFunction loss_;
  OptimizerOptions options_;
  struct Moments {
    int32_t first, second;
  };
  std::vector<Moments> moments_;
  int64_t updates_ = 0;
  std::vector<Tensor> values_, gradients_,
      updated_; // of the step being recorded; kept so that a steady step allocates nothing
};

} // namespace tegula
