// Built-ins that fold or order axes: sums, extremes, scans, sorts.
#include "lang/Builtins.h"
#include "lang/Diagnostics.h"
#include <algorithm>

namespace tegula::lang {

namespace {

using Args = std::span<const Operand>;

/// None: all axes; an integer or a tuple: those, from the end when negative; in increasing order.
StatusOr<Shape> reductionAxes(const Operand& o, int rank) {
  Shape axes;
  if (o.isNone()) {
    for (int i = 0; i < rank; ++i) axes.push_back(i);
    return axes;
  }
  TG_ASSIGN_OR_RETURN(Shape given, toShape(o));
  std::vector<int64_t> sorted;
  for (int64_t a : given) {
    TG_ASSIGN_OR_RETURN(int64_t axis, Emitter::normalizeAxis(a, rank));
    sorted.push_back(axis);
  }
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < sorted.size(); ++i) {
    if (i > 0 && sorted[i] == sorted[i - 1]) return invalid("axis {} is given twice", sorted[i]);
    axes.push_back(sorted[i]);
  }
  return axes;
}

bool flag(const Operand& o) { return o.boolean() && *o.boolean(); }

StatusOr<Operand> fold(Emitter& e, Args a, Symbol primitive) {
  TG_ASSIGN_OR_RETURN(Shape axes, reductionAxes(a[1], e.rank(*a[0].tensor())));
  TG_ASSIGN_OR_RETURN(Value v, e.reduce(primitive, *a[0].tensor(), axes, flag(a[2])));
  return Operand(v);
}

StatusOr<Operand> sum(Emitter& e, Args a) {
  static const Symbol name = "reduce_sum";
  return fold(e, a, name);
}
StatusOr<Operand> prod(Emitter& e, Args a) {
  static const Symbol name = "reduce_prod";
  return fold(e, a, name);
}

/// max(x, axis, keepdim) of a tensor; max(a, b) of two numbers.
template <bool kMax> StatusOr<Operand> extreme(Emitter& e, Args a) {
  static const Symbol name = kMax ? "reduce_max" : "reduce_min";
  if (a[0].tensor()) return fold(e, a, name);
  auto choose = [](auto x, auto y) { return kMax ? std::max(x, y) : std::min(x, y); };
  if (a[0].integer() && a[1].integer()) return Operand(choose(*a[0].integer(), *a[1].integer()));
  if (a[0].isNumber() && a[1].isNumber()) return Operand(choose(a[0].number(), a[1].number()));
  return invalid("expected a tensor, or two numbers; maximum and minimum take two tensors");
}

/// Sum over the axes divided by the number of elements; narrow floats are summed and divided in f32 and rounded once.
StatusOr<Operand> mean(Emitter& e, Args a) {
  static const Symbol kSum = "reduce_sum", kDiv = "div";
  TensorType t = e.type(*a[0].tensor());
  if (!isFloat(t.dtype))
    return refused(DiagnosticId::OperandType, "mean of {}; expected floats; cast it first", toString(t));
  TG_ASSIGN_OR_RETURN(Shape axes, reductionAxes(a[1], t.shape.rank()));
  int64_t count = 1;
  for (int64_t axis : axes) count *= t.shape[static_cast<int>(axis)];
  TG_ASSIGN_OR_RETURN(Value x, e.wide(*a[0].tensor()));
  TG_ASSIGN_OR_RETURN(Value s, e.reduce(kSum, x, axes, flag(a[2])));
  TG_ASSIGN_OR_RETURN(Value m, e.binary(kDiv, Operand(s), Operand(static_cast<double>(count))));
  TG_ASSIGN_OR_RETURN(m, e.cast(m, t.dtype));
  return Operand(m);
}

/// How many elements fold into one along the axes: a constant.
StatusOr<Operand> count(Emitter& e, Args a) {
  Shape from = e.shape(*a[0].tensor());
  TG_ASSIGN_OR_RETURN(Shape axes, reductionAxes(a[1], from.rank()));
  int64_t n = 1;
  for (int64_t axis : axes)
    if (__builtin_mul_overflow(n, from[static_cast<int>(axis)], &n)) {
      return refused(DiagnosticId::ConstantArithmetic, "the count does not fit 64 bits");
    }
  return Operand(n);
}

/// The same elements without axes of extent 1.
StatusOr<Operand> squeeze(Emitter& e, Args a) {
  Shape from = e.shape(*a[0].tensor()), to;
  TG_ASSIGN_OR_RETURN(Shape axes, reductionAxes(a[1], from.rank()));
  for (int i = 0, next = 0; i < from.rank(); ++i) {
    bool dropped = next < axes.rank() && axes[next] == i;
    if (!dropped) {
      to.push_back(from[i]);
      continue;
    }
    ++next;
    if (from[i] != 1) return invalid("axis {} of {} has extent {}; only 1 can be dropped", i, toString(from), from[i]);
  }
  TG_ASSIGN_OR_RETURN(Value v, e.reshape(*a[0].tensor(), to));
  return Operand(v);
}

template <bool kMax> StatusOr<Operand> argExtreme(Emitter& e, Args a) {
  static const Symbol name = kMax ? "arg_max" : "arg_min", kAxis = "axis", kKeepdim = "keepdim";
  TG_ASSIGN_OR_RETURN(int64_t axis, Emitter::normalizeAxis(*a[1].integer(), e.rank(*a[0].tensor())));
  TG_ASSIGN_OR_RETURN(Value v, e.apply(name, {*a[0].tensor()}, {{kAxis, axis}, {kKeepdim, flag(a[2])}}));
  return Operand(v);
}

StatusOr<Operand> sort(Emitter& e, Args a) {
  static const Symbol name = "sort", kAxis = "axis", kDescending = "descending";
  TG_ASSIGN_OR_RETURN(int64_t axis,
                      Emitter::normalizeAxis(a[1].integer() ? *a[1].integer() : -1, e.rank(*a[0].tensor())));
  Value x[] = {*a[0].tensor()};
  TG_ASSIGN_OR_RETURN(Values v, e.applyAll(name, x, {{kAxis, axis}, {kDescending, flag(a[2])}}));
  return Operand(Sequence{Operand(v[0]), Operand(v[1])});
}

StatusOr<Operand> scan(Emitter& e, Args a) {
  static const Symbol name = "scan", kAxis = "axis", kKind = "kind", kReverse = "reverse";
  TG_ASSIGN_OR_RETURN(int64_t axis, Emitter::normalizeAxis(*a[2].integer(), e.rank(*a[0].tensor())));
  TG_ASSIGN_OR_RETURN(
      Value v, e.apply(name, {*a[0].tensor()}, {{kKind, *a[1].string()}, {kAxis, axis}, {kReverse, flag(a[3])}}));
  return Operand(v);
}

} // namespace

