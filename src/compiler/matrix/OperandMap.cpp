// OperandMap: matching operator types with kernel parameters by the names of their dimensions.
#include "compiler/matrix/OperandMap.h"

namespace tegula::matrix {

using lang::Dim;
using lang::Expr;
using lang::ExprKind;
using lang::Op;

namespace {

struct ConditionReader {
  const lang::OperatorDecl& op;
  const Attributes& attributes;
  std::span<const int> ranks;

  std::optional<int64_t> value(const Expr& e) const {
    if (e.is(ExprKind::Int) || e.is(ExprKind::Bool)) return e.intValue;
    if (e.is(ExprKind::Name)) {
      const AttrValue* a = attributes.find(e.name);
      if (!a) return std::nullopt;
      if (const bool* v = std::get_if<bool>(a)) return *v;
      if (const int64_t* v = std::get_if<int64_t>(a)) return *v;
      return std::nullopt;
    }
    if (e.callee() == Symbol("rank") && e.args.size() == 2 && e.arg(1).is(ExprKind::Name)) {
      int input = op.inputIndex(e.arg(1).name);
      if (input < 0 || static_cast<size_t>(input) >= ranks.size() || ranks[static_cast<size_t>(input)] < 0)
        return std::nullopt;
      return ranks[static_cast<size_t>(input)];
    }
    if (e.is(ExprKind::Unary) && e.op == Op::Not) {
      auto v = value(e.arg(0));
      return v ? std::optional<int64_t>(*v == 0) : std::nullopt;
    }
    if (!e.is(ExprKind::Binary)) return std::nullopt;
    auto a = value(e.arg(0)), b = value(e.arg(1));
    if (!a || !b) return std::nullopt;
    switch (e.op) {
    case Op::And:
      return *a && *b;
    case Op::Or:
      return *a || *b;
    case Op::Equal:
      return *a == *b;
    case Op::NotEqual:
      return *a != *b;
    case Op::Less:
      return *a < *b;
    case Op::LessEqual:
      return *a <= *b;
    case Op::Greater:
      return *a > *b;
    case Op::GreaterEqual:
      return *a >= *b;
    default:
      return std::nullopt;
    }
  }
};

bool isLeading(const Dim& d) { return d.kind == Dim::Kind::Ellipsis || d.kind == Dim::Kind::Group; }

std::vector<const Dim*> trailingDims(const lang::TensorRule& rule) {
  std::vector<const Dim*> dims;
  for (const Dim& d : rule.dims)
    if (!isLeading(d)) dims.push_back(&d);
  return dims;
}

} // namespace

const lang::TensorRule* chooseRule(const lang::TypeRule& rule, const lang::OperatorDecl& op,
                                   const Attributes& attributes, std::span<const int> inputRanks) {
  ConditionReader reader{op, attributes, inputRanks};
  for (const lang::TypeRule::Alternative& a : rule.alternatives) {
    if (!a.condition) return &a.tensor;
    auto holds = reader.value(*a.condition);
    if (!holds) return nullptr;
    if (*holds) return &a.tensor;
  }
  return nullptr;
}

int leadingAxes(const lang::TensorRule& rule, int rank) { return rank - static_cast<int>(trailingDims(rule).size()); }

std::array<int, 2> axesOf(const lang::KernelParam& param, const lang::TensorRule& rule, int rank) {
  std::vector<const Dim*> dims = trailingDims(rule);
  std::vector<bool> taken(dims.size());
  int leading = rank - static_cast<int>(dims.size());
  std::array<int, 2> axes{-1, -1};
  auto take = [&](size_t position, size_t axis) {
    axes[position] = leading + static_cast<int>(axis);
    taken[axis] = true;
  };
  auto byName = [&](size_t position) {
    const Dim& d = param.tensor.dims[position];
    for (size_t i = 0; i < dims.size(); ++i) {
      if (taken[i] || d.kind != Dim::Kind::Symbol || dims[i]->kind != Dim::Kind::Symbol || dims[i]->name != d.name)
        continue;
      return take(position, i);
    }
  };
  auto byPlace = [&](size_t position) {
    bool named = param.tensor.dims[position].kind == Dim::Kind::Symbol;
    if (axes[position] >= 0 || dims.size() != 2 || taken[position]) return;
    if (!named || dims[position]->kind != Dim::Kind::Symbol) take(position, position);
  };
  for (size_t position : {0, 1}) byName(position);
  for (size_t position : {0, 1}) byPlace(position);
  return axes;
}

AxisMap mapOperand(const lang::KernelParam& param, const lang::TensorRule& rule, const Shape& shape,
                   const Shape& batch) {
  AxisMap map;
  int leading = leadingAxes(rule, shape.rank());
  for (int d = 0; d < batch.rank(); ++d) {
    int axis = d - (batch.rank() - leading);
    bool repeats = axis < 0 || (shape[axis] == 1 && batch[d] != 1);
    map.axes[map.count++] = repeats ? -1 : axis;
  }
  for (int axis : axesOf(param, rule, shape.rank())) map.axes[map.count++] = axis;
  return map;
}

} // namespace tegula::matrix
