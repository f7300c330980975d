// Recording the step.
#include "GptStep.h"

namespace tegula::test {

Value Recorder::input(const TensorType& t, InputKind kind, int64_t high) {
  data.push_back(randomArray(t, seed++, high));
  return g.addInput(Symbol(std::string_view(fmt::format("x{}", data.size()))), t, kind);
}
Values Recorder::all(Symbol name, std::initializer_list<Value> in, const Attributes& a) {
  return valueOf(g.addOperator(name, std::span(in.begin(), in.size()), a));
}
Value Recorder::op(Symbol name, std::initializer_list<Value> in, const Attributes& a) { return all(name, in, a)[0]; }
Value Recorder::primitive(Symbol name, std::initializer_list<Value> in, const Attributes& a) {
  return valueOf(g.addPrimitive(name, std::span(in.begin(), in.size()), a))[0];
}

namespace {

class StepRecorder {
public:
  explicit StepRecorder(const GptSizes& s) : s_(s) {}

  Recorder run() {
    auto [B, T, C, H, V, layers] = s_;
    Value tokens = r_.input({DType::I64, {B, T}}, InputKind::Data, V),
          labels = r_.input({DType::I64, {B, T}}, InputKind::Data, V);
    Value lr = scalar(0.01), correction1 = scalar(0.5), correction2 = scalar(0.25);
    Value wte = parameter({V, C}), wpe = parameter({T, C});
    Value x = r_.op("add", {r_.primitive("gather", {wte, tokens}, {{"axis", int64_t(0)}}), wpe});
    for (int l = 0; l < layers; ++l) {
      x = r_.op("add", {x, attention(norm(x))});
      Value hidden = r_.op("gelu", {linear(norm(x), C, 4 * C)});
      x = r_.op("add", {x, linear(hidden, 4 * C, C)});
    }
    Value logits = reshape(r_.op("linear", {norm(x), wte, Value{}}), {B * T, V});
    Value loss = r_.op("cross_entropy", {logits, reshape(labels, {B * T})});
    Values grads = valueOf(r_.g.addGradient(loss, parameters_));
    Value norm = globalNorm(grads);
    Value scale = r_.op("clip_scale", {norm}, {{"limit", 0.1}});
    for (size_t i = 0; i < parameters_.size(); ++i) {
      Value m = moments_[2 * i], v = moments_[2 * i + 1];
      Values updated = r_.all("adamw", {parameters_[i], grads[i], m, v, lr, scale, correction1, correction2},
                              {{"weight_decay", 0.1}});
      r_.g.assigns().push_back({inputOf(parameters_[i]), updated[0]});
      r_.g.assigns().push_back({inputOf(m), updated[1]});
      r_.g.assigns().push_back({inputOf(v), updated[2]});
    }
    r_.g.outputs() = {loss, norm};
    return std::move(r_);
  }

private:
  Value scalar(double x) {
    Value v = r_.input({DType::F32, {}}, InputKind::Scalar);
    r_.data.back().set(0, x);
    return v;
  }
  Value parameter(const Shape& shape) {
    parameters_.push_back(r_.input({DType::F32, shape}, InputKind::State));
    for (int k = 0; k < 2; ++k) {
      moments_.push_back(r_.input({DType::F32, shape}, InputKind::State));
      for (int64_t i = 0; i < r_.data.back().elements(); ++i) r_.data.back().set(i, std::abs(r_.data.back().get(i)));
    }
    return parameters_.back();
  }
  Value reshape(Value x, const Shape& s) { return r_.primitive("reshape", {x}, {{"shape", s}}); }
  Value norm(Value x) {
    Value w = parameter({s_.C}), b = parameter({s_.C});
    return r_.op("layer_norm", {x, w, b});
  }
  Value linear(Value x, int64_t in, int64_t out) {
    Value w = parameter({out, in}), b = parameter({out});
    return r_.op("linear", {x, w, b});
  }
  Value attention(Value x) {
    auto [B, T, C, H, V, layers] = s_;
    Value qkv = reshape(linear(x, C, 3 * C), {B, T, 3 * H, C / H});
    Value parts[3];
    for (int64_t k = 0; k < 3; ++k) {
      Attributes at{{"starts", Shape{0, 0, k * H, 0}}, {"sizes", Shape{B, T, H, C / H}}, {"steps", Shape{1, 1, 1, 1}}};
      parts[k] = r_.primitive("transpose", {r_.primitive("slice", {qkv}, at)}, {{"permutation", Shape{0, 2, 1, 3}}});
    }
    Value y = r_.op("attention", {parts[0], parts[1], parts[2]}, {{"causal", true}});
    return linear(reshape(r_.primitive("transpose", {y}, {{"permutation", Shape{0, 2, 1, 3}}}), {B, T, C}), C, C);
  }
  Value globalNorm(const Values& grads) {
    Value sum;
    for (Value g : grads) {
      Attributes all{{"axes", countingShape(r_.g.typeOf(g).shape.rank())}, {"keepdim", false}};
      Value s = r_.primitive("reduce_sum", {r_.op("mul", {g, g})}, all);
      sum = sum.present() ? r_.op("add", {sum, s}) : s;
    }
    return r_.op("sqrt", {sum});
  }
  int32_t inputOf(Value v) const {
    for (size_t k = 0; k < r_.g.inputs().size(); ++k)
      if (r_.g.inputs()[k].node == v.node) return static_cast<int32_t>(k);
    return -1;
  }

  GptSizes s_;
  Recorder r_;
  Values parameters_, moments_;
};

} // namespace

Recorder gptStep(const GptSizes& s) { return StepRecorder(s).run(); }

} // namespace tegula::test
