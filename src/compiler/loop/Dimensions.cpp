// Union-find over dimensions, and numbering the axes of a draft kernel.
#include "compiler/loop/Analysis.h"

#include <algorithm>

namespace tegula::loop {

int Dimensions::add(int64_t extent) {
  parent_.push_back(size());
  extent_.push_back(extent);
  point_.push_back(false);
  return size() - 1;
}

int Dimensions::rootOf(int d) const {
  while (parent_[static_cast<size_t>(d)] != d) d = parent_[static_cast<size_t>(d)];
  return d;
}

void Dimensions::unify(int a, int b) {
  a = rootOf(a);
  b = rootOf(b);
  if (a == b) return;
  if (b < a) std::swap(a, b); // the older one stays, so that numbering follows the body
  parent_[static_cast<size_t>(b)] = a;
  if (point_[static_cast<size_t>(b)]) point_[static_cast<size_t>(a)] = true;
}

void Dimensions::makePoint(int d) { point_[static_cast<size_t>(rootOf(d))] = true; }

DType accumulatorType(DType d) { return d == DType::BF16 || d == DType::F16 ? DType::F32 : d; }

namespace {

template <typename T> int append(std::vector<T>& items, T item) {
  items.push_back(std::move(item));
  return static_cast<int>(items.size()) - 1;
}

} // namespace

int DraftKernel::constant(DType dtype, double number, int64_t integer) {
  Instruction i;
  i.kind = Instruction::Kind::Constant;
  i.dtype = dtype;
  i.number = isFloat(dtype) ? roundedTo(dtype, number) : number; // once, from all its bits
  i.integer = integer;
  folded_.emplace_back();
  return append(body_, std::move(i));
}

int DraftKernel::parameter(int64_t value) {
  Instruction i;
  i.kind = Instruction::Kind::Parameter;
  i.dtype = DType::I64;
  i.integer = append(parameters, value);
  folded_.emplace_back();
  return append(body_, std::move(i));
}

int DraftKernel::load(DraftOperand operand, double fill) {
  Instruction i;
  i.kind = Instruction::Kind::Load;
  i.dtype = operand.dtype;
  i.number = fill;
  i.operand = append(operands, std::move(operand));
  folded_.emplace_back();
  return append(body_, std::move(i));
}

int DraftKernel::number(std::vector<DraftOperand::Dimension> dimensions, int64_t offset) {
  DraftOperand operand;
  operand.role = Operand::Role::Number;
  operand.dtype = DType::I64;
  operand.offset = offset;
  operand.dims = std::move(dimensions);
  return load(std::move(operand));
}

int DraftKernel::map(Symbol fn, std::vector<int> inputs, DType dtype) {
  Instruction i;
  i.kind = Instruction::Kind::Map;
  i.fn = fn;
  i.dtype = dtype;
  i.inputs = std::move(inputs);
  folded_.emplace_back();
  return append(body_, std::move(i));
}

int DraftKernel::reduce(Symbol kind, int input, std::vector<int> dimensions, DType accumulator) {
  Instruction i;
  i.kind = Instruction::Kind::Reduce;
  i.fn = kind;
  i.dtype = accumulator;
  i.inputs = {input};
  folded_.push_back(std::move(dimensions));
  return append(body_, std::move(i));
}

int DraftKernel::scan(Symbol kind, int input, int dimension, DType accumulator) {
  int value = reduce(kind, input, {dimension}, accumulator);
  body_.back().kind = Instruction::Kind::Scan;
  return value;
}

void DraftKernel::store(DraftOperand operand, int value, bool accumulate) {
  operand.role = Operand::Role::Output;
  stores_.push_back({append(operands, std::move(operand)), value, accumulate});
}

/// Uses the first of equal loads for all of them; prune() drops the others.
void DraftKernel::mergeLoads() {
  auto same = [&](const DraftOperand& a, const DraftOperand& b) {
    auto dimension = [&](const DraftOperand::Dimension& x, const DraftOperand::Dimension& y) {
      return dims.rootOf(x.dimension) == dims.rootOf(y.dimension) && x.stride == y.stride;
    };
    auto subscript = [](const DraftOperand::Subscript& x, const DraftOperand::Subscript& y) {
      return x.value == y.value && x.stride == y.stride && x.extent == y.extent;
    };
    return a.role == b.role && a.dtype == b.dtype && a.offset == b.offset && a.ref.kind == b.ref.kind &&
           a.ref.index == b.ref.index && std::ranges::equal(a.dims, b.dims, dimension) &&
           std::ranges::equal(a.subscripts, b.subscripts, subscript);
  };
  std::vector<int> first(body_.size());
  std::vector<size_t> loads;
  for (size_t i = 0; i < body_.size(); ++i) {
    first[i] = static_cast<int>(i);
    for (int& input : body_[i].inputs) input = first[static_cast<size_t>(input)];
    if (body_[i].kind != Instruction::Kind::Load) continue;
    DraftOperand& mine = operands[static_cast<size_t>(body_[i].operand)];
    for (auto& s : mine.subscripts) s.value = first[static_cast<size_t>(s.value)];
    auto known = std::ranges::find_if(loads, [&](size_t k) {
      return same(operands[static_cast<size_t>(body_[k].operand)], mine) && body_[k].number == body_[i].number;
    });
    if (known == loads.end())
      loads.push_back(i);
    else
      first[i] = static_cast<int>(*known);
  }
  for (Store& s : stores_) {
    s.value = first[static_cast<size_t>(s.value)];
    for (auto& subscript : operands[static_cast<size_t>(s.operand)].subscripts)
      subscript.value = first[static_cast<size_t>(subscript.value)];
  }
}

StatusOr<LoopProblem> DraftKernel::finish() {
  mergeLoads();
  for (int d : reversed_)
    for (DraftOperand& o : operands)
      for (auto& walked : o.dims) {
        if (dims.rootOf(walked.dimension) != dims.rootOf(d)) continue;
        o.offset += std::max<int64_t>(dims.extentOf(d) - 1, 0) * walked.stride;
        walked.stride = -walked.stride;
      }
  LoopProblem problem;
  LoopKernel& kernel = problem.kernel;
  std::vector<int> axisOf(static_cast<size_t>(dims.size()), -1);
  auto visit = [&](int dimension) {
    int root = dims.rootOf(dimension);
    if (dims.isPoint(root) || axisOf[static_cast<size_t>(root)] >= 0) return;
    axisOf[static_cast<size_t>(root)] = kernel.axes++;
    problem.at.extents.push_back(dims.extentOf(root));
  };
  for (const Store& s : stores_)
    for (const auto& d : operands[static_cast<size_t>(s.operand)].dims) visit(d.dimension);
  for (const DraftOperand& o : operands)
    for (const auto& d : o.dims) visit(d.dimension);
  for (const auto& list : folded_)
    for (int d : list) visit(d);
  if (kernel.axes > kMaxAxes)
    return unsupported("the group has {} iteration axes; at most {} fit a kernel", kernel.axes, kMaxAxes);

  for (DraftOperand& draft : operands) {
    Operand operand{draft.role,
                    draft.dtype,
                    std::vector<StrideClass>(static_cast<size_t>(kernel.axes), StrideClass::Absent),
                    {},
                    false};
    OperandInstance instance{draft.ref, draft.offset, std::vector<int64_t>(static_cast<size_t>(kernel.axes), 0), {}};
    AxisSet taken = 0;
    for (const auto& d : draft.dims) {
      int axis = axisOf[static_cast<size_t>(dims.rootOf(d.dimension))];
      if (axis < 0) continue;
      if ((taken & axisBit(axis)) && problem.at.extents[static_cast<size_t>(axis)] > 1)
        return internal("loop kernel: two dimensions of an operand became one axis");
      taken |= axisBit(axis);
      instance.strides[static_cast<size_t>(axis)] = d.stride;
    }
    for (int a = 0; a < kernel.axes; ++a) {
      int64_t stride = instance.strides[static_cast<size_t>(a)];
      if (stride != 0) operand.strides[static_cast<size_t>(a)] = stride == 1 ? StrideClass::Unit : StrideClass::Strided;
    }
    for (const auto& s : draft.subscripts) {
      operand.subscripts.push_back(s.value);
      instance.subscripts.push_back({s.stride, s.extent});
    }
    kernel.operands.push_back(std::move(operand));
    problem.at.operands.push_back(std::move(instance));
  }
  for (size_t i = 0; i < body_.size(); ++i)
    for (int d : folded_[i])
      if (int axis = axisOf[static_cast<size_t>(dims.rootOf(d))]; axis >= 0) body_[i].folded |= axisBit(axis);
  kernel.body = std::move(body_);
  kernel.stores = std::move(stores_);
  kernel.parameters = static_cast<int>(parameters.size());
  problem.at.parameters = std::move(parameters);
  inferAxes(kernel);
  prune(problem);
  return problem;
}

} // namespace tegula::loop
