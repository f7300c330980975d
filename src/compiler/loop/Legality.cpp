// Which nodes may be one loop kernel. Correctness does not depend on these rules (the emitter computes any nest); speed
// does.
#include "compiler/loop/LoopGroups.h"

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "compiler/loop/Analysis.h"
#include <algorithm>

namespace tegula::loop {
namespace {

constexpr size_t kMaxNodes = 64;    // compile time grows with the body, and live values with it
constexpr size_t kMaxOperands = 24; // addresses live in registers and stack slots

using Roots = absl::flat_hash_set<int>;

class GroupShape {
public:
  GroupShape(const Graph& g, std::span<const int32_t> nodes)
      : g_(g), nodes_(nodes), inside_(nodes.begin(), nodes.end()) {}

  std::string check() {
    for (int32_t n : nodes_)
      if (std::string why = add(n); !why.empty()) return why;
    if (operands_.size() > kMaxOperands)
      return fmt::format("{} operands; at most {} in a group", operands_.size(), kMaxOperands);
    if (std::string why = checkAxes(); !why.empty()) return why;
    if (std::string why = checkFolds(); !why.empty()) return why;
    return checkResults();
  }

private:
  std::vector<int> fresh(const Shape& shape) {
    std::vector<int> dims;
    for (int64_t extent : shape) dims.push_back(dims_.add(extent));
    return dims;
  }
  const std::vector<int>& dimsOf(Value v) {
    auto [it, isNew] = values_.try_emplace(v);
    if (isNew) {
      it->second = fresh(g_.typeOf(v).shape);
      operands_.insert(v);
    }
    return it->second;
  }

  std::string add(int32_t n) {
    const Node& node = g_.node(n);
    const Primitive* primitive = node.kind == Node::Kind::Primitive ? findPrimitive(node.op) : nullptr;
    if (!primitive) return fmt::format("{} is not a primitive", node.op.text());
    for (Value v : node.inputs) dimsOf(v);
    switch (primitive->kind) {
    case PrimitiveKind::Elementwise:
      return addElementwise(n, node);
    case PrimitiveKind::Broadcast:
      return addBroadcast(n, node);
    case PrimitiveKind::Reduce:
      return addReduce(n, node);
    case PrimitiveKind::Source:
      values_[Value{n, 0}] = fresh(node.results[0].shape);
      return "";
    case PrimitiveKind::Gather:
      return addGather(n, node);
    default:
      return fmt::format("{} is a group of its own", node.op.text());
    }
  }

  std::string addElementwise(int32_t n, const Node& node) {
    std::vector<int> dims = dimsOf(node.inputs[0]);
    for (Value v : node.inputs)
      for (size_t i = 0; i < dims.size(); ++i) dims_.unify(dims[i], dimsOf(v)[i]);
    values_[Value{n, 0}] = std::move(dims);
    return "";
  }

  std::string addBroadcast(int32_t n, const Node& node) {
    Value x = node.inputs[0];
    std::vector<int> to = fresh(node.results[0].shape);
    const Shape& axes = node.attrs.getInts("axes");
    // Memory and numbers are read anew for each broadcast, along axes that are the result's only.
    bool readAnew = !inside_.contains(x.node) || g_.node(x.node).op == Symbol("iota");
    std::vector<int> from = readAnew ? fresh(g_.typeOf(x).shape) : dimsOf(x);
    for (size_t i = 0; i < from.size(); ++i) {
      int d = to[static_cast<size_t>(axes[static_cast<int>(i)])];
      if (dims_.extentOf(from[i]) == dims_.extentOf(d))
        dims_.unify(from[i], d);
      else
        dims_.makePoint(from[i]);
    }
    values_[Value{n, 0}] = std::move(to);
    return "";
  }

  std::string addReduce(int32_t n, const Node& node) {
    std::vector<int> from = dimsOf(node.inputs[0]), folded, rest;
    const Shape& axes = node.attrs.getInts("axes");
    bool keep = node.attrs.getBoolOr("keepdim", false);
    for (size_t i = 0; i < from.size(); ++i) {
      if (std::find(axes.begin(), axes.end(), static_cast<int64_t>(i)) == axes.end())
        rest.push_back(from[i]);
      else
        folded.push_back(from[i]);
      if (keep && !folded.empty() && folded.back() == from[i]) {
        rest.push_back(dims_.add(1));
        dims_.makePoint(rest.back());
      }
    }
    inner_.push_back(!from.empty() && !folded.empty() && folded.back() == from.back());
    folds_.push_back(std::move(folded));
    values_[Value{n, 0}] = std::move(rest);
    return "";
  }

