// Following axes through primitives, with union-find over (value, axis).
#include "graph/Pattern.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace tegula {
namespace {

/// Records nothing but primitives.
class FlatBuilder final : public Builder {
public:
  explicit FlatBuilder(Graph& g) : graph_(g) {}
  TensorType typeOf(Value v) const override { return graph_.typeOf(v); }
  StatusOr<Values> primitive(Symbol name, std::span<const Value> in, const Attributes& a) override {
    return graph_.addPrimitive(name, in, a);
  }
  StatusOr<Values> call(Symbol op, std::span<const Value> in, const Attributes& a) override {
    TG_ASSIGN_OR_RETURN(Attributes complete, graph_.library().completeAttributes(op, a));
    return graph_.library().instantiate(op, in, complete, *this);
  }

private:
  Graph& graph_;
};

StatusOr<Graph> flatten(const Graph& g) {
  Graph out(g.libraryPtr());
  FlatBuilder builder(out);
  std::vector<Values> copies(g.nodes().size());
  for (size_t i = 0; i < g.nodes().size(); ++i) {
    const Node& n = g.node(static_cast<int32_t>(i));
    Values inputs;
    for (Value v : n.inputs) inputs.push_back(v.present() ? copies[v.node][v.result] : Value{});
    if (n.kind == Node::Kind::Input) {
      copies[i] = {out.addInput(n.op, n.results[0])};
    } else if (n.kind == Node::Kind::Gradient) {
      return unsupported("pattern: the graph holds a gradient; show the operator itself");
    } else {
      auto made = n.kind == Node::Kind::Primitive ? builder.primitive(n.op, inputs, n.attrs)
                                                  : builder.call(n.op, inputs, n.attrs);
      if (!made.ok()) return made.status();
      copies[i] = *made;
    }
  }
  for (Value v : g.outputs()) out.outputs().push_back(copies[v.node][v.result]);
  return out;
}

class AxisFlow {
public:
  explicit AxisFlow(const Graph& g) : graph_(g) {
    for (size_t i = 0; i < g.nodes().size(); ++i) {
      first_.emplace_back();
      for (const TensorType& t : g.node(static_cast<int32_t>(i)).results) {
        first_.back().push_back(static_cast<int>(parent_.size()));
        for (int axis = 0; axis < t.shape.rank(); ++axis) parent_.push_back(static_cast<int>(parent_.size()));
      }
    }
    uses_.resize(parent_.size());
    for (const Node& n : g.nodes())
      if (n.kind == Node::Kind::Primitive) follow(n);
  }

  std::vector<AxisPattern> patterns(std::span<const std::string> inputNames) {
    std::vector<AxisPattern> out;
    std::map<int, size_t> known;
    for (size_t i = 0; i < graph_.inputs().size(); ++i) {
      int32_t node = graph_.inputs()[i].node;
      add({node, 0}, i < inputNames.size() ? inputNames[i] : std::string(graph_.node(node).op.text()), known, out);
    }
    for (size_t i = 0; i < graph_.outputs().size(); ++i)
      add(graph_.outputs()[i], graph_.outputs().size() == 1 ? "result" : fmt::format("result{}", i), known, out);
    for (size_t a = 0; a < parent_.size(); ++a)
      if (auto found = known.find(root(static_cast<int>(a))); found != known.end()) {
        auto& uses = out[found->second].uses;
        for (const std::string& use : uses_[a])
          if (std::ranges::find(uses, use) == uses.end()) uses.push_back(use);
      }
    return out;
  }

private:
  void add(Value v, const std::string& name, std::map<int, size_t>& known, std::vector<AxisPattern>& out) {
    const Shape& shape = graph_.typeOf(v).shape;
    for (int axis = 0; axis < shape.rank(); ++axis) {
      if (shape[axis] == 1) continue;
      auto [at, fresh] = known.emplace(root(id(v, axis)), out.size());
      if (fresh) out.push_back({shape[axis], {}, {}});
      out[at->second].places.push_back(fmt::format("{}[{}]", name, axis));
    }
  }

