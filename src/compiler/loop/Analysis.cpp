// The primitives as loop values: what each does to dimensions, and which instructions it becomes.
#include "compiler/loop/Analysis.h"

#include "absl/container/flat_hash_map.h"
#include "tensor/Element.h"
#include <algorithm>
#include <limits>

namespace tegula::loop {
namespace {

/// A value of the body: its instruction and the dimensions of its shape.
struct Entry {
  int instruction = -1; // group inputs: -1 until used
  std::vector<int> dims;
  bool reshaped = false; // stored row-major over `dims`, which are not the shape's
};

class Analyser {
public:
  explicit Analyser(const Group& group) : group_(group), body_(group.body) {}

  StatusOr<LoopProblem> run() {
    for (size_t i = 0; i < body_.inputs().size(); ++i) {
      Value v{body_.inputs()[i].node, 0};
      if (group_.inputLayouts[i].kind != Layout::Kind::Strided)
        return unsupported("loop kernels read strided operands; input {} is {}", i, toString(group_.inputLayouts[i]));
      entries_[v].dims = fresh(body_.typeOf(v).shape);
      inputIndex_[v.node] = static_cast<int>(i);
    }
    for (size_t n = 0; n < body_.nodes().size(); ++n)
      if (body_.node(static_cast<int32_t>(n)).kind != Node::Kind::Input)
        TG_RETURN_IF_ERROR(visit(static_cast<int32_t>(n)));
    for (size_t i = 0; i < body_.outputs().size(); ++i) TG_RETURN_IF_ERROR(storeOutput(i));
    return draft_.finish();
  }

private:
  std::vector<int> fresh(const Shape& shape) {
    std::vector<int> dims;
    for (int64_t extent : shape) dims.push_back(draft_.dims.add(extent));
    return dims;
  }
  void unify(const std::vector<int>& a, const std::vector<int>& b) {
    assert(a.size() == b.size() && "an elementwise operation pairs all dimensions");
    for (size_t i = 0; i < a.size(); ++i) draft_.dims.unify(a[i], b[i]);
  }
  bool isInput(Value v) const { return inputIndex_.contains(v.node); }
  const Shape& shapeOf(Value v) const { return body_.typeOf(v).shape; }
  DType dtypeOf(Value v) const { return body_.typeOf(v).dtype; }

  static constexpr int kRepeated = -1; // in place of a dimension: the operand has one element along it

  /// The operand of a group input, with the given dimensions.
  DraftOperand operandOf(Value v, const std::vector<int>& dims) const {
    int index = inputIndex_.at(v.node);
    DraftOperand operand;
    operand.dtype = dtypeOf(v);
    operand.ref = {OperandRef::Kind::Input, index};
    const Shape& strides = group_.inputLayouts[static_cast<size_t>(index)].strides;
    for (size_t i = 0; i < dims.size(); ++i)
      if (dims[i] != kRepeated) operand.dims.push_back({dims[i], strides[static_cast<int>(i)]});
    return operand;
  }
  bool isIota(Value v) const { return body_.node(v.node).op == Symbol("iota"); }
  /// The instruction of an iota whose axes are the given dimensions.
  int count(Value v, const std::vector<int>& dims) {
    int along = dims[static_cast<size_t>(body_.node(v.node).attrs.getInt("axis"))];
    std::vector<DraftOperand::Dimension> place;
    if (along != kRepeated) place.push_back({along, 1});
    return draft_.cast(draft_.number(std::move(place)), dtypeOf(v));
  }
  /// Dimensions of the second operand of a node. An operand that is there twice (x @ x) is read twice: its axes play two
  /// parts.
  std::vector<int> secondOperand(const Node& node, int& instruction) {
    Value first = node.inputs[0], second = node.inputs[1];
    if (first != second || !isInput(second)) {
      instruction = use(second);
      return entries_.at(second).dims;
    }
    std::vector<int> dims = fresh(shapeOf(second));
    instruction = draft_.load(operandOf(second, dims));
    return dims;
  }
  /// The instruction of a value; a group input is loaded on first use.
  int use(Value v) {
    Entry& e = entries_.at(v);
    if (e.instruction < 0) e.instruction = draft_.load(operandOf(v, e.dims));
    return e.instruction;
  }
  void define(int32_t node, int instruction, std::vector<int> dims, int result = 0) {
    entries_[Value{node, result}] = {instruction, std::move(dims), false};
  }

