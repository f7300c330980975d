// Derivatives against central differences of the wide reference evaluator.
#include "GraphTestSupport.h"

namespace tegula::test {
namespace {

struct Case {
  Symbol op;
  std::vector<TensorType> inputs;
  Attributes attrs;
  double low = -1, high = 1; // range of float inputs
  bool isOperator = false;
};

TensorType f64(Shape s) { return {DType::F64, s}; }
TensorType i64(Shape s) { return {DType::I64, s}; }

/// sum(result * weights), with weights as inputs, for every float result.
Graph lossGraph(const Case& c, Values& wrt, Value& loss) {
  Graph g(library());
  std::vector<Value> in;
  for (const TensorType& t : c.inputs) {
    in.push_back(g.addInput("x", t));
    if (isFloat(t.dtype)) wrt.push_back(in.back());
  }
  Values results = valueOf(c.isOperator ? g.addOperator(c.op, in, c.attrs) : g.addPrimitive(c.op, in, c.attrs));
  size_t visible = c.isOperator ? library()->find(c.op)->results : results.size();
  Emit e(g);
  for (size_t r = 0; r < visible; ++r) {
    if (!isFloat(g.typeOf(results[r]).dtype)) continue;
    TensorType t = g.typeOf(results[r]);
    Value weights = g.addInput("w", t);
    Value part = e.reduceSum(e.mul(results[r], weights), countingShape(t.shape.rank()));
    loss = loss.present() ? e.add(loss, part) : part;
  }
  TG_EXPECT_OK(e.status());
  return g;
}

void check(const Case& c, uint32_t seed = 1) {
  std::string line = std::string(c.op.text());
  for (const TensorType& t : c.inputs) line += " " + toString(t);
  SCOPED_TRACE(fmt::format("{} {} seed={}", line, toString(c.attrs), seed));
  Values wrt;
  Value loss;
  Graph g = lossGraph(c, wrt, loss);
  Values grads = valueOf(g.addGradient(loss, wrt));
  g.outputs().push_back(loss);
  for (Value v : grads) g.outputs().push_back(v);
  TG_EXPECT_OK(g.verify());
  std::vector<HostArray> inputs;
  for (size_t i = 0; i < g.inputs().size(); ++i) {
    TensorType t = g.typeOf({g.inputs()[i].node, 0});
    if (isFloat(t.dtype)) t.dtype = DType::F64; // whatever is stated: the evaluation is wide
    HostArray a = randomArray(t, seed * 100 + static_cast<uint32_t>(i), 4);
    if (isFloat(t.dtype) && i < c.inputs.size())
      for (int64_t k = 0; k < a.elements(); ++k) a.set(k, c.low + (c.high - c.low) * (a.get(k) + 1) / 2);
    inputs.push_back(a);
  }
  EvaluationResult r = valueOf(evaluate(g, inputs, Precision::Wide));
  Values unused;
  Value forwardLoss;
  Graph forward = lossGraph(c, unused, forwardLoss); // without the gradient node
  forward.outputs().push_back(forwardLoss);
  size_t next = 1;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    if (!isFloat(c.inputs[i].dtype)) continue;
    const HostArray& gradient = r.outputs[next++];
    for (int64_t k = 0; k < inputs[i].elements(); ++k) {
      const double h = 1e-6, x = inputs[i].get(k);
      double f[2];
      for (int side : {0, 1}) {
        inputs[i] = inputs[i].clone();
        inputs[i].set(k, side ? x + h : x - h);
        f[side] = valueOf(evaluate(forward, inputs, Precision::Wide)).outputs[0].get(0);
      }
      inputs[i].set(k, x);
      double expected = (f[1] - f[0]) / (2 * h);
      // Error of the difference: h² times the third derivative, and rounding 2^-52 / h.
      EXPECT_NEAR(gradient.get(k), expected, 2e-8 * (1 + std::abs(expected)) + 1e-8 * std::abs(f[0]))
          << "input " << i << " element " << k;
    }
  }
}

TEST(Gradient, Elementwise) {
  for (const char* op : {"neg", "exp", "sin", "cos", "tanh", "erf"}) check({op, {f64({5})}, {}});
  for (const char* op : {"abs", "log", "sqrt", "rsqrt"}) check({op, {f64({5})}, {}, 0.3, 2});
  for (const char* op : {"add", "sub", "mul", "maximum", "minimum"}) check({op, {f64({3, 2}), f64({3, 2})}, {}});
  check({"div", {f64({5}), f64({5})}, {}, 0.4, 2});
  check({"pow", {f64({5}), f64({5})}, {}, 0.4, 2});
  check({"remainder", {f64({7}), f64({7})}, {}, 0.4, 3});
  check({"cast", {{DType::F32, {5}}}, {{"dtype", DType::F64}}});
  check({"select", {{DType::Bool, {6}}, f64({6}), f64({6})}, {}});
}

TEST(Gradient, Movement) {
  check({"broadcast", {f64({3, 1})}, {{"shape", Shape{2, 3, 4}}, {"axes", Shape{1, 2}}}});
  check({"broadcast", {f64({})}, {{"shape", Shape{2, 3}}, {"axes", Shape{}}}});
  check({"broadcast", {f64({1})}, {{"shape", Shape{0, 1}}, {"axes", Shape{1}}}});
  check({"reshape", {f64({3, 4})}, {{"shape", Shape{2, 6}}}});
  check({"transpose", {f64({2, 3, 4})}, {{"permutation", Shape{2, 0, 1}}}});
  check({"slice", {f64({7, 5})}, {{"starts", Shape{1, 4}}, {"sizes", Shape{3, 2}}, {"steps", Shape{2, -3}}}});
  check({"slice", {f64({7, 5})}, {{"starts", Shape{2, 0}}, {"sizes", Shape{3, 5}}, {"steps", Shape{1, 1}}}});
  check({"slice", {f64({4})}, {{"starts", Shape{0}}, {"sizes", Shape{0}}, {"steps", Shape{1}}}});
  check(
      {"pad", {f64({3, 2})}, {{"low", Shape{1, 0}}, {"high", Shape{0, 2}}, {"interior", Shape{2, 1}}, {"value", 3.0}}});
  check({"pad", {f64({0})}, {{"low", Shape{1}}, {"high", Shape{2}}, {"interior", Shape{1}}, {"value", 3.0}}});
  check({"concatenate", {f64({2, 3}), f64({2, 0}), f64({2, 1})}, {{"axis", int64_t(1)}}});
}

TEST(Gradient, Reductions) {
  for (const char* op : {"reduce_sum", "reduce_max", "reduce_min", "reduce_prod"})
    for (bool keep : {false, true}) {
      check({op, {f64({3, 4, 2})}, {{"axes", Shape{1}}, {"keepdim", keep}}});
      check({op, {f64({3, 4})}, {{"axes", Shape{0, 1}}, {"keepdim", keep}}});
      check({op, {f64({3, 1})}, {{"axes", Shape{1}}, {"keepdim", keep}}});
    }
  check({"reduce_prod", {f64({2, 3, 4})}, {{"axes", Shape{2, 0}}, {"keepdim", false}}});
  for (const char* kind : {"sum", "prod", "max", "min"})
    for (bool reverse : {false, true}) {
      Attributes at{{"kind", Symbol(kind)}, {"axis", int64_t(1)}, {"reverse", reverse}};
      check({"scan", {f64({2, 5, 2})}, at});
      check({"scan", {f64({2, 1})}, at});
      check({"scan", {f64({2, 0})}, at});
    }
  for (bool descending : {false, true})
    check({"sort", {f64({3, 5})}, {{"axis", int64_t(1)}, {"descending", descending}}});
}

TEST(Gradient, ProductsOfZeros) {
  // d prod/dx with no, one and two zeros is the product of the others.
  for (int zeros : {0, 1, 2}) {
    Graph g(library());
    Value x = g.addInput("x", f64({4}));
    Values y = valueOf(g.addPrimitive("reduce_prod", std::span(&x, 1), {{"axes", Shape{0}}, {"keepdim", false}}));
    Values d = valueOf(g.addGradient(y[0], std::span(&x, 1)));
    g.outputs().push_back(d[0]);
    double v[4] = {2, 3, 5, 7};
    for (int z = 0; z < zeros; ++z) v[z] = 0;
    HostArray in = HostArray::fromValues(DType::F64, {4}, v);
    HostArray out = valueOf(evaluate(g, std::span(&in, 1))).outputs[0];
    for (int i = 0; i < 4; ++i) {
      double expected = 1;
      for (int k = 0; k < 4; ++k) expected *= k == i ? 1 : v[k];
      EXPECT_EQ(out.get(i), expected) << zeros << " zeros, element " << i;
    }
  }
}

TEST(Gradient, Ties) {
  Graph g(library());
  Value x = g.addInput("x", f64({4}));
  Values y = valueOf(g.addPrimitive("reduce_max", std::span(&x, 1), {{"axes", Shape{0}}, {"keepdim", false}}));
  g.outputs().push_back(valueOf(g.addGradient(y[0], std::span(&x, 1)))[0]);
  double v[4] = {3, 1, 3, 3};
  HostArray in = HostArray::fromValues(DType::F64, {4}, v);
  EXPECT_EQ(valueOf(evaluate(g, std::span(&in, 1))).outputs[0].toVector(),
            (std::vector<double>{1.0 / 3, 0, 1.0 / 3, 1.0 / 3}));
}

TEST(Gradient, Contractions) {
  Attributes plain{{"batch_a", Shape{}}, {"batch_b", Shape{}}, {"contract_a", Shape{1}}, {"contract_b", Shape{0}}};
  check({"contract", {f64({3, 4}), f64({4, 2})}, plain});
  check({"contract", {f64({3, 0}), f64({0, 2})}, plain});
  check({"contract", {f64({1, 1}), f64({1, 1})}, plain});
  Attributes batched{
      {"batch_a", Shape{2, 0}}, {"batch_b", Shape{1, 3}}, {"contract_a", Shape{3, 1}}, {"contract_b", Shape{0, 2}}};
  check({"contract", {f64({2, 3, 2, 4}), f64({4, 2, 3, 2, 5})}, batched});
}

TEST(Gradient, Convolutions) {
  auto at = [](Shape s, Shape l, Shape h, Shape d, int64_t groups) {
    return Attributes{{"strides", s}, {"pad_low", l}, {"pad_high", h}, {"dilation", d}, {"groups", groups}};
  };
  check({"convolution", {f64({2, 3, 5}), f64({4, 3, 2})}, at({1}, {0}, {0}, {1}, 1)});
  check({"convolution", {f64({2, 4, 7}), f64({6, 2, 3})}, at({2}, {1}, {2}, {1}, 2)});
  check({"convolution", {f64({1, 4, 6, 5}), f64({4, 1, 2, 3})}, at({2, 1}, {1, 0}, {0, 2}, {2, 1}, 4)});
  check({"convolution", {f64({1, 1, 3}), f64({1, 1, 1})}, at({2}, {2}, {2}, {1}, 1)});
}

TEST(Gradient, Indexing) {
  check({"gather", {f64({4, 3}), i64({2, 2})}, {{"axis", int64_t(0)}}});
  check({"gather", {f64({2, 4, 3}), i64({})}, {{"axis", int64_t(1)}}});
  check({"scatter_add", {f64({2, 3, 2}), i64({3})}, {{"axis", int64_t(1)}, {"size", int64_t(3)}}});
  check({"gather_elements", {f64({4, 3}), i64({2, 3})}, {{"axis", int64_t(0)}}});
  check({"scatter_elements_add", {f64({2, 3}), i64({2, 3})}, {{"axis", int64_t(0)}, {"size", int64_t(3)}}});
}

TEST(Gradient, Operators) {
  auto op = [](Symbol name, std::vector<TensorType> in, Attributes at = {}, double low = -1, double high = 1) {
    if (!library()->find(name)) {
      std::printf("[ SKIPPED ] operator %s is not in the library\n", std::string(name.text()).c_str());
      return;
    }
    check({name, in, at, low, high, true});
  };
  op("matmul", {f64({2, 3, 4}), f64({4, 2})});
  op("matmul", {f64({4}), f64({4})});
  op("linear", {f64({2, 3, 4}), f64({5, 4}), f64({5})});
  op("softmax", {f64({3, 4})});
  op("layer_norm", {f64({2, 3, 4}), f64({4}), f64({4})});
  op("rms_norm", {f64({2, 4}), f64({4})});
  op("gelu", {f64({7})});
  op("silu", {f64({7})});
  op("sigmoid", {f64({7})});
  TensorType heads{DType::F32, {1, 2, 3, 2}};
  op("attention", {heads, heads, heads}, {{"causal", true}});
  op("embedding", {f64({4, 3}), i64({2, 2})});
  op("cross_entropy", {f64({5, 4}), i64({5})});
}

/// The gradient by the first input of (the sum of squares of the gradient by it), against differences of that sum.
void checkSecond(const Case& c) {
  SCOPED_TRACE(c.op.text());
  auto build = [&](bool second) {
    Values wrt;
    Value loss;
    Graph g = lossGraph(c, wrt, loss);
    Value first = valueOf(g.addGradient(loss, std::span(wrt.data(), 1)))[0];
    Emit e(g);
    Value squares = e.reduceSum(e.mul(first, first), countingShape(e.shapeOf(first).rank()));
    TG_EXPECT_OK(e.status());
    g.outputs().push_back(second ? valueOf(g.addGradient(squares, std::span(wrt.data(), 1)))[0] : squares);
    return g;
  };
  Graph twice = build(true), once = build(false);
  std::vector<HostArray> inputs;
  for (size_t i = 0; i < twice.inputs().size(); ++i) {
    TensorType t = twice.typeOf({twice.inputs()[i].node, 0});
    if (isFloat(t.dtype)) t.dtype = DType::F64;
    inputs.push_back(randomArray(t, 300 + static_cast<uint32_t>(i), 4));
  }
  HostArray gradient = valueOf(evaluate(twice, inputs, Precision::Wide)).outputs[0];
  double largest = 0;
  for (int64_t k = 0; k < inputs[0].elements(); ++k) {
    const double h = 1e-5, x = inputs[0].get(k);
    double f[2];
    for (int side : {0, 1}) {
      inputs[0] = inputs[0].clone();
      inputs[0].set(k, side ? x + h : x - h);
      f[side] = valueOf(evaluate(once, inputs, Precision::Wide)).outputs[0].get(0);
    }
    inputs[0].set(k, x);
    double expected = (f[1] - f[0]) / (2 * h);
    largest = std::max(largest, std::abs(expected));
    EXPECT_NEAR(gradient.get(k), expected, 1e-6 * (std::abs(expected) + std::abs(f[0])) + 1e-8) << "element " << k;
  }
  EXPECT_GT(largest, 1e-4) << "says nothing";
}

/// Operators whose @grad reads residuals: a gradient by those has to be carried on, too.
TEST(Gradient, SecondOfOperators) {
  auto op = [](Symbol name, std::vector<TensorType> in, Attributes at = {}) {
    checkSecond({name, std::move(in), std::move(at), -1, 1, true});
  };
  op("layer_norm", {f64({2, 5}), f64({5}), f64({5})});
  op("rms_norm", {f64({2, 5}), f64({5})});
  op("cross_entropy", {f64({4, 3}), i64({4})});
  op("softmax", {f64({3, 4})});
  op("gelu", {f64({7})});
  TensorType heads{DType::F32, {1, 2, 3, 2}};
  op("attention", {heads, heads, heads}, {{"causal", true}});
}

/// Indices whose own type does not hold the size of the axis are inside all the same.
TEST(Gradient, ScattersByNarrowIndices) {
  for (auto [index, size] : {std::pair{DType::U8, int64_t(256)}, {DType::I8, 128}, {DType::U16, 65536}}) {
    SCOPED_TRACE(name(index));
    for (bool elements : {false, true}) {
      Graph g(library());
      Value updates = g.addInput("u", f64({3})), places = g.addInput("i", {index, {3}});
      Attributes at{{"axis", int64_t(0)}, {"size", size}};
      Value in[] = {updates, places};
      Value sums = valueOf(g.addPrimitive(elements ? "scatter_elements_add" : "scatter_add", in, at))[0];
      Emit e(g);
      Value loss = e.reduceSum(sums, Shape{0});
      g.outputs().push_back(valueOf(g.addGradient(loss, std::span(&updates, 1)))[0]);
      HostArray where({index, {3}});
      for (int64_t i = 0; i < 3; ++i) where.setInt(i, i == 2 ? 127 : i);
      std::vector<HostArray> data{randomArray(f64({3}), 1), where};
      EXPECT_EQ(valueOf(evaluate(g, data)).outputs[0].toVector(), std::vector<double>(3, 1.0));
    }
  }
}

TEST(Gradient, WithoutDerivativeIsAnError) {
  Graph g(library());
  Value x = g.addInput("x", f64({3}));
  Attributes at{{"axis", int64_t(0)}, {"keepdim", false}};
  Values index = valueOf(g.addPrimitive("arg_max", std::span(&x, 1), at));
  Emit e(g);
  Value loss = e.cast(index[0], DType::F64);
  Values d = valueOf(g.addGradient(loss, std::span(&x, 1)));
  g.outputs().push_back(d[0]);
  // Nothing flows through an integer: zeros, no error.
  HostArray in = randomArray(f64({3}), 1);
  EXPECT_EQ(valueOf(evaluate(g, std::span(&in, 1))).outputs[0].toVector(), std::vector<double>(3, 0.0));
}

} // namespace
} // namespace tegula::test
