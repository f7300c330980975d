// Built-ins that move, make or index elements: views, pieces, gathers, sources, convolution.
#include "lang/Builtins.h"
#include "lang/Diagnostics.h"
#include <cmath>

namespace tegula::lang {

namespace {

using Args = std::span<const Operand>;
const Symbol kAxis = "axis", kSize = "size", kShape = "shape", kDType = "dtype", kLow = "low", kHigh = "high",
             kInterior = "interior", kValue = "value", kStrides = "strides", kPadLow = "pad_low", kPadHigh = "pad_high",
             kDilation = "dilation", kGroups = "groups", kStream = "stream";

StatusOr<Operand> transpose(Emitter& e, Args a) {
  Value x = *a[0].tensor();
  if (a[1].isNone()) {
    TG_ASSIGN_OR_RETURN(Value v, e.swapLast(x));
    return Operand(v);
  }
  TG_ASSIGN_OR_RETURN(Shape p, toShape(a[1]));
  if (p.rank() != e.rank(x)) return invalid("transpose: {} axes for a tensor of rank {}", p.rank(), e.rank(x));
  for (int i = 0; i < p.rank(); ++i) {
    TG_ASSIGN_OR_RETURN(p[i], Emitter::normalizeAxis(p[i], p.rank()));
  }
  TG_ASSIGN_OR_RETURN(Value v, e.transpose(x, p));
  return Operand(v);
}

StatusOr<Operand> reshape(Emitter& e, Args a) {
  TG_ASSIGN_OR_RETURN(Shape s, toShape(a[1]));
  TG_ASSIGN_OR_RETURN(Value v, e.reshape(*a[0].tensor(), s));
  return Operand(v);
}

StatusOr<Operand> broadcastTo(Emitter& e, Args a) {
  TG_ASSIGN_OR_RETURN(Shape s, toShape(a[1]));
  TG_ASSIGN_OR_RETURN(Value v, e.broadcastTo(*a[0].tensor(), s));
  return Operand(v);
}

/// slice(x, start, stop, step): one number per axis each, as Python's slices.
StatusOr<Operand> slice(Emitter& e, Args a) {
  Value x = *a[0].tensor();
  Shape from = e.shape(x);
  TG_ASSIGN_OR_RETURN(Shape start, toShape(a[1]));
  TG_ASSIGN_OR_RETURN(Shape stop, toShape(a[2]));
  Shape step;
  for (int i = 0; i < from.rank(); ++i) step.push_back(1);
  if (!a[3].isNone()) {
    TG_ASSIGN_OR_RETURN(step, toShape(a[3]));
  }
  if (start.rank() != from.rank() || stop.rank() != from.rank() || step.rank() != from.rank())
    return invalid("slice: start, stop and step need one number for each of the {} axes", from.rank());
  Shape starts, sizes;
  for (int i = 0; i < from.rank(); ++i) {
    TG_ASSIGN_OR_RETURN(auto bounds, sliceBounds(Operand(start[i]), Operand(stop[i]), step[i], from[i]));
    starts.push_back(bounds.first);
    sizes.push_back(bounds.second);
  }
  TG_ASSIGN_OR_RETURN(Value v, e.slice(x, starts, sizes, step));
  return Operand(v);
}

constexpr double kWhole = 0x1p53; // floats below are exact integers

/// A whole float as an integer where the type is one of integers: operators like `pad` and `clamp` have float
/// attributes. Any other operand as it is.
Operand wholeFor(const Operand& value, DType d) {
  if (!isInteger(d) || !value.isNumber() || value.integer()) return value;
  double x = value.number();
  return x == std::floor(x) && std::fabs(x) < kWhole ? Operand(static_cast<int64_t>(x)) : value;
}

/// The value around a padded tensor.
StatusOr<double> padding(const Operand& value, DType d) {
  if (value.isNone()) return 0.0;
  double x = value.number();
  if (d == DType::Bool && x != 0 && x != 1)
    return refused(DiagnosticId::OperandType, "{} cannot stand for an element of bool; write 0 or 1", describe(value));
  if (value.integer() && isInteger(d) && std::fabs(x) >= kWhole)
    return refused(DiagnosticId::ConstantArithmetic, "the value {} is past 2^53, so rounded; concatenate with full(…)",
                   *value.integer());
  if (isInteger(d)) TG_RETURN_IF_ERROR(elementOf(wholeFor(value, d), d).status());
  return x;
}

StatusOr<Operand> pad(Emitter& e, Args a) {
  static const Symbol name = "pad";
  TG_ASSIGN_OR_RETURN(Shape low, toShape(a[1]));
  TG_ASSIGN_OR_RETURN(Shape high, toShape(a[2]));
  Shape interior;
  for (int i = 0; i < low.rank(); ++i) interior.push_back(0);
  if (!a[4].isNone()) {
    TG_ASSIGN_OR_RETURN(interior, toShape(a[4]));
  }
  TG_ASSIGN_OR_RETURN(double value, padding(a[3], e.type(*a[0].tensor()).dtype));
  TG_ASSIGN_OR_RETURN(
      Value v, e.apply(name, {*a[0].tensor()}, {{kLow, low}, {kHigh, high}, {kInterior, interior}, {kValue, value}}));
  return Operand(v);
}

StatusOr<Operand> concatenate(Emitter& e, Args a) {
  static const Symbol name = "concatenate";
  Values parts;
  for (const Operand& o : *a[0].sequence()) {
    if (!o.tensor()) return invalid("concatenate: {} among the parts; expected tensors", describe(o));
    parts.push_back(*o.tensor());
  }
  if (parts.empty()) return invalid("concatenate: no parts; expected one tensor or more");
  TG_ASSIGN_OR_RETURN(int64_t axis, Emitter::normalizeAxis(a[1].integer() ? *a[1].integer() : 0, e.rank(parts[0])));
  TG_ASSIGN_OR_RETURN(Value v, e.apply(name, std::span<const Value>(parts.data(), parts.size()), {{kAxis, axis}}));
  return Operand(v);
}

StatusOr<Operand> iota(Emitter& e, Args a) {
  static const Symbol name = "iota";
  TG_ASSIGN_OR_RETURN(Shape s, toShape(a[0]));
  TG_ASSIGN_OR_RETURN(int64_t axis, Emitter::normalizeAxis(a[1].integer() ? *a[1].integer() : 0, s.rank()));
  DType d = a[2].dtype() ? *a[2].dtype() : DType::I64;
  if (s.rank() > 0 && s[static_cast<int>(axis)] > 0) TG_RETURN_IF_ERROR(fitsType(s[static_cast<int>(axis)] - 1, d));
  TG_ASSIGN_OR_RETURN(Value v,
                      e.apply(name, std::initializer_list<Value>{}, {{kShape, s}, {kAxis, axis}, {kDType, d}}));
  return Operand(v);
}

StatusOr<Operand> full(Emitter& e, Args a) {
  TG_ASSIGN_OR_RETURN(Shape s, toShape(a[0]));
  DType d = a[2].dtype() ? *a[2].dtype() : DType::F32;
  TG_ASSIGN_OR_RETURN(Value v, e.fill(wholeFor(a[1], d), d, s));
  return Operand(v);
}

StatusOr<Operand> zerosLike(Emitter& e, Args a) {
  TensorType t = e.type(*a[0].tensor());
  Operand zero = t.dtype == DType::Bool ? Operand(false) : Operand(int64_t{0});
  TG_ASSIGN_OR_RETURN(Value v, e.fill(zero, t.dtype, t.shape));
  return Operand(v);
}

/// take, gather_elements: (x, indices, axis).
template <bool kElements> StatusOr<Operand> gather(Emitter& e, Args a) {
  static const Symbol name = kElements ? "gather_elements" : "gather";
  TG_ASSIGN_OR_RETURN(int64_t axis,
                      Emitter::normalizeAxis(a[2].integer() ? *a[2].integer() : 0, e.rank(*a[0].tensor())));
  TG_ASSIGN_OR_RETURN(Value v, e.apply(name, {*a[0].tensor(), *a[1].tensor()}, {{kAxis, axis}}));
  return Operand(v);
}

/// segment_sum, scatter_elements_add: (updates, indices, axis, size).
template <bool kElements> StatusOr<Operand> scatter(Emitter& e, Args a) {
  static const Symbol name = kElements ? "scatter_elements_add" : "scatter_add";
  int rank = kElements ? e.rank(*a[0].tensor()) : e.rank(*a[0].tensor()) - e.rank(*a[1].tensor()) + 1;
  TG_ASSIGN_OR_RETURN(int64_t axis, Emitter::normalizeAxis(*a[2].integer(), rank));
  TG_ASSIGN_OR_RETURN(Value v,
                      e.apply(name, {*a[0].tensor(), *a[1].tensor()}, {{kAxis, axis}, {kSize, *a[3].integer()}}));
  return Operand(v);
}

StatusOr<Operand> convolution(Emitter& e, Args a) {
  static const Symbol name = "convolution";
  int spatial = std::max(e.rank(*a[0].tensor()) - 2, 0);
  auto perAxis = [&](const Operand& o, int64_t fallback) -> StatusOr<Shape> {
    Shape s;
    if (o.sequence()) return toShape(o);
    for (int i = 0; i < spatial; ++i) s.push_back(o.integer() ? *o.integer() : fallback);
    return s;
  };
  TG_ASSIGN_OR_RETURN(Shape strides, perAxis(a[2], 1));
  TG_ASSIGN_OR_RETURN(Shape padding, perAxis(a[3], 0));
  TG_ASSIGN_OR_RETURN(Shape dilation, perAxis(a[4], 1));
  int64_t groups = a[5].integer() ? *a[5].integer() : 1;
  TG_ASSIGN_OR_RETURN(
      Value v,
      e.apply(
          name, {*a[0].tensor(), *a[1].tensor()},
          {{kStrides, strides}, {kPadLow, padding}, {kPadHigh, padding}, {kDilation, dilation}, {kGroups, groups}}));
  return Operand(v);
}

StatusOr<Operand> randomUniform(Emitter& e, Args a) {
  static const Symbol name = "random_uniform";
  TG_ASSIGN_OR_RETURN(Shape s, toShape(a[2]));
  DType d = a[4].dtype() ? *a[4].dtype() : DType::F32;
  TG_ASSIGN_OR_RETURN(
      Value v, e.apply(name, {*a[0].tensor(), *a[1].tensor()}, {{kShape, s}, {kStream, *a[3].integer()}, {kDType, d}}));
  return Operand(v);
}

StatusOr<Operand> rank(Emitter& e, Args a) { return Operand(int64_t{e.rank(*a[0].tensor())}); }
StatusOr<Operand> length(Emitter&, Args a) {
  const Sequence* s = a[0].sequence();
  return Operand(s ? static_cast<int64_t>(s->size()) : int64_t{0});
}

/// range(stop), range(start, stop), range(start, stop, step): the integers, for loops.
StatusOr<Operand> range(Emitter&, Args a) {
  auto given = [&](size_t i, int64_t otherwise) {
    const int64_t* number = a[i].integer();
    return number ? *number : otherwise;
  };
  bool onlyStop = a[1].isNone();
  int64_t start = onlyStop ? 0 : given(0, 0), stop = given(onlyStop ? 0 : 1, 0), step = given(2, 1);
  if (step == 0) return refused(DiagnosticId::ConstantArithmetic, "range: the step is 0; expected another number");
  Sequence q;
  for (int64_t i = start; step > 0 ? i < stop : i > stop;) {
    if (static_cast<int64_t>(q.size()) == kMostElements) // a body is unrolled; more is a mistake
      return refused(DiagnosticId::TupleSize, "range({}, {}, {}) has more than {} steps", start, stop, step,
                     kMostElements);
    q.emplace_back(i);
    if (__builtin_add_overflow(i, step, &i)) break;
  }
  return Operand(std::move(q));
}

} // namespace

std::span<const Builtin> shapeBuiltins() {
  using namespace kind;
  static const std::vector<Builtin> table = [] {
    std::vector<Builtin> t;
    constexpr Kinds ints = Int | Tuple;
    t.push_back({{"transpose", {{"x", Tensor}, {"permutation", Tuple, false}}, Tensor}, transpose});
    t.push_back({{"reshape", {{"x", Tensor}, {"shape", ints}}, Tensor}, reshape});
    t.push_back({{"broadcast_to", {{"x", Tensor}, {"shape", ints}}, Tensor}, broadcastTo});
    t.push_back(
        {{"slice", {{"x", Tensor}, {"start", ints}, {"stop", ints}, {"step", Kinds(ints | None), false}}, Tensor},
         slice});
    t.push_back({{"pad",
                  {{"x", Tensor},
                   {"low", ints},
                   {"high", ints},
                   {"value", Number, false},
                   {"interior", Kinds(ints | None), false}},
                  Tensor},
                 pad});
    t.push_back({{"concatenate", {{"xs", Tuple}, {"axis", Int, false}}, Tensor}, concatenate});
    t.push_back({{"iota", {{"shape", ints}, {"axis", Int, false}, {"dtype", kind::DType, false}}, Tensor}, iota});
    t.push_back(
        {{"full", {{"shape", ints}, {"value", Kinds(Number | Bool)}, {"dtype", kind::DType, false}}, Tensor}, full});
    t.push_back({{"zeros_like", {{"x", Tensor}}, Tensor}, zerosLike});
    t.push_back({{"take", {{"x", Tensor}, {"indices", Tensor}, {"axis", Int, false}}, Tensor}, gather<false>});
    t.push_back({{"gather_elements", {{"x", Tensor}, {"indices", Tensor}, {"axis", Int}}, Tensor}, gather<true>});
    t.push_back({{"segment_sum", {{"updates", Tensor}, {"indices", Tensor}, {"axis", Int}, {"size", Int}}, Tensor},
                 scatter<false>});
    t.push_back(
        {{"scatter_elements_add", {{"updates", Tensor}, {"indices", Tensor}, {"axis", Int}, {"size", Int}}, Tensor},
         scatter<true>});
    t.push_back({{"convolution",
                  {{"x", Tensor},
                   {"w", Tensor},
                   {"stride", ints, false},
                   {"padding", ints, false},
                   {"dilation", ints, false},
                   {"groups", Int, false}},
                  Tensor},
                 convolution});
    t.push_back({{"random_uniform",
                  {{"seed", Tensor}, {"step", Tensor}, {"shape", ints}, {"stream", Int}, {"dtype", kind::DType, false}},
                  Tensor},
                 randomUniform});
    t.push_back({{"rank", {{"x", Tensor}}, Int}, rank});
    t.push_back({{"len", {{"xs", Tuple}}, Int}, length});
    t.push_back(
        {{"range", {{"start", Int}, {"stop", Kinds(Int | None), false}, {"step", Kinds(Int | None), false}}, Tuple},
         range});
    return t;
  }();
  return table;
}

} // namespace tegula::lang