  Status visit(int32_t n) {
    const Node& node = body_.node(n);
    if (node.kind != Node::Kind::Primitive) return unsupported("operator {} has no loop kernel", node.op.text());
    for (Value v : node.inputs)
      if (entries_.at(v).reshaped) return unsupported("{} after a reshape that is not a view", node.op.text());
    const Primitive* primitive = findPrimitive(node.op);
    if (!primitive) return unsupported("there is no primitive {}", node.op.text());
    switch (primitive->kind) {
    case PrimitiveKind::Elementwise:
      return elementwise(n, node);
    case PrimitiveKind::Broadcast:
      return broadcast(n, node);
    case PrimitiveKind::Reduce:
      return reduce(n, node);
    case PrimitiveKind::Contract:
      return node.op == Symbol("contract") ? contract(n, node) : convolution(n, node);
    case PrimitiveKind::View:
      return view(n, node);
    case PrimitiveKind::Gather:
      return gather(n, node);
    case PrimitiveKind::Source:
      return source(n, node);
    case PrimitiveKind::Ordered:
      return ordered(n, node);
    case PrimitiveKind::Relayout:
      return relayout(n, node);
    case PrimitiveKind::Move:
    case PrimitiveKind::Scatter:
      break;
    }
    return unsupported("{} inside a larger group", node.op.text());
  }

  Status elementwise(int32_t n, const Node& node) {
    std::vector<int> inputs;
    for (Value v : node.inputs) {
      inputs.push_back(use(v));
      unify(entries_.at(node.inputs[0]).dims, entries_.at(v).dims);
    }
    std::vector<int> dims = entries_.at(node.inputs[0]).dims;
    DType dtype = node.results[0].dtype;
    bool isCopy =
        node.op == Symbol("stop_gradient") || (node.op == Symbol("cast") && draft_.dtypeOf(inputs[0]) == dtype);
    define(n, isCopy ? inputs[0] : draft_.map(node.op, std::move(inputs), dtype), std::move(dims));
    return OkStatus();
  }

  /// What is read from memory, or counted, is read once more along the result's dimensions: the same operand may be
  /// repeated along two axes (x[:, None] - x[None, :]), and these stay two.
  Status broadcast(int32_t n, const Node& node) {
    Value x = node.inputs[0];
    std::vector<int> to = fresh(node.results[0].shape), along;
    for (int i = 0; i < shapeOf(x).rank(); ++i) {
      int64_t axis = node.attrs.getInts("axes")[i];
      bool repeated = shapeOf(x)[i] != node.results[0].shape[static_cast<int>(axis)];
      along.push_back(repeated ? kRepeated : to[static_cast<size_t>(axis)]);
    }
    int value = isInput(x) ? draft_.load(operandOf(x, along)) : isIota(x) ? count(x, along) : -1;
    if (value < 0) {
      const std::vector<int>& from = entries_.at(x).dims;
      for (size_t i = 0; i < from.size(); ++i)
        if (along[i] == kRepeated)
          draft_.dims.makePoint(from[i]);
        else
          draft_.dims.unify(from[i], along[i]);
      value = use(x);
    }
    define(n, value, std::move(to));
    return OkStatus();
  }

  /// Splits dimensions by an axis list; with keepdim the folded ones stay as points.
  std::vector<int> withoutAxes(const std::vector<int>& dims, const Shape& axes, bool keep, std::vector<int>& folded) {
    std::vector<int> rest;
    for (size_t i = 0; i < dims.size(); ++i) {
      if (std::find(axes.begin(), axes.end(), static_cast<int64_t>(i)) == axes.end()) {
        rest.push_back(dims[i]);
        continue;
      }
      folded.push_back(dims[i]);
      if (!keep) continue;
      rest.push_back(draft_.dims.add(1));
      draft_.dims.makePoint(rest.back());
    }
    return rest;
  }

  Status reduce(int32_t n, const Node& node) {
    constexpr std::string_view kPrefix = "reduce_";
    Symbol kind = node.op.text().substr(kPrefix.size());
    DType dtype = node.results[0].dtype;
    std::vector<int> folded, dims = withoutAxes(entries_.at(node.inputs[0]).dims, node.attrs.getInts("axes"),
                                                node.attrs.getBoolOr("keepdim", false), folded);
    int sum = draft_.reduce(kind, use(node.inputs[0]), std::move(folded), accumulatorType(dtype));
    define(n, draft_.cast(sum, dtype), std::move(dims));
    return OkStatus();
  }