  int id(Value v, int axis) const { return first_[v.node][v.result] + axis; }
  int root(int a) {
    while (parent_[a] != a) a = parent_[a] = parent_[parent_[a]];
    return a;
  }
  void join(Value a, int axisA, Value b, int axisB) {
    if (extent(a, axisA) == extent(b, axisB)) parent_[root(id(a, axisA))] = root(id(b, axisB));
  }
  void use(Value v, int axis, std::string how) { uses_[id(v, axis)].insert(std::move(how)); }
  int64_t extent(Value v, int axis) const { return graph_.typeOf(v).shape[axis]; }
  int rank(Value v) const { return graph_.typeOf(v).shape.rank(); }

  void follow(const Node& n) {
    auto index = static_cast<int32_t>(&n - graph_.nodes().data());
    std::string name(n.op.text());
    for (int16_t r = 0; r < static_cast<int16_t>(n.results.size()); ++r) followResult(n, {index, r}, name);
  }

  void followResult(const Node& n, Value y, const std::string& name) {
    static const Symbol axesName("axes"), axisName("axis"), permutation("permutation"), keepdim("keepdim");
    if (n.inputs.empty()) return;
    Value x = n.inputs[0];
    const Primitive* p = findPrimitive(n.op);
    if (p->kind == PrimitiveKind::Elementwise || p->kind == PrimitiveKind::Relayout) {
      for (Value in : n.inputs)
        for (int a = 0; a < rank(y); ++a) join(in, a, y, a);
    } else if (p->kind == PrimitiveKind::Broadcast) {
      const Shape& axes = n.attrs.getInts(axesName);
      for (int a = 0; a < rank(x); ++a) join(x, a, y, static_cast<int>(axes[a]));
    } else if (p->kind == PrimitiveKind::Reduce) {
      fold(x, y, n.attrs.getInts(axesName), n.attrs.getBoolOr(keepdim, false), "folded by " + name);
    } else if (name == "contract") {
      contract(n, y);
    } else if (name == "convolution") {
      convolve(n, y);
    } else if (name == "transpose") {
      const Shape& order = n.attrs.getInts(permutation);
      for (int a = 0; a < rank(y); ++a) join(x, static_cast<int>(order[a]), y, a);
    } else if (name == "reshape") {
      reshape(x, y);
    } else if (name == "arg_max" || name == "arg_min") {
      fold(x, y, Shape{n.attrs.getInt(axisName)}, n.attrs.getBoolOr(keepdim, false), "folded by " + name);
    } else if (p->kind == PrimitiveKind::Gather || p->kind == PrimitiveKind::Scatter) {
      index(n, y, name);
    } else {
      sameOrCoupled(n, y, name); // slice, pad, concatenate, sort, scan
    }
  }

  void fold(Value x, Value y, const Shape& axes, bool keep, const std::string& how) {
    int at = 0;
    for (int a = 0; a < rank(x); ++a) {
      if (std::ranges::find(axes, a) != axes.end()) {
        use(x, a, how);
        at += keep;
      } else {
        join(x, a, y, at++);
      }
    }
  }

  void contract(const Node& n, Value y) {
    const Shape &batchA = n.attrs.getInts("batch_a"), &batchB = n.attrs.getInts("batch_b"),
                &foldA = n.attrs.getInts("contract_a"), &foldB = n.attrs.getInts("contract_b");
    Value a = n.inputs[0], b = n.inputs[1];
    int at = 0;
    for (int i = 0; i < batchA.rank(); ++i, ++at) {
      join(a, static_cast<int>(batchA[i]), y, at);
      join(b, static_cast<int>(batchB[i]), y, at);
    }
    for (int i = 0; i < foldA.rank(); ++i) {
      join(a, static_cast<int>(foldA[i]), b, static_cast<int>(foldB[i]));
      use(a, static_cast<int>(foldA[i]), "folded by contract");
    }
    auto freeAxes = [&](Value v, const Shape& batch, const Shape& folded) {
      for (int i = 0; i < rank(v); ++i)
        if (std::ranges::find(batch, i) == batch.end() && std::ranges::find(folded, i) == folded.end())
          join(v, i, y, at++);
    };
    freeAxes(a, batchA, foldA);
    freeAxes(b, batchB, foldB);
  }

