// GroupReader: programs and windows from the nodes of a group.
#include "compiler/matrix/GroupReader.h"

namespace tegula::matrix {

using lang::KernelParam;

namespace {

class Reader {
public:
  Reader(const Group& group, int32_t node, TileKernelSource& source, KernelArguments& args)
      : group_(group), g_(group.body), node_(group.body.node(node)), nodeIndex_(node), s_(source), args_(args) {}

  Status read() {
    op_ = s_.library->declaration(node_.op);
    s_.kernel = s_.library->kernelFor(node_.op);
    if (!op_ || !s_.kernel) return unsupported("{} has no tile kernel", node_.op.text());
    for (const KernelParam& p : s_.kernel->params) // others are of the operator's types only
      if (const AttrValue* a = p.role == KernelParam::Role::Attribute ? node_.attrs.find(p.name) : nullptr)
        s_.attributes.set(p.name, *a);
    for (Value v : node_.inputs) ranks_.push_back(v.present() ? g_.typeOf(v).shape.rank() : -1);
    TG_RETURN_IF_ERROR(readBatch());
    TG_RETURN_IF_ERROR(readParameters());
    return readStores();
  }

private:
  Status readBatch();
  Status readParameters();
  Status readStores();
  Status noteExtents(const KernelParam&, const lang::TensorRule&, const Shape&);
  StatusOr<Program> program(Value, const AxisMap&, const KernelParam&, bool epilogue);
  StatusOr<Program> broadcast(const Node&, const AxisMap&, const KernelParam&, bool epilogue);
  int32_t window(OperandRef, DType, const Layout&, const Shape&, const AxisMap&, const KernelParam&, bool epilogue);
  int resultBehind(Value);
  const lang::TensorRule* rule(const lang::TypeRule& r) const { return chooseRule(r, *op_, node_.attrs, ranks_); }

