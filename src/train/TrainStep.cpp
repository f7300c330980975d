// Recording and running one optimizer step.
#include "train/TrainStep.h"

#include <cmath>
#include <limits>

namespace tegula {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const double kLargestSquared = std::sqrt(static_cast<double>(std::numeric_limits<float>::max())); // by AdamW, in f32
constexpr double kNormEpsilon = 1e-6; // PyTorch's clip_grad_norm_ divides by norm + 1e-6

bool isFinite(double x) { return std::isfinite(x); }

} // namespace

LossFunction meanLossOf(const Gpt& model) {
  return [&model](ParameterValues p, const Tensor& tokens, const Tensor& labels) {
    return model.loss(model.logits(p, model.hidden(p, tokens)), labels);
  };
}

StatusOr<TrainStep> TrainStep::create(Session& session, const Parameters& parameters, LossFunction loss,
                                      const OptimizerOptions& options) {
  TrainStep step(session, parameters, std::move(loss), options);
  for (const Parameter& p : parameters.list()) {
    if (p.state < 0) return internal("TrainStep: parameter {} has no state yet", p.name);
    TensorType zeros{DType::F32, p.shape};
    Moments m;
    m.first = session.addState(p.name + ".exp_avg", zeros);
    m.second = session.addState(p.name + ".exp_avg_sq", zeros);
    step.moments_.push_back(m);
  }
  return step;
}

/// sqrt(sum of squares of every gradient). A scale other than 1 keeps the squares of huge gradients finite.
Tensor TrainStep::recordNorm(std::span<const Tensor> gradients, double normScale) {
  static const Symbol sum("sum"), root("sqrt");
  Scope scope(*session_, "grad_norm");
  Tensor total;
  for (const Tensor& g : gradients) {
    Tensor scaled = normScale == 1 ? g : g * normScale;
    Tensor one = call(sum, {scaled * scaled});
    total = total.present() ? total + one : one;
  }
  Tensor norm = call(root, {total});
  return normScale == 1 ? norm : norm * (1 / normScale);
}

TrainStep::Recorded TrainStep::record(const HostArray& tokens, const HostArray& labels, double learningRate,
                                      double normScale) {
  static const Symbol adamw("adamw"), minimum("minimum"), less("less"), select("select"), magnitude("abs"),
      beta1("beta1"), beta2("beta2"), eps("eps"), weightDecay("weight_decay");
  Session& s = *session_;
  std::vector<Tensor>& p = values_;
  parameters_->read(s, p);
  Tensor loss = loss_(p, s.input(tokens), s.input(labels));
  grad(loss, p, gradients_);
  if (gradients_.size() != p.size()) return {loss, loss}; // a recording error, which evaluate() reports
  Tensor norm = recordNorm(gradients_, normScale);

  Scope scope(s, "optimizer");
  Tensor clip = options_.maxNorm > 0
                    ? call(minimum, {s.constant(options_.maxNorm) / (norm + kNormEpsilon), s.constant(1.0)})
                    : s.constant(1.0);
  // NaN tells adamw to leave everything as it is.
  Tensor finite = call(less, {norm + call(magnitude, {loss}), s.constant(kInfinity)});
  clip = call(select, {finite, clip, s.constant(std::numeric_limits<double>::quiet_NaN())});
  auto t = static_cast<double>(updates_ + 1);
  Tensor rate = s.scalar(learningRate), correction1 = s.scalar(1.0 - std::pow(options_.beta1, t)),
         correction2 = s.scalar(1.0 - std::pow(options_.beta2, t));
  for (size_t i = 0; i < p.size(); ++i) {
    const Parameter& parameter = parameters_->list()[i];
    double decay = decays(parameter) ? options_.weightDecay : 0.0;
    const Tensor inputs[] = {
        p[i],        gradients_[i], s.read(moments_[i].first), s.read(moments_[i].second), rate, clip,
        correction1, correction2};
    callAll(adamw, inputs,
            {{beta1, options_.beta1}, {beta2, options_.beta2}, {eps, options_.epsilon}, {weightDecay, decay}},
            updated_);
    if (updated_.size() != 3) break; // a recording error, which evaluate() reports
    s.assign(parameter.state, updated_[0]);
    s.assign(moments_[i].first, updated_[1]);
    s.assign(moments_[i].second, updated_[2]);
  }
  return {loss, norm};
}