  Status contract(int32_t n, const Node& node) {
    const Attributes& at = node.attrs;
    int right = -1;
    std::vector<int> a = entries_.at(node.inputs[0]).dims, b = secondOperand(node, right), dims, folded, unused;
    auto pair = [&](const Shape& axesA, const Shape& axesB, std::vector<int>& into) {
      for (int i = 0; i < axesA.rank(); ++i) {
        into.push_back(a[static_cast<size_t>(axesA[i])]);
        draft_.dims.unify(into.back(), b[static_cast<size_t>(axesB[i])]);
      }
    };
    pair(at.getInts("batch_a"), at.getInts("batch_b"), dims);
    pair(at.getInts("contract_a"), at.getInts("contract_b"), folded);
    auto appendFree = [&](const std::vector<int>& of, const Shape& batch, const Shape& contracted) {
      Shape taken = batch;
      for (int64_t axis : contracted) taken.push_back(axis);
      for (int d : withoutAxes(of, taken, false, unused)) dims.push_back(d);
    };
    appendFree(a, at.getInts("batch_a"), at.getInts("contract_a"));
    appendFree(b, at.getInts("batch_b"), at.getInts("contract_b"));
    define(n, sumOfProducts(use(node.inputs[0]), right, std::move(folded), node.results[0].dtype), std::move(dims));
    return OkStatus();
  }

  int sumOfProducts(int a, int b, std::vector<int> folded, DType result) {
    DType type = accumulatorType(draft_.dtypeOf(a));
    int product = draft_.map("mul", {draft_.cast(a, type), draft_.cast(b, type)}, type);
    return draft_.cast(draft_.reduce("sum", product, std::move(folded), type), result);
  }

  /// `condition` and a < b, of i64; a condition of -1 always holds.
  int andLess(int condition, int a, int b) {
    int less = draft_.map("less", {a, b}, DType::Bool);
    return condition < 0 ? less : draft_.map("logical_and", {condition, less}, DType::Bool);
  }
  Status convolution(int32_t n, const Node& node);
  Status view(int32_t n, const Node& node);
  Status gather(int32_t n, const Node& node);
  Status source(int32_t n, const Node& node);
  Status ordered(int32_t n, const Node& node);
  Status argExtreme(int32_t n, const Node& node);
  Status sort(int32_t n, const Node& node);
  Status relayout(int32_t n, const Node& node);

  /// What an element outside reads.
  static double outside(DType d) { return isFloat(d) ? std::numeric_limits<double>::quiet_NaN() : 0; }

  Status storeOutput(size_t index) {
    Value v = body_.outputs()[index];
    const TensorType& type = body_.typeOf(v);
    const Layout& layout = group_.outputLayouts[index];
    int value = use(v);
    const Entry& entry = entries_.at(v);
    DraftOperand operand;
    operand.dtype = type.dtype;
    operand.ref = {OperandRef::Kind::Output, static_cast<int32_t>(index)};
    Shape strides = layout.strides;
    if (entry.reshaped) {
      Shape extents;
      for (int d : entry.dims) extents.push_back(draft_.dims.extentOf(d));
      if (layout.kind == Layout::Kind::Strided && !isRowMajor(layout, type.shape))
        return unsupported("output {} of a copy is {}; expected row-major", index, toString(layout));
      strides = rowMajorStrides(extents);
    } else if (layout.kind != Layout::Kind::Strided) {
      return unsupported("loop kernels write strided results; output {} is {}", index, toString(layout));
    }
    for (size_t i = 0; i < entry.dims.size(); ++i)
      operand.dims.push_back({entry.dims[i], strides[static_cast<int>(i)]});
    if (auto place = placed_.find(v); place != placed_.end()) {
      // A subscript stands for the dimension that the value is sorted along.
      auto [dimension, position, extent] = place->second;
      operand.subscripts.push_back({position, strides[dimension], extent});
      operand.dims.erase(operand.dims.begin() + dimension);
    }
    draft_.store(std::move(operand), value);
    return OkStatus();
  }