  const Group& group_;
  const Graph& g_;
  const Node& node_;
  int32_t nodeIndex_;
  TileKernelSource& s_;
  KernelArguments& args_;
  const lang::OperatorDecl* op_ = nullptr;
  std::vector<int> ranks_;
  std::vector<const KernelParam*> outputs_;
  std::vector<AxisMap> outputMaps_;
  std::map<int32_t, int> behind_; // resultBehind of nodes
};

Status Reader::readBatch() {
  const lang::TensorRule* first = rule(op_->results[0].type);
  if (!first)
    return unsupported("{}: the type of its result depends on more than attributes and ranks", node_.op.text());
  const Shape& shape = node_.results[0].shape;
  for (int d = 0; d < leadingAxes(*first, shape.rank()); ++d) args_.batch.push_back(shape[d]);
  return OkStatus();
}

/// Notes the extents of a parameter's dimensions. What it presents is the whole operand and no more: code reads and
/// writes by these extents.
Status Reader::noteExtents(const KernelParam& p, const lang::TensorRule& rule, const Shape& shape) {
  std::array<int, 2> axes = axesOf(p, rule, shape.rank());
  for (size_t position = 0; position < axes.size(); ++position) {
    const lang::Dim& dim = p.tensor.dims[position];
    int64_t extent = axes[position] < 0 ? 1 : shape[axes[position]];
    if (dim.kind == lang::Dim::Kind::Constant) {
      if (extent != dim.value)
        return invalid("{}: axis {} of {} is {} in the kernel and {} in the operand", s_.kernel->name.text(), position,
                       p.name.text(), dim.value, extent);
      continue;
    }
    auto [it, fresh] = args_.extents.emplace(dim.name, extent);
    if (!fresh && it->second != extent)
      return invalid("{}: {} is {} in one place and {} in axis {} of {}", s_.kernel->name.text(), dim.name.text(),
                     it->second, extent, position, p.name.text());
  }
  for (int axis = leadingAxes(rule, shape.rank()); axis < shape.rank(); ++axis)
    if (shape[axis] != 1 && axis != axes[0] && axis != axes[1])
      return invalid("{}: {} has an axis of {} elements that the kernel's {} does not name", s_.kernel->name.text(),
                     node_.op.text(), shape[axis], p.name.text());
  return OkStatus();
}

Status Reader::readParameters() {
  int output = 0;
  for (const KernelParam& p : s_.kernel->params) {
    if (p.role == KernelParam::Role::Input) {
      int input = op_->inputIndex(p.name);
      if (input < 0)
        return invalid("{}: parameter {} is not an input of {}", s_.kernel->name.text(), p.name.text(),
                       node_.op.text());
      Value v = static_cast<size_t>(input) < node_.inputs.size() ? node_.inputs[static_cast<size_t>(input)] : Value{};
      if (!v.present()) {
        s_.inputs.emplace_back();
        continue;
      }
      const lang::TensorRule* r = rule(op_->inputs[static_cast<size_t>(input)].type);
      if (!r)
        return unsupported("{}: the type of {} depends on more than attributes and ranks", node_.op.text(),
                           p.name.text());
      const Shape& shape = g_.typeOf(v).shape;
      TG_RETURN_IF_ERROR(noteExtents(p, *r, shape));
      TG_ASSIGN_OR_RETURN(Program value, program(v, mapOperand(p, *r, shape, args_.batch), p, false));
      s_.wide |= g_.typeOf(v).dtype == DType::F64;
      s_.inputs.push_back(std::move(value));
    } else if (p.role == KernelParam::Role::Output) {
      const lang::TensorRule* r = rule(op_->results[static_cast<size_t>(output)].type);
      if (!r) return unsupported("{}: the type of a result depends on more than attributes and ranks", node_.op.text());
      const TensorType& type = node_.results[static_cast<size_t>(output)];
      TG_RETURN_IF_ERROR(noteExtents(p, *r, type.shape));
      s_.outputs.push_back(type.dtype);
      outputs_.push_back(&p);
      outputMaps_.push_back(mapOperand(p, *r, type.shape, args_.batch));
      ++output;
    }
  }
  return OkStatus();
}

/// The result of the kept operator that a value is computed from; -1: none, -2: several.
int Reader::resultBehind(Value v) {
  if (v.node == nodeIndex_) return v.result;
  if (auto known = behind_.find(v.node); known != behind_.end()) return known->second;
  int found = -1;
  for (Value in : g_.node(v.node).inputs) {
    int r = in.present() ? resultBehind(in) : -1;
    if (r == -1 || r == found) continue;
    found = found == -1 ? r : -2;
  }
  return behind_[v.node] = found;
}

Status Reader::readStores() {
  for (size_t o = 0; o < g_.outputs().size(); ++o) {
    Value v = g_.outputs()[o];
    int result = resultBehind(v);
    if (result < 0) return unsupported("{}: an output that does not come from one result of it", node_.op.text());
    const TensorType& type = g_.typeOf(v);
    const AxisMap& map = outputMaps_[static_cast<size_t>(result)];
    const KernelParam& p = *outputs_[static_cast<size_t>(result)];
    if (!(type.shape == node_.results[static_cast<size_t>(result)].shape))
      return unsupported("{}: an epilogue of another shape, {} instead of {}", node_.op.text(), toString(type.shape),
                         toString(node_.results[static_cast<size_t>(result)].shape));
    if (group_.outputLayouts[o].kind != Layout::Kind::Strided)
      return unsupported("{}: a blocked output", node_.op.text());
    TG_ASSIGN_OR_RETURN(Program value, program(v, map, p, true));
    OperandRef ref{OperandRef::Kind::Output, static_cast<int32_t>(o)};
    int32_t w = window(ref, type.dtype, group_.outputLayouts[o], type.shape, map, p, false);
    s_.stores.push_back({result, std::move(value), w});
  }
  return OkStatus();
}

StatusOr<Program> Reader::program(Value v, const AxisMap& map, const KernelParam& p, bool epilogue) {
  const Node& n = g_.node(v.node);
  const TensorType& type = g_.typeOf(v);
  Program out;
  out.dtype = type.dtype;
  if (v.node == nodeIndex_) {
    if (!(map == outputMaps_[static_cast<size_t>(v.result)]))
      return unsupported("{}: an epilogue that moves elements", node_.op.text());
    out.kind = Program::Kind::Result;
    out.index = v.result;
    return out;
  }
  if (n.kind == Node::Kind::Input) {
    size_t input = 0;
    while (g_.inputs()[input].node != v.node) ++input;
    if (group_.inputLayouts[input].kind != Layout::Kind::Strided)
      return unsupported("{}: a blocked operand", node_.op.text());
    out.kind = Program::Kind::Window;
    out.index = window({OperandRef::Kind::Input, static_cast<int32_t>(input)}, type.dtype, group_.inputLayouts[input],
                       type.shape, map, p, epilogue);
    return out;
  }
  const Primitive* primitive = n.kind == Node::Kind::Primitive ? findPrimitive(n.op) : nullptr;
  if (!primitive) return unsupported("{}: {} in its group", node_.op.text(), n.op.text());
  if (n.op == Symbol("constant")) {
    out.kind = Program::Kind::Constant;
    HostArray number(type);
    storeConstant(n.attrs, number);
    out.constant = number.get(0), out.integer = number.getInt(0);
    return out;
  }
  if (primitive->kind == PrimitiveKind::Broadcast) return broadcast(n, map, p, epilogue);
  if (n.op == Symbol("transpose")) {
    const Shape& permutation = n.attrs.getInts("permutation");
    AxisMap inner = map;
    for (int a = 0; a < inner.count; ++a)
      if (inner.axes[a] >= 0) inner.axes[a] = static_cast<int>(permutation[inner.axes[a]]);
    return program(n.inputs[0], inner, p, epilogue);
  }
  if (primitive->kind != PrimitiveKind::Elementwise)
    return unsupported("{}: {} in its group", node_.op.text(), n.op.text());
  out.kind = Program::Kind::Apply;
  out.function = n.op;
  for (Value in : n.inputs) {
    TG_ASSIGN_OR_RETURN(Program arg, program(in, map, p, epilogue));
    out.args.push_back(std::move(arg));
  }
  return out;
}

StatusOr<Program> Reader::broadcast(const Node& n, const AxisMap& map, const KernelParam& p, bool epilogue) {
  const Shape& axes = n.attrs.getInts("axes"); // output axis of each input axis
  const Shape& from = g_.typeOf(n.inputs[0]).shape;
  const Shape& to = n.results[0].shape;
  AxisMap inner = map;
  for (int a = 0; a < map.count; ++a) {
    inner.axes[a] = -1;
    for (int i = 0; i < axes.rank(); ++i)
      if (map.axes[a] == axes[i] && (from[i] != 1 || to[static_cast<int>(axes[i])] == 1)) inner.axes[a] = i;
  }
  return program(n.inputs[0], inner, p, epilogue);
}

int32_t Reader::window(OperandRef ref, DType dtype, const Layout& layout, const Shape& shape, const AxisMap& map,
                       const KernelParam& p, bool epilogue) {
  KernelArguments::Strides strides;
  strides.map = map;
  int64_t all[kMaxRank + 2];
  for (int a = 0; a < map.count; ++a)
    all[a] = map.axes[a] < 0 || shape[map.axes[a]] == 0 ? 0 : layout.strides[map.axes[a]];
  int batch = map.count - 2;
  for (int d = 0; d < batch; ++d) strides.batch.push_back(all[d]);
  strides.row = all[batch], strides.col = all[batch + 1];
  strides.rowDim = p.tensor.dims[0].name, strides.colDim = p.tensor.dims[1].name;
  auto classOf = [&](int axis) {
    int from = map.axes[batch + axis];
    if (epilogue && (from < 0 || (all[batch + axis] == 0 && shape[from] > 1))) return StrideClass::Zero;
    return all[batch + axis] == 1 ? StrideClass::One : StrideClass::Any;
  };
  Window w{ref, dtype, classOf(0), classOf(1)};
  if (w.col == StrideClass::One && w.row == StrideClass::One) w.row = StrideClass::Any;
  // One operand in two places (x @ x) has the same strides but not the same dimensions: batches merge by those.
  for (size_t i = 0; i < s_.windows.size(); ++i) {
    const KernelArguments::Strides& known = args_.windows[i];
    if (s_.windows[i] == w && known.map == map && known.rowDim == strides.rowDim && known.colDim == strides.colDim)
      return static_cast<int32_t>(i);
  }
  s_.windows.push_back(w);
  args_.windows.push_back(strides);
  return static_cast<int32_t>(s_.windows.size()) - 1;
}

} // namespace

int32_t keptOperator(const Graph& body) {
  int32_t found = -1;
  for (size_t i = 0; i < body.nodes().size(); ++i) {
    if (body.nodes()[i].kind != Node::Kind::Operator) continue;
    if (found >= 0) return -1;
    found = static_cast<int32_t>(i);
  }
  return found;
}

Status readGroup(const Group& group, int32_t node, TileKernelSource& source, KernelArguments& arguments) {
  return Reader(group, node, source, arguments).read();
}

} // namespace tegula::matrix
