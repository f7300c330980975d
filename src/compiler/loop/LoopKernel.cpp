// Derived facts and the text form of loop kernels.
#include "compiler/loop/LoopKernel.h"

#include <algorithm>

namespace tegula::loop {

AxisSet Operand::axes() const {
  AxisSet set = 0;
  for (size_t a = 0; a < strides.size(); ++a)
    if (strides[a] != StrideClass::Absent) set |= axisBit(static_cast<int>(a));
  return set;
}

std::string_view name(Template t) {
  switch (t) {
  case Template::Elementwise:
    return "elementwise";
  case Template::Row:
    return "row";
  case Template::Column:
    return "column";
  case Template::Split:
    return "split";
  case Template::Scan:
    return "scan";
  case Template::Scatter:
    return "scatter";
  }
  return "";
}

AxisSet LoopKernel::sequentialAxes() const {
  AxisSet set = 0;
  for (const Instruction& i : body) set |= i.folded;
  return set;
}

AxisSet LoopKernel::storeAxes(const Store& s) const {
  AxisSet set = operands[static_cast<size_t>(s.operand)].axes() | body[static_cast<size_t>(s.value)].axes;
  for (int v : operands[static_cast<size_t>(s.operand)].subscripts) set |= body[static_cast<size_t>(v)].axes;
  return set;
}

AxisSet LoopKernel::itemAxes() const {
  AxisSet set = ~AxisSet{0};
  for (const Store& s : stores) set &= s.accumulate ? operands[static_cast<size_t>(s.operand)].axes() : storeAxes(s);
  return stores.empty() ? 0 : set & ~sequentialAxes();
}

void inferAxes(LoopKernel& kernel) {
  for (Instruction& i : kernel.body) {
    i.axes = 0;
    i.level = 0;
    auto include = [&](int value) {
      i.axes |= kernel.body[static_cast<size_t>(value)].axes;
      i.level = std::max(i.level, kernel.body[static_cast<size_t>(value)].level);
    };
    for (int value : i.inputs) include(value);
    if (i.kind == Instruction::Kind::Load) {
      const Operand& operand = kernel.operands[static_cast<size_t>(i.operand)];
      for (int value : operand.subscripts) include(value);
      i.axes |= operand.axes();
    }
    if (i.kind == Instruction::Kind::Reduce) {
      i.axes &= ~i.folded;
      ++i.level;
    }
    if (i.kind == Instruction::Kind::Scan) i.axes |= i.folded;
  }
}

namespace {

void markLive(const LoopKernel& kernel, int value, std::vector<bool>& live) {
  if (live[static_cast<size_t>(value)]) return;
  live[static_cast<size_t>(value)] = true;
  const Instruction& i = kernel.body[static_cast<size_t>(value)];
  for (int input : i.inputs) markLive(kernel, input, live);
  if (i.kind == Instruction::Kind::Load)
    for (int input : kernel.operands[static_cast<size_t>(i.operand)].subscripts) markLive(kernel, input, live);
}

/// Keeps the elements whose place in `moved` is not -1.
template <typename T> void keep(std::vector<T>& items, const std::vector<int>& moved) {
  std::vector<T> kept;
  for (size_t i = 0; i < items.size(); ++i)
    if (moved[i] >= 0) kept.push_back(std::move(items[i]));
  items = std::move(kept);
}

std::vector<int> renumber(const std::vector<bool>& live) {
  std::vector<int> moved;
  int next = 0;
  for (bool l : live) moved.push_back(l ? next++ : -1);
  return moved;
}

} // namespace

void prune(LoopProblem& problem) {
  LoopKernel& k = problem.kernel;
  std::vector<bool> values(k.body.size()), operands(k.operands.size());
  for (const Store& s : k.stores) {
    markLive(k, s.value, values);
    operands[static_cast<size_t>(s.operand)] = true;
    for (int v : k.operands[static_cast<size_t>(s.operand)].subscripts) markLive(k, v, values);
  }
  for (size_t i = 0; i < k.body.size(); ++i)
    if (values[i] && k.body[i].operand >= 0) operands[static_cast<size_t>(k.body[i].operand)] = true;
  std::vector<int> value = renumber(values), operand = renumber(operands);
  keep(k.body, value);
  keep(k.operands, operand);
  keep(problem.at.operands, operand);
  for (Instruction& i : k.body) {
    for (int& input : i.inputs) input = value[static_cast<size_t>(input)];
    if (i.operand >= 0) i.operand = operand[static_cast<size_t>(i.operand)];
  }
  for (Operand& o : k.operands)
    for (int& v : o.subscripts) v = value[static_cast<size_t>(v)];
  for (Store& s : k.stores)
    s = {operand[static_cast<size_t>(s.operand)], value[static_cast<size_t>(s.value)], s.accumulate};
}

namespace {

std::string axesText(const LoopKernel& kernel, AxisSet set) {
  std::string text;
  for (int a = 0; a < kernel.axes; ++a)
    if (set & axisBit(a)) text += fmt::format("{}n{}", text.empty() ? "" : " ", a);
  return text;
}

std::string operandText(const LoopKernel& kernel, size_t index) {
  const Operand& o = kernel.operands[index];
  const char* role = o.role == Operand::Role::Input ? "in" : o.role == Operand::Role::Output ? "out" : "number";
  std::string text = fmt::format("{} @{} {}[", role, index, name(o.dtype));
  bool first = true;
  for (size_t a = 0; a < o.strides.size(); ++a) {
    if (o.strides[a] == StrideClass::Absent) continue;
    text += fmt::format("{}n{}{}", first ? "" : " ", a, o.strides[a] == StrideClass::Unit ? ":1" : "");
    first = false;
  }
  for (int v : o.subscripts) {
    text += fmt::format("{}%{}", first ? "" : " ", v);
    first = false;
  }
  return text + (o.perItem ? "] per item" : "]");
}

std::string instructionText(const LoopKernel& kernel, size_t index) {
  const Instruction& i = kernel.body[index];
  std::string inputs;
  for (int v : i.inputs) inputs += fmt::format("{}%{}", inputs.empty() ? "" : ", ", v);
  std::string text = fmt::format("%{} = ", index);
  switch (i.kind) {
  case Instruction::Kind::Constant:
    text += isFloat(i.dtype) ? fmt::format("{}", i.number) : fmt::format("{}", i.integer);
    break;
  case Instruction::Kind::Parameter:
    text += fmt::format("parameter {}", i.integer);
    break;
  case Instruction::Kind::Load:
    text += fmt::format("load @{}", i.operand);
    if (!kernel.operands[static_cast<size_t>(i.operand)].subscripts.empty()) text += fmt::format(" else {}", i.number);
    break;
  case Instruction::Kind::Map:
    text += fmt::format("{}({})", i.fn.text(), inputs);
    break;
  case Instruction::Kind::Reduce:
    text += fmt::format("{} {} over [{}]", i.fn.text(), inputs, axesText(kernel, i.folded));
    break;
  case Instruction::Kind::Scan:
    text += fmt::format("running {} {} along [{}]", i.fn.text(), inputs, axesText(kernel, i.folded));
    break;
  }
  return text + fmt::format(" : {}", name(i.dtype));
}

} // namespace

std::string patternText(const LoopKernel& kernel) {
  std::string text = fmt::format("axes {} parallel [{}]\n", kernel.axes, axesText(kernel, kernel.itemAxes()));
  for (size_t i = 0; i < kernel.operands.size(); ++i) text += operandText(kernel, i) + "\n";
  for (size_t i = 0; i < kernel.body.size(); ++i) text += instructionText(kernel, i) + "\n";
  for (const Store& s : kernel.stores)
    text += fmt::format("@{} {} %{}\n", s.operand, s.accumulate ? "+=" : "=", s.value);
  return text;
}

std::string scheduleText(const LoopKernel& kernel) {
  std::string vector = kernel.vectorAxis < 0 ? "none" : fmt::format("n{}", kernel.vectorAxis);
  std::string split = kernel.splitAxis < 0 ? "" : fmt::format(" split=n{}", kernel.splitAxis);
  const LoopSchedule& s = kernel.schedule;
  return fmt::format("loop {} vector={}{} lanes={} vectors={} block={}", name(kernel.kind), vector, split, s.lanes,
                     s.vectors, s.blockTiles);
}

std::string shortName(const LoopKernel& kernel) {
  constexpr int kNamedOperations = 4; // enough to recognise a kernel in a list
  std::string text(name(kernel.kind));
  int named = 0;
  for (const Instruction& i : kernel.body) {
    if (i.fn.empty() || named == kNamedOperations) continue;
    text += fmt::format("_{}", i.fn.text());
    ++named;
  }
  DType widest =
      kernel.stores.empty() ? DType::F32 : kernel.operands[static_cast<size_t>(kernel.stores[0].operand)].dtype;
  return fmt::format("{}_{}", text, name(widest));
}

} // namespace tegula::loop