std::span<const Builtin> reductionBuiltins() {
  using namespace kind;
  static const std::vector<Builtin> table = [] {
    std::vector<Builtin> t;
    constexpr Kinds axis = Int | Tuple | None;
    t.push_back({{"sum", {{"x", Tensor}, {"axis", axis, false}, {"keepdim", Bool, false}}, Tensor}, sum});
    t.push_back({{"prod", {{"x", Tensor}, {"axis", axis, false}, {"keepdim", Bool, false}}, Tensor}, prod});
    t.push_back({{"mean", {{"x", Tensor}, {"axis", axis, false}, {"keepdim", Bool, false}}, Tensor}, mean});
    t.push_back({{"count", {{"x", Tensor}, {"axis", axis, false}}, Int}, count});
    t.push_back({{"squeeze", {{"x", Tensor}, {"axis", axis}}, Tensor}, squeeze});
    constexpr Kinds any = Tensor | Number;
    t.push_back(
        {{"max", {{"x", any}, {"axis", Kinds(axis | Float), false}, {"keepdim", Bool, false}}, any}, extreme<true>});
    t.push_back(
        {{"min", {{"x", any}, {"axis", Kinds(axis | Float), false}, {"keepdim", Bool, false}}, any}, extreme<false>});
    t.push_back({{"arg_max", {{"x", Tensor}, {"axis", Int}, {"keepdim", Bool, false}}, Tensor}, argExtreme<true>});
    t.push_back({{"arg_min", {{"x", Tensor}, {"axis", Int}, {"keepdim", Bool, false}}, Tensor}, argExtreme<false>});
    t.push_back({{"sort", {{"x", Tensor}, {"axis", Int, false}, {"descending", Bool, false}}, Tuple, 2}, sort});
    t.push_back({{"scan", {{"x", Tensor}, {"kind", String}, {"axis", Int}, {"reverse", Bool, false}}, Tensor}, scan});
    return t;
  }();
  return table;
}

} // namespace tegula::lang