  std::string addGather(int32_t n, const Node& node) {
    if (inside_.contains(node.inputs[0].node))
      return "gather reads operands only, and its data is computed in the group";
    std::vector<int> from = dimsOf(node.inputs[0]), at = dimsOf(node.inputs[1]), dims;
    auto axis = static_cast<ptrdiff_t>(node.attrs.getInt("axis"));
    if (node.op == Symbol("gather")) {
      dims.assign(from.begin(), from.begin() + axis);
      dims.insert(dims.end(), at.begin(), at.end());
      dims.insert(dims.end(), from.begin() + axis + 1, from.end());
    } else {
      dims = at;
    }
    values_[Value{n, 0}] = std::move(dims);
    return "";
  }

  Roots rootsOf(const std::vector<int>& dims) const {
    Roots roots;
    for (int d : dims)
      if (!dims_.isPoint(d)) roots.insert(dims_.rootOf(d));
    return roots;
  }

  /// A value that is read along two axes of another (s[:, None] * s[None, :], with s computed here) has one place in a
  /// nest, and two would be needed.
  std::string checkAxes() const {
    for (const auto& [v, dims] : values_)
      for (size_t i = 0; i < dims.size(); ++i)
        for (size_t k = 0; k < i; ++k)
          if (!dims_.isPoint(dims[i]) && dims_.rootOf(dims[i]) == dims_.rootOf(dims[k]))
            return "two axes of a value would be one";
    return "";
  }

  std::string checkFolds() {
    for (const auto& f : folds_)
      if (rootsOf(f) != rootsOf(folds_[0])) return "reductions over different axes";
    for (bool inner : inner_)
      if (inner != inner_[0]) return "reductions over inner and over outer axes";
    return "";
  }

  /// Values of the group that something outside reads.
  std::vector<Value> results() const {
    absl::flat_hash_set<Value> usedInside, usedOutside;
    for (int32_t n : nodes_)
      for (Value v : g_.node(n).inputs) usedInside.insert(v);
    auto outside = [&](Value v) {
      if (inside_.contains(v.node)) usedOutside.insert(v);
    };
    for (auto n = static_cast<size_t>(nodes_.front()); n < g_.nodes().size(); ++n)
      if (!inside_.contains(static_cast<int32_t>(n)))
        for (Value v : g_.node(static_cast<int32_t>(n)).inputs) outside(v);
    for (Value v : g_.outputs()) outside(v);
    for (const Graph::Assign& a : g_.assigns()) outside(a.value);
    std::vector<Value> values;
    for (int32_t n : nodes_)
      if (Value v{n, 0}; !usedInside.contains(v) || usedOutside.contains(v)) values.push_back(v);
    return values;
  }

  std::string checkResults() {
    Roots all, folded = folds_.empty() ? Roots{} : rootsOf(folds_[0]);
    for (const auto& [v, dims] : values_)
      if (inside_.contains(v.node))
        for (int root : rootsOf(dims)) all.insert(root);
    Roots parallel = all;
    for (int root : folded) parallel.erase(root);
    bool overInner = !folds_.empty() && inner_[0];
    for (Value v : results()) {
      Roots own = rootsOf(values_.at(v));
      if (folds_.empty() ? own == all : own == parallel) continue;
      if (overInner && own == all) continue;
      return fmt::format("result {} has axes of its own", toString(g_.typeOf(v)));
    }
    return "";
  }

  const Graph& g_;
  std::span<const int32_t> nodes_;
  absl::flat_hash_set<int32_t> inside_;
  Dimensions dims_;
  absl::flat_hash_map<Value, std::vector<int>> values_;
  absl::flat_hash_set<Value> operands_;
  std::vector<std::vector<int>> folds_;
  std::vector<bool> inner_; // per fold: the last dimension is folded
};

} // namespace

std::string whyNotFuse(const Graph& g, std::span<const int32_t> nodes) {
  if (nodes.size() <= 1) return "";
  if (nodes.size() > kMaxNodes) return fmt::format("{} nodes; at most {} in a group", nodes.size(), kMaxNodes);
  return GroupShape(g, nodes).check();
}

} // namespace tegula::loop