StatusOr<StepResult> TrainStep::run(const HostArray& tokens, const HostArray& labels, double learningRate) {
  Recorded r = record(tokens, labels, learningRate, 1);
  const Tensor results[] = {r.loss, r.norm};
  TG_RETURN_IF_ERROR(session_->evaluate(results));
  StepResult out;
  TG_ASSIGN_OR_RETURN(out.loss, session_->scalarValue(r.loss));
  TG_ASSIGN_OR_RETURN(out.gradientNorm, session_->scalarValue(r.norm));
  out.applied = isFinite(out.loss) && isFinite(out.gradientNorm);
  if (!out.applied) return recover(tokens, labels, learningRate, out);
  ++updates_;
  return out;
}

/// Finds out what was not finite. Where only the squares overflowed, the step is taken with scaled gradients.
StatusOr<StepResult> TrainStep::recover(const HostArray& tokens, const HostArray& labels, double learningRate,
                                        StepResult failed) {
  static const Symbol magnitude("abs"), maximum("reduce_max"), axes("axes"), keepdim("keepdim");
  std::vector<Tensor> p = parameters_->read(*session_);
  Tensor loss = loss_(p, session_->input(tokens), session_->input(labels));
  std::vector<Tensor> largest;
  for (const Tensor& g : grad(loss, p)) {
    Shape all;
    for (int axis = 0; axis < g.shape().rank(); ++axis) all.push_back(axis);
    largest.push_back(call(maximum, {call(magnitude, {g})}, {{axes, all}, {keepdim, false}}));
  }
  TG_RETURN_IF_ERROR(session_->evaluate(largest));
  if (!isFinite(failed.loss)) failed.nonFinite.push_back("loss");
  // Clipping leaves no element larger than the norm that it clips to.
  const double mostAfterClipping = options_.maxNorm > 0 ? options_.maxNorm : kInfinity;
  double top = 0;
  for (size_t i = 0; i < largest.size(); ++i) {
    TG_ASSIGN_OR_RETURN(double value, session_->scalarValue(largest[i]));
    const std::string& name = parameters_->list()[i].name;
    if (!isFinite(value))
      failed.nonFinite.push_back(name);
    else if (std::min(value, mostAfterClipping) > kLargestSquared)
      failed.nonFinite.push_back(name + " (its square)");
    top = std::max(top, value);
  }
  if (!failed.nonFinite.empty()) return failed;

  // Everything is finite but the sum of squares: a power of two brings the largest gradient near 1, exactly.
  Recorded r = record(tokens, labels, learningRate, std::exp2(-std::ceil(std::log2(top))));
  const Tensor results[] = {r.loss, r.norm};
  TG_RETURN_IF_ERROR(session_->evaluate(results));
  TG_ASSIGN_OR_RETURN(failed.gradientNorm, session_->scalarValue(r.norm));
  failed.applied = isFinite(failed.gradientNorm);
  if (failed.applied)
    ++updates_;
  else
    failed.nonFinite.push_back("gradient norm");
  return failed;
}

StatusOr<Graph> TrainStep::recordedGraph(const HostArray& tokens, const HostArray& labels) {
  Recorded r = record(tokens, labels, 0, 1);
  const Tensor results[] = {r.loss, r.norm};
  return session_->recordedGraph(results);
}

StatusOr<std::map<std::string, HostArray>> TrainStep::fetchMoments() const {
  std::map<std::string, HostArray> out;
  for (const Moments& m : moments_)
    for (int32_t state : {m.first, m.second}) {
      TG_ASSIGN_OR_RETURN(HostArray array, session_->fetchState(state));
      out.emplace(session_->stateName(state), std::move(array));
    }
  return out;
}

Status TrainStep::storeMoments(const std::map<std::string, HostArray>& arrays, int64_t updates) {
  for (const Moments& m : moments_)
    for (int32_t state : {m.first, m.second}) {
      auto found = arrays.find(session_->stateName(state));
      if (found == arrays.end()) return invalid("optimizer state {} is missing", session_->stateName(state));
      TG_RETURN_IF_ERROR(session_->storeState(state, found->second));
    }
  updates_ = updates;
  return OkStatus();
}

std::string TrainStep::decayRule() const {
  int64_t tensors[2] = {}, elements[2] = {};
  for (const Parameter& p : parameters_->list()) {
    tensors[decays(p)] += 1;
    elements[decays(p)] += p.shape.elements();
  }
  return fmt::format("weight decay {} on {} tensors {}({} elements), none on {} others ({} elements)",
                     options_.weightDecay, tensors[1], options_.decayAll ? "" : "of two or more dimensions ",
                     elements[1], tensors[0], elements[0]);
}

} // namespace tegula