  const Group& group_;
  const Graph& body_;
  DraftKernel draft_;
  absl::flat_hash_map<Value, Entry> entries_;
  absl::flat_hash_map<int32_t, int> inputIndex_;
  struct Place {
    int dimension, position;
    int64_t extent;
  };
  absl::flat_hash_map<Value, Place> placed_; // sorted results: where each element goes
};

Status Analyser::view(int32_t n, const Node& node) {
  Value x = node.inputs[0];
  std::vector<int> from = entries_.at(x).dims;
  if (node.op == Symbol("transpose")) {
    std::vector<int> dims;
    for (int64_t axis : node.attrs.getInts("permutation")) dims.push_back(from[static_cast<size_t>(axis)]);
    define(n, use(x), std::move(dims));
    return OkStatus();
  }
  if (!isInput(x)) return unsupported("{} of a value computed in the same group", node.op.text());
  const Shape& shape = node.results[0].shape;
  const Layout& layout = group_.inputLayouts[static_cast<size_t>(inputIndex_.at(x.node))];
  if (node.op == Symbol("slice")) {
    const Shape &starts = node.attrs.getInts("starts"), &steps = node.attrs.getInts("steps");
    std::vector<int> dims = fresh(shape);
    DraftOperand operand = operandOf(x, dims);
    for (int i = 0; i < shape.rank(); ++i) {
      operand.offset += starts[i] * layout.strides[i];
      operand.dims[static_cast<size_t>(i)].stride *= steps[i];
    }
    define(n, draft_.load(std::move(operand)), std::move(dims));
    return OkStatus();
  }
  if (isRowMajor(layout, shapeOf(x))) {
    std::vector<int> dims = fresh(shape);
    DraftOperand operand = operandOf(x, {});
    Shape strides = rowMajorStrides(shape);
    for (int i = 0; i < shape.rank(); ++i) operand.dims.push_back({dims[static_cast<size_t>(i)], strides[i]});
    define(n, draft_.load(std::move(operand)), std::move(dims));
    return OkStatus();
  }
  define(n, use(x), from); // copied over the input's dimensions; the result is row-major, so its shape does not matter
  entries_[Value{n, 0}].reshaped = true;
  return OkStatus();
}

Status Analyser::gather(int32_t n, const Node& node) {
  Value x = node.inputs[0];
  if (!isInput(x)) return unsupported("{} from a value computed in the same group", node.op.text());
  auto axis = static_cast<size_t>(node.attrs.getInt("axis"));
  int index = -1;
  std::vector<int> from = entries_.at(x).dims, at = secondOperand(node, index), dims;
  index = draft_.cast(index, DType::I64);
  DraftOperand operand = operandOf(x, from);
  operand.subscripts.push_back({index, operand.dims[axis].stride, shapeOf(x)[static_cast<int>(axis)]});
  operand.dims.erase(operand.dims.begin() + static_cast<ptrdiff_t>(axis));
  if (node.op == Symbol("gather")) {
    dims.assign(from.begin(), from.begin() + static_cast<ptrdiff_t>(axis));
    dims.insert(dims.end(), at.begin(), at.end());
    dims.insert(dims.end(), from.begin() + static_cast<ptrdiff_t>(axis) + 1, from.end());
  } else {
    for (size_t i = 0; i < from.size(); ++i)
      if (i != axis) draft_.dims.unify(from[i], at[i]);
    dims = at;
  }
  define(n, draft_.load(std::move(operand), outside(dtypeOf(x))), std::move(dims));
  return OkStatus();
}

Status Analyser::source(int32_t n, const Node& node) {
  const TensorType& type = node.results[0];
  if (node.op == Symbol("constant")) {
    HostArray number(type);
    storeConstant(node.attrs, number);
    define(n, draft_.constant(type.dtype, number.get(0), number.getInt(0)), {});
    return OkStatus();
  }
  std::vector<int> dims = fresh(type.shape);
  if (node.op == Symbol("iota")) {
    int index = count({n, 0}, dims);
    define(n, index, std::move(dims));
    return OkStatus();
  }
  int seed = use(node.inputs[0]), step = use(node.inputs[1]);
  Shape strides = rowMajorStrides(type.shape);
  std::vector<DraftOperand::Dimension> place;
  for (size_t i = 0; i < dims.size(); ++i) place.push_back({dims[i], strides[static_cast<int>(i)]});
  int stream = draft_.constant(DType::I64, 0, node.attrs.getInt("stream"));
  define(n, draft_.map(node.op, {seed, step, stream, draft_.number(std::move(place))}, type.dtype), std::move(dims));
  return OkStatus();
}

Status Analyser::ordered(int32_t n, const Node& node) {
  if (node.op == Symbol("sort")) return sort(n, node);
  if (node.op != Symbol("scan")) return argExtreme(n, node);
  std::vector<int> dims = entries_.at(node.inputs[0]).dims;
  int axis = static_cast<int>(node.attrs.getInt("axis"));
  if (!isInput(node.inputs[0])) return unsupported("scan of a value computed in the same group");
  int input = use(node.inputs[0]);
  DType dtype = node.results[0].dtype;
  if (node.attrs.getBoolOr("reverse", false)) draft_.reverse(dims[static_cast<size_t>(axis)]);
  int running = draft_.scan(node.attrs.getName("kind"), input, dims[static_cast<size_t>(axis)], accumulatorType(dtype));
  define(n, draft_.cast(running, dtype), std::move(dims));
  return OkStatus();
}

/// The first index whose element is the extreme: a fold for the extreme, then a fold of the indices that have it. NaN
/// passes the first fold; if there is one, nothing equals the extreme and the first NaN is meant.
Status Analyser::argExtreme(int32_t n, const Node& node) {
  bool isMax = node.op == Symbol("arg_max");
  Shape axes{node.attrs.getInt("axis")};
  std::vector<int> folded, from = entries_.at(node.inputs[0]).dims;
  std::vector<int> dims = withoutAxes(from, axes, node.attrs.getBoolOr("keepdim", false), folded);
  int x = use(node.inputs[0]);
  DType dtype = accumulatorType(draft_.dtypeOf(x));
  int extreme = draft_.cast(draft_.reduce(isMax ? "max" : "min", x, folded, dtype), draft_.dtypeOf(x));
  int matches = draft_.map("equal", {x, extreme}, DType::Bool);
  if (isFloat(dtype))
    matches = draft_.map("logical_or", {matches, draft_.map("is_nan", {x}, DType::Bool)}, DType::Bool);
  int index = draft_.number({{from[static_cast<size_t>(axes[0])], 1}});
  int none = draft_.constant(DType::I64, 0, std::numeric_limits<int64_t>::max());
  int candidate = draft_.map("select", {matches, index, none}, DType::I64);
  define(n, draft_.reduce("min", candidate, std::move(folded), DType::I64), std::move(dims));
  return OkStatus();
}

/// Every element counts those before it in the order and is stored at that place: n^2 comparisons, all in vectors.
Status Analyser::sort(int32_t n, const Node& node) {
  Value x = node.inputs[0];
  if (!isInput(x)) return unsupported("sort of a value computed in the same group");
  auto axis = static_cast<size_t>(node.attrs.getInt("axis"));
  bool descending = node.attrs.getBoolOr("descending", false);
  std::vector<int> dims = entries_.at(x).dims, others = dims;
  others[axis] = draft_.dims.add(shapeOf(x)[static_cast<int>(axis)]);
  int mine = use(x), other = draft_.load(operandOf(x, others));
  auto logic = [&](Symbol fn, std::vector<int> in) { return draft_.map(fn, std::move(in), DType::Bool); };
  int before = descending ? logic("less", {mine, other}) : logic("less", {other, mine}),
      ties = logic("equal", {mine, other});
  if (isFloat(dtypeOf(x))) {
    int nan = logic("is_nan", {mine}), otherNan = logic("is_nan", {other});
    before = logic("logical_or", {before, logic("logical_and", {nan, logic("logical_not", {otherNan})})});
    ties = logic("logical_or", {ties, logic("logical_and", {nan, otherNan})});
  }
  int index = draft_.number({{dims[axis], 1}}), otherIndex = draft_.number({{others[axis], 1}});
  int earlier = logic("logical_and", {ties, logic("less", {otherIndex, index})});
  int counted = draft_.map("cast", {logic("logical_or", {before, earlier})}, DType::I64);
  int position = draft_.reduce("sum", counted, {others[axis]}, DType::I64);
  define(n, mine, dims, 0);
  define(n, index, dims, 1);
  for (int result : {0, 1})
    placed_[Value{n, result}] = {static_cast<int>(axis), position, shapeOf(x)[static_cast<int>(axis)]};
  return OkStatus();
}

Status Analyser::convolution(int32_t n, const Node& node) {
  Value x = node.inputs[0], w = node.inputs[1];
  int weight = -1;
  if (!isInput(x)) return unsupported("convolution of a value computed in the same group");
  const Shape &strides = node.attrs.getInts("strides"), &low = node.attrs.getInts("pad_low"),
              &high = node.attrs.getInts("pad_high"), &dilation = node.attrs.getInts("dilation");
  std::vector<int> image = entries_.at(x).dims, taps = secondOperand(node, weight), dims = fresh(node.results[0].shape);
  draft_.dims.unify(dims[0], image[0]);
  draft_.dims.unify(dims[1], taps[0]);
  auto i64 = [&](Symbol fn, int a, int b) { return draft_.map(fn, {a, b}, DType::I64); };
  DraftOperand operand = operandOf(x, {});
  const Shape& from = group_.inputLayouts[static_cast<size_t>(inputIndex_.at(x.node))].strides;
  operand.dims.push_back({image[0], from[0]});
  std::vector<int> folded(taps.begin() + 1, taps.end());
  if (node.attrs.getInt("groups") == 1) {
    operand.dims.push_back({taps[1], from[1]});
  } else {
    // channel = o / (outputs per group) * (inputs per group) + c
    int64_t perGroup = shapeOf(w)[1], outputs = std::max<int64_t>(shapeOf(w)[0] / node.attrs.getInt("groups"), 1);
    int group = i64("div", draft_.number({{dims[1], 1}}), draft_.parameter(outputs));
    int channel = i64("add", i64("mul", group, draft_.parameter(perGroup)), draft_.number({{taps[1], 1}}));
    operand.subscripts.push_back({channel, from[1], shapeOf(x)[1]});
  }
  int inside = -1; // whether the position exists; -1: all do
  for (int i = 0; i < strides.rank(); ++i) {
    auto d = static_cast<size_t>(i) + 2;
    int position = draft_.number({{dims[d], strides[i]}, {taps[d], dilation[i]}}, -low[i]);
    operand.subscripts.push_back({position, from[i + 2], shapeOf(x)[i + 2]});
    if (!isFloat(dtypeOf(x))) continue; // 0 times any integer is 0
    if (low[i] > 0) inside = andLess(inside, draft_.constant(DType::I64, -1), position);
    if (high[i] > 0) inside = andLess(inside, position, draft_.parameter(shapeOf(x)[i + 2]));
  }
  int element = draft_.load(std::move(operand), 0);
  // A position outside adds nothing, whatever its weight: 0 · 0, where 0 · inf would be NaN.
  if (inside >= 0) weight = draft_.map("select", {inside, weight, draft_.constant(dtypeOf(w), 0)}, dtypeOf(w));
  define(n, sumOfProducts(element, weight, std::move(folded), node.results[0].dtype), std::move(dims));
  return OkStatus();
}

/// Packing into panels (tensor/Layout.h): the result's memory is walked in order, [..., panels, blocks, panel, pair],
/// and every place reads its element or 0 past the edge.
Status Analyser::relayout(int32_t n, const Node& node) {
  Value x = node.inputs[0];
  if (!isInput(x)) return unsupported("relayout of a value computed in the same group");
  int64_t panel = node.attrs.getInt("panel"), pair = node.attrs.getInt("pair"), axis = node.attrs.getInt("panel_axis");
  std::vector<int> dims = entries_.at(x).dims;
  if (panel == 0) {
    define(n, use(x), std::move(dims));
    return OkStatus();
  }
  const Shape& shape = shapeOf(x);
  int rank = shape.rank(), panelled = rank - 2 + static_cast<int>(axis), other = rank - 1 - static_cast<int>(axis);
  auto parts = [](int64_t extent, int64_t size) { return (extent + size - 1) / size; };
  int panels = draft_.dims.add(parts(shape[panelled], panel)), blocks = draft_.dims.add(parts(shape[other], pair));
  int inPanel = draft_.dims.add(panel), inPair = draft_.dims.add(pair);
  DraftOperand operand = operandOf(x, dims);
  int along = draft_.number({{panels, panel}, {inPanel, 1}}), across = draft_.number({{blocks, pair}, {inPair, 1}});
  operand.subscripts.push_back({along, operand.dims[static_cast<size_t>(panelled)].stride, shape[panelled]});
  operand.subscripts.push_back({across, operand.dims[static_cast<size_t>(other)].stride, shape[other]});
  operand.dims.resize(static_cast<size_t>(rank) - 2);
  std::vector<int> packed(dims.begin(), dims.begin() + rank - 2);
  for (int d : {panels, blocks, inPanel, inPair}) packed.push_back(d);
  define(n, draft_.load(std::move(operand), 0), std::move(packed));
  entries_[Value{n, 0}].reshaped = true;
  return OkStatus();
}

} // namespace

StatusOr<LoopProblem> analyse(const Group& group) { return Analyser(group).run(); }

} // namespace tegula::loop