  void convolve(const Node& n, Value y) {
    Value x = n.inputs[0], w = n.inputs[1];
    join(x, 0, y, 0);
    join(w, 0, y, 1);
    use(x, 1, "folded by convolution");
    use(w, 1, "folded by convolution");
    for (int i = 2; i < rank(y); ++i) {
      use(x, i, "windowed by convolution");
      use(y, i, "windowed by convolution");
      use(w, i, "folded by convolution");
    }
  }

  /// Axes stay themselves where they begin and end at the same element counts; others are regrouped.
  void reshape(Value x, Value y) {
    int a = 0, b = 0;
    int64_t before = 1, after = 1;
    while (a < rank(x) && b < rank(y)) {
      if (before == after && extent(x, a) == extent(y, b)) {
        before *= extent(x, a);
        after *= extent(y, b);
        join(x, a++, y, b++);
      } else if (extent(y, b) == 1) {
        ++b;
      } else if (extent(x, a) == 1) {
        ++a;
      } else {
        if (before <= after) {
          use(x, a, "regrouped by reshape");
          before *= extent(x, a++);
        }
        if (after < before) {
          use(y, b, "regrouped by reshape");
          after *= extent(y, b++);
        }
      }
    }
    for (; a < rank(x); ++a) use(x, a, "regrouped by reshape");
    for (; b < rank(y); ++b) use(y, b, "regrouped by reshape");
  }

  void index(const Node& n, Value y, const std::string& name) {
    static const Symbol axisName("axis");
    Value x = n.inputs[0], indices = n.inputs[1];
    auto axis = static_cast<int>(n.attrs.getInt(axisName));
    bool scatters = findPrimitive(n.op)->kind == PrimitiveKind::Scatter;
    std::string how = (scatters ? "scattered by " : "indexed by ") + name;
    Value table = scatters ? y : x, rows = scatters ? x : y; // rows has the indices' axes in place of the table's axis
    use(table, axis, how);
    if (name == "gather_elements" || name == "scatter_elements_add") {
      for (int i = 0; i < rank(rows); ++i) {
        join(indices, i, rows, i);
        if (i != axis) join(table, i, rows, i);
      }
      if (scatters) use(rows, axis, how);
      return;
    }
    for (int i = 0; i < axis; ++i) join(table, i, rows, i);
    for (int i = 0; i < rank(indices); ++i) {
      join(indices, i, rows, axis + i);
      if (scatters) use(rows, axis + i, how);
    }
    for (int i = axis + 1; i < rank(table); ++i) join(table, i, rows, i - 1 + rank(indices));
  }

  void sameOrCoupled(const Node& n, Value y, const std::string& name) {
    static const Symbol axisName("axis");
    int64_t axis = n.attrs.getIntOr(axisName, -1);
    for (Value in : n.inputs)
      for (int a = 0; a < std::min(rank(in), rank(y)); ++a) {
        if (a != axis && extent(in, a) == extent(y, a)) {
          join(in, a, y, a);
          continue;
        }
        if (a == axis && extent(in, a) == extent(y, a)) join(in, a, y, a);
        std::string how = findPrimitive(n.op)->kind == PrimitiveKind::Ordered ? "ordered by " : "cut or joined by ";
        use(in, a, how + name);
        use(y, a, how + name);
      }
  }

  const Graph& graph_;
  std::vector<std::vector<int>> first_; // id of axis 0, per node and result
  std::vector<int> parent_;
  std::vector<std::set<std::string>> uses_;
};

} // namespace

StatusOr<std::vector<AxisPattern>> findPattern(const Graph& g, std::span<const std::string> inputNames) {
  TG_ASSIGN_OR_RETURN(Graph flat, flatten(g));
  return AxisFlow(flat).patterns(inputNames);
}

} // namespace tegula
