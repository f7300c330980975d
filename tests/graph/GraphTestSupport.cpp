// The test target and the plan interpreter.
#include "GraphTestSupport.h"
#include <cstring>

namespace tegula::test {

std::shared_ptr<const OperatorLibrary> library() {
  static const auto lib = valueOf(OperatorLibrary::loadEmbedded());
  return lib;
}

HostArray randomArray(const TensorType& t, uint32_t seed, int64_t high) {
  std::mt19937 random(seed);
  HostArray a(t);
  for (int64_t i = 0; i < a.elements(); ++i)
    if (isFloat(t.dtype))
      a.set(i, static_cast<double>(random()) / 2147483648.0 - 1.0);
    else
      a.setInt(i, static_cast<int64_t>(random() % static_cast<uint64_t>(high)));
  return a;
}

double difference(const HostArray& a, const HostArray& b) {
  if (a.shape() != b.shape()) return INFINITY;
  double worst = 0;
  for (int64_t i = 0; i < a.elements(); ++i) {
    double x = a.get(i), y = b.get(i);
    if (std::isnan(x) || std::isnan(y))
      worst = std::isnan(x) && std::isnan(y) ? worst : INFINITY;
    else if (x != y)
      worst = std::max(worst, std::abs(x - y) / (1 + std::abs(y)));
  }
  return worst;
}

bool TestTarget::keepsWhole(const Graph& g, const Node& n) const {
  return keepOperators && n.kind == Node::Kind::Operator && g.library().find(n.op)->hasKernel;
}

namespace {

/// Node i follows from a reduction among `nodes`.
bool isReducedTo(const Graph& g, int32_t i, std::span<const int32_t> nodes) {
  if (!std::binary_search(nodes.begin(), nodes.end(), i)) return false;
  const Node& n = g.node(i);
  if (n.kind == Node::Kind::Primitive && findPrimitive(n.op)->kind == PrimitiveKind::Reduce) return true;
  return std::any_of(n.inputs.begin(), n.inputs.end(), [&](Value v) { return isReducedTo(g, v.node, nodes); });
}

} // namespace

std::string TestTarget::whyNotFuse(const Graph& g, std::span<const int32_t> nodes) const {
  int kept = 0, other = 0;
  // Loops: one full shape; what is smaller was reduced from it in the group, or is a rank-0 number.
  std::vector<Shape> full, folded;
  auto add = [](std::vector<Shape>& list, const Shape& s) {
    if (std::find(list.begin(), list.end(), s) == list.end()) list.push_back(s);
  };
  for (int32_t i : nodes) {
    const Node& n = g.node(i);
    if (n.kind == Node::Kind::Operator) {
      ++kept;
      add(full, n.results[0].shape);
      continue;
    }
    PrimitiveKind kind = findPrimitive(n.op)->kind;
    if (kind == PrimitiveKind::Reduce) {
      add(full, g.typeOf(n.inputs[0]).shape);
      add(folded, n.results[0].shape);
    } else if (kind == PrimitiveKind::Broadcast && std::binary_search(nodes.begin(), nodes.end(), n.inputs[0].node) &&
               g.typeOf(n.inputs[0]).shape.rank() == 0 && isReducedTo(g, n.inputs[0].node, nodes)) {
      return "a number needs a pass of its own";
    } else if (kind == PrimitiveKind::Elementwise && n.results[0].shape.rank() > 0) {
      add(full, n.results[0].shape);
    } else if (kind != PrimitiveKind::Elementwise && kind != PrimitiveKind::Broadcast &&
               kind != PrimitiveKind::Source) {
      ++other;
    }
  }
  if (nodes.size() > 1 && other) return "not a loop";
  if (!fuseLoops && nodes.size() > 1) return "the test wants single nodes";
  if (kept > 1 || (kept && (!folded.empty() || !fuseEpilogues) && nodes.size() > 1)) return "a kept operator";
  size_t large = 0;
  for (const Shape& s : full) large += std::find(folded.begin(), folded.end(), s) == folded.end();
  if (large > 1 || folded.size() > 1) return "several shapes";
  return "";
}

namespace {

struct TestKernel : KernelSource {};

/// Structure, types and kinds of layout; no extents.
std::string structureOf(const Group& group) {
  std::string key;
  for (const Node& n : group.body.nodes()) {
    key += fmt::format("{}(", n.op.text());
    for (Value v : n.inputs) key += fmt::format("{}.{},", v.node, v.result);
    key += fmt::format("){} ", name(n.results[0].dtype));
    if (const AttrValue* axes = n.attrs.find("axes")) key += toString(*axes);
  }
  return key;
}

HostArray viewOf(const TensorType& t, const Layout& layout, uint8_t* base) {
  Shape strides = layout.kind == Layout::Kind::Strided ? layout.strides : rowMajorStrides(t.shape);
  return HostArray::wrap(t, strides, base, nullptr);
}

} // namespace

StatusOr<GroupSchedule> TestTarget::schedule(const Group& group) const {
  auto kernel = std::make_shared<TestKernel>();
  kernel->key = structureOf(group);
  kernel->name = group.label;
  GroupDispatch d;
  d.kernel = kernel;
  for (int32_t i = 0; i < static_cast<int32_t>(group.inputLayouts.size()); ++i)
    d.bindings.push_back({OperandRef::Kind::Input, i});
  int64_t elements = 0;
  for (int32_t i = 0; i < static_cast<int32_t>(group.outputLayouts.size()); ++i) {
    d.bindings.push_back({OperandRef::Kind::Output, i});
    elements += group.body.typeOf(group.body.outputs()[i]).shape.elements();
  }
  d.scalars = {static_cast<int64_t>(groups.size()), 0};
  d.items = elements;
  groups.push_back(std::make_shared<Group>(group));
  GroupSchedule s;
  if (!twoDispatches || elements == 0) {
    s.dispatches.push_back(std::move(d));
    return s;
  }
  // Phase 1 computes into temporaries, phase 2 copies.
  GroupDispatch copy;
  auto copyKernel = std::make_shared<TestKernel>();
  copyKernel->key = fmt::format("copy {}", group.outputLayouts.size());
  copyKernel->name = "copy of partials";
  copy.kernel = copyKernel;
  copy.items = elements;
  copy.scalars = {d.scalars[0], 2};
  d.scalars[1] = 1;
  for (int32_t i = 0; i < static_cast<int32_t>(group.outputLayouts.size()); ++i) {
    s.temporaryBytes.push_back(group.body.typeOf(group.body.outputs()[i]).sizeBytes());
    d.bindings[group.inputLayouts.size() + i] = {OperandRef::Kind::Temporary, i};
    copy.bindings.push_back({OperandRef::Kind::Temporary, i});
    copy.bindings.push_back({OperandRef::Kind::Output, i});
  }
  s.dispatches.push_back(std::move(d));
  s.dispatches.push_back(std::move(copy));
  return s;
}

std::vector<int32_t> anotherOrder(const Plan& plan, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<int32_t> order, ready, missing;
  for (const PlanStep& s : plan.steps) missing.push_back(static_cast<int32_t>(s.waits.size()));
  auto push = [&](int32_t s) {
    if (missing[s] == 0) ready.push_back(s);
  };
  auto count = static_cast<int32_t>(plan.steps.size());
  for (int32_t s = 0; s < count; ++s) push(s);
  while (!ready.empty()) {
    auto at = seed == 0 ? std::max_element(ready.begin(), ready.end()) : ready.begin() + random() % ready.size();
    int32_t s = *at;
    ready.erase(at);
    order.push_back(s);
    for (int32_t later = s + 1; later < count; ++later)
      if (std::ranges::count(plan.steps[later].waits, s) > 0) {
        --missing[later];
        push(later);
      }
  }
  return order;
}

StatusOr<PlanRun> interpret(const Plan& plan, const TestTarget& target, std::span<const HostArray> inputs,
                            std::span<const int32_t> order) {
  PlanRun run;
  auto poisoned = [](int64_t bytes) {
    return std::vector<uint8_t>(static_cast<size_t>(std::max<int64_t>(bytes, 1)), 0xff);
  };
  std::vector<uint8_t> arena = poisoned(plan.arenaBytes);
  std::vector<std::vector<uint8_t>> outputs;
  for (const TensorType& t : plan.outputs) outputs.push_back(poisoned(t.sizeBytes()));
  for (const HostArray& a : inputs) run.inputs.push_back(a.contiguous().clone());
  std::vector<HostArray> constants;
  for (const HostArray& a : plan.constants) constants.push_back(a.clone());
  auto address = [&](const BufferRef& r) -> uint8_t* {
    switch (r.space) {
    case BufferRef::Space::Input:
      return run.inputs[r.index].as<uint8_t>() + r.offsetBytes;
    case BufferRef::Space::Output:
      return outputs[r.index].data() + r.offsetBytes;
    case BufferRef::Space::Arena:
      return arena.data() + r.offsetBytes;
    case BufferRef::Space::Constant:
      break;
    }
    return constants[r.index].as<uint8_t>() + r.offsetBytes;
  };
  for (size_t i = 0; i < plan.steps.size(); ++i)
    for (const Segment& segment : plan.steps[order.empty() ? i : static_cast<size_t>(order[i])].segments) {
      const Group& group = *target.groups[segment.scalars[0]];
      if (segment.scalars[1] == 2) {
        for (size_t o = 0; o < group.outputLayouts.size(); ++o) {
          const TensorType& t = group.body.typeOf(group.body.outputs()[o]);
          HostArray from = viewOf(t, Layout::rowMajor(t.shape), address(segment.bindings[2 * o]));
          viewOf(t, group.outputLayouts[o], address(segment.bindings[2 * o + 1])).copyFrom(from);
        }
        continue;
      }
      std::vector<HostArray> in;
      size_t b = 0;
      for (size_t i = 0; i < group.inputLayouts.size(); ++i) {
        const TensorType& t = group.body.node(group.body.inputs()[i].node).results[0];
        in.push_back(viewOf(t, group.inputLayouts[i], address(segment.bindings[b++])).clone());
      }
      TG_ASSIGN_OR_RETURN(EvaluationResult results, evaluate(group.body, in));
      for (size_t o = 0; o < group.outputLayouts.size(); ++o) {
        bool partial = segment.scalars[1] == 1;
        const TensorType& t = results.outputs[o].type();
        HostArray to =
            viewOf(t, partial ? Layout::rowMajor(t.shape) : group.outputLayouts[o], address(segment.bindings[b++]));
        to.copyFrom(results.outputs[o]);
      }
    }
  for (size_t o = 0; o < plan.outputs.size(); ++o)
    run.outputs.push_back(
        viewOf(plan.outputs[o], Layout::rowMajor(plan.outputs[o].shape), address(plan.outputPlaces[o])).clone());
  return run;
}

} // namespace tegula::test
