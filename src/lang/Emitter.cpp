// Emission of primitives.
#include "lang/Emitter.h"
#include "lang/Diagnostics.h"
#include "primitives/Primitive.h"
#include <algorithm>
#include <array>
#include <cmath>

namespace tegula::lang {

namespace {
const Symbol kBroadcast = "broadcast", kConstant = "constant", kCast = "cast", kContract = "contract",
             kTranspose = "transpose", kReshape = "reshape", kSlice = "slice";
const Symbol kAxes = "axes", kShape = "shape", kValue = "value", kDType = "dtype", kKeepdim = "keepdim",
             kPermutation = "permutation", kStarts = "starts", kSizes = "sizes", kSteps = "steps", kBatchA = "batch_a",
             kBatchB = "batch_b", kContractA = "contract_a", kContractB = "contract_b";

Shape leading(const Shape& s, int count) {
  return Shape(std::span<const int64_t>(s.begin(), static_cast<size_t>(count)));
}
Shape axesUpTo(int n) {
  Shape s;
  for (int i = 0; i < n; ++i) s.push_back(i);
  return s;
}

/// Whether the shapes and attributes are right, so that it is the element types that a primitive refuses: it takes the
/// same shapes of some other types.
bool takesOtherTypes(const Primitive& p, TensorTypes types, const Attributes& attributes) {
  constexpr DType kinds[] = {DType::F32, DType::I64, DType::Bool};
  constexpr size_t kMostInputs = 3; // of primitives whose inputs differ in type
  size_t own = std::min(types.size(), kMostInputs);
  std::array<size_t, kMostInputs> choice{};
  for (;;) {
    for (size_t i = 0; i < types.size(); ++i) types[i].dtype = kinds[choice[std::min(i, own - 1)]];
    if (p.infer(types, attributes).ok()) return true;
    size_t i = 0;
    while (i < own && ++choice[i] == std::size(kinds)) choice[i++] = 0;
    if (i == own) return false;
  }
}
} // namespace

StatusOr<Values> Emitter::applyAll(Symbol primitive, std::span<const Value> inputs, const Attributes& attributes) {
  StatusOr<Values> out = builder_.primitive(primitive, inputs, attributes);
  const Primitive* p = out.ok() || inputs.empty() ? nullptr : findPrimitive(primitive);
  if (!p) return out;
  TensorTypes types;
  for (Value v : inputs) types.push_back(type(v));
  Status s = out.status();
  if (takesOtherTypes(*p, std::move(types), attributes)) attachId(s, DiagnosticId::ElementType);
  return s;
}

StatusOr<Value> Emitter::apply(Symbol primitive, std::initializer_list<Value> inputs, const Attributes& attributes) {
  return apply(primitive, std::span<const Value>(inputs.begin(), inputs.size()), attributes);
}
StatusOr<Value> Emitter::apply(Symbol primitive, std::span<const Value> inputs, const Attributes& attributes) {
  TG_ASSIGN_OR_RETURN(Values out, applyAll(primitive, inputs, attributes));
  return out[0];
}

namespace {
/// The first and the last integer of a type of integers.
std::pair<int64_t, int64_t> rangeOf(DType d) {
  int bits = static_cast<int>(sizeBytes(d)) * 8;
  if (d == DType::U8 || d == DType::U16) return {0, (int64_t{1} << bits) - 1};
  int64_t last = static_cast<int64_t>(~uint64_t{0} >> (65 - bits));
  return {-last - 1, last};
}

} // namespace

Status fitsType(int64_t i, DType d) {
  if (!isInteger(d)) return OkStatus();
  auto [first, last] = rangeOf(d);
  if (first <= i && i <= last) return OkStatus();
  return refused(DiagnosticId::ConstantArithmetic, "{} does not fit {} ({} ... {}); cast the tensor", i, name(d), first,
                 last);
}

StatusOr<AttrValue> elementOf(const Operand& number, DType d) {
  if (const bool* b = number.boolean()) {
    if (d != DType::Bool)
      return refused(DiagnosticId::OperandType, "a bool cannot stand for an element of {}; write 0 or 1", name(d));
    return AttrValue(*b);
  }
  if (isFloat(d)) return AttrValue(number.number());
  if (d == DType::Bool)
    return refused(DiagnosticId::OperandType, "{} cannot stand for an element of bool; write True or False",
                   describe(number));
  const int64_t* i = number.integer();
  if (!i)
    return refused(DiagnosticId::OperandType, "{} cannot stand for an element of {}; cast the tensor first",
                   describe(number), name(d));
  TG_RETURN_IF_ERROR(fitsType(*i, d));
  return AttrValue(*i);
}

StatusOr<Value> Emitter::fill(const Operand& number, DType d, const Shape& shape) {
  TG_ASSIGN_OR_RETURN(AttrValue value, elementOf(number, d));
  TG_ASSIGN_OR_RETURN(Value v, apply(kConstant, std::initializer_list<Value>{}, {{kValue, value}, {kDType, d}}));
  return broadcastTo(v, shape);
}

StatusOr<Value> Emitter::cast(Value v, DType d) {
  if (type(v).dtype == d) return v;
  return apply(kCast, {v}, {{kDType, d}});
}

StatusOr<Value> Emitter::wide(Value v) {
  DType d = type(v).dtype;
  return isFloat(d) && sizeBytes(d) < 4 ? cast(v, DType::F32) : v;
}

StatusOr<Value> Emitter::broadcastTo(Value v, const Shape& target) {
  Shape from = shape(v);
  if (from == target) return v;
  int lead = target.rank() - from.rank();
  bool fits = lead >= 0;
  Shape axes;
  for (int i = 0; fits && i < from.rank(); ++i) {
    fits = from[i] == 1 || from[i] == target[lead + i];
    axes.push_back(lead + i);
  }
  if (!fits)
    return invalid("{} does not broadcast to {}: an axis must be equal or 1, counted from the last", toString(from),
                   toString(target));
  return apply(kBroadcast, {v}, {{kShape, target}, {kAxes, axes}});
}

StatusOr<std::pair<Value, Value>> Emitter::unify(const Operand& a, const Operand& b) {
  const Value *x = a.tensor(), *y = b.tensor();
  if (x && y) {
    TensorType s = type(*x), t = type(*y);
    if (s.dtype != t.dtype)
      return refused(DiagnosticId::OperandType, "{} and {} have different element types; cast one", toString(s),
                     toString(t));
    if (s.shape == t.shape) return std::pair(*x, *y);
    std::optional<Shape> both = broadcastShapes(s.shape, t.shape);
    if (!both)
      return invalid("{} and {} do not broadcast: axes must be equal or 1, counted from the last", toString(s),
                     toString(t));
    TG_ASSIGN_OR_RETURN(Value p, broadcastTo(*x, *both));
    TG_ASSIGN_OR_RETURN(Value q, broadcastTo(*y, *both));
    return std::pair(p, q);
  }
  TensorType t = type(x ? *x : *y);
  TG_ASSIGN_OR_RETURN(Value filled, fill(x ? b : a, t.dtype, t.shape));
  return x ? std::pair(*x, filled) : std::pair(filled, *y);
}

StatusOr<Value> Emitter::binary(Symbol primitive, const Operand& a, const Operand& b) {
  TG_ASSIGN_OR_RETURN(auto both, unify(a, b));
  return apply(primitive, {both.first, both.second});
}

StatusOr<Value> Emitter::matmul(Value a, Value b) {
  Shape s = shape(a), t = shape(b);
  if (s.rank() == 0 || t.rank() == 0) return invalid("'@' of a scalar: {} @ {}; use '*'", toString(s), toString(t));
  int contractA = s.rank() - 1, contractB = t.rank() == 1 ? 0 : t.rank() - 2;
  if (s[contractA] != t[contractB])
    return invalid("'@' of {} and {}: the left has K={} but the right has K={}", toString(s), toString(t), s[contractA],
                   t[contractB]);
  int batchOfB = std::max(t.rank() - 2, 0), batchOfA = std::max(s.rank() - 2, 0);
  Shape batch;
  if (batchOfB > 0 && s.rank() > 1) {
    // Batches on both sides, or on the right only: made equal, so that the result's axes are in order.
    std::optional<Shape> both = broadcastShapes(leading(s, batchOfA), leading(t, batchOfB));
    if (!both) return invalid("'@' of {} and {}: the leading axes do not broadcast", toString(s), toString(t));
    batch = *both;
    Shape sx = batch, tx = batch;
    for (int i = batchOfA; i < s.rank(); ++i) sx.push_back(s[i]);
    for (int i = batchOfB; i < t.rank(); ++i) tx.push_back(t[i]);
    TG_ASSIGN_OR_RETURN(a, broadcastTo(a, sx));
    TG_ASSIGN_OR_RETURN(b, broadcastTo(b, tx));
    contractA = sx.rank() - 1, contractB = tx.rank() - 2;
  }
  Shape axes = axesUpTo(batch.rank());
  return apply(kContract, {a, b},
               {{kBatchA, axes}, {kBatchB, axes}, {kContractA, Shape{contractA}}, {kContractB, Shape{contractB}}});
}

StatusOr<Value> Emitter::reduce(Symbol primitive, Value v, const Shape& axes, bool keepdim) {
  return apply(primitive, {v}, {{kAxes, axes}, {kKeepdim, keepdim}});
}

StatusOr<Value> Emitter::transpose(Value v, const Shape& permutation) {
  if (permutation == axesUpTo(rank(v))) return v;
  return apply(kTranspose, {v}, {{kPermutation, permutation}});
}

StatusOr<Value> Emitter::swapLast(Value v) {
  int n = rank(v);
  if (n < 2) return invalid("transpose of {}: expected two axes or more", toString(type(v)));
  Shape p = axesUpTo(n);
  std::swap(p[n - 1], p[n - 2]);
  return transpose(v, p);
}

StatusOr<Value> Emitter::reshape(Value v, Shape target) {
  Shape from = shape(v);
  int open = -1;
  int64_t known = 1;
  for (int i = 0; i < target.rank(); ++i) {
    if (target[i] == -1 && open < 0)
      open = i;
    else if (target[i] < 0)
      return invalid("reshape of {} to {}: one extent may be -1", toString(from), toString(target));
    else if (__builtin_mul_overflow(known, target[i], &known))
      return invalid("reshape to {} is too large", toString(target));
  }
  int64_t total = from.elements();
  if (open >= 0) {
    if (known == 0 || total % known != 0)
      return invalid("reshape of {} to {}: {} elements are not a multiple of {}", toString(from), toString(target),
                     total, known);
    target[open] = total / known;
    known *= target[open];
  }
  if (known != total)
    return invalid("reshape of {} to {}: {} elements do not become {}", toString(from), toString(target), total, known);
  if (from == target) return v;
  return apply(kReshape, {v}, {{kShape, target}});
}

StatusOr<Value> Emitter::slice(Value v, const Shape& starts, const Shape& sizes, const Shape& steps) {
  bool whole = sizes == shape(v);
  for (int i = 0; whole && i < starts.rank(); ++i) whole = starts[i] == 0 && steps[i] == 1;
  if (whole) return v;
  return apply(kSlice, {v}, {{kStarts, starts}, {kSizes, sizes}, {kSteps, steps}});
}

StatusOr<int64_t> Emitter::normalizeAxis(int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) return invalid("axis {} is outside a tensor of rank {}", axis, rank);
  return axis < 0 ? axis + rank : axis;
}

Operand::Operand(Sequence x) {
  int64_t count = static_cast<int64_t>(x.size());
  int depth = 0;
  for (const Operand& o : x) {
    const TupleValue* t = o.tuple();
    if (!t) continue;
    count = std::min(count + t->count, 2 * kMostElements);
    depth = std::max(depth, t->depth);
  }
  v = std::make_shared<const TupleValue>(TupleValue{std::move(x), count, depth + 1});
}

const Sequence* Operand::sequence() const {
  const TupleValue* t = tuple();
  return t ? &t->elements : nullptr;
}

Operand Operand::of(const AttrValue& a) {
  if (auto p = std::get_if<bool>(&a)) return *p;
  if (auto p = std::get_if<int64_t>(&a)) return *p;
  if (auto p = std::get_if<double>(&a)) return *p;
  if (auto p = std::get_if<Shape>(&a)) return of(*p);
  if (auto p = std::get_if<DType>(&a)) return *p;
  if (auto p = std::get_if<Symbol>(&a)) return *p;
  return {};
}

namespace {
/// A float as it is written: 1.0, for 1 is an integer.
std::string floatText(double x) {
  std::string s = fmt::format("{}", x);
  return s.find_first_not_of("-0123456789") == std::string::npos ? s + ".0" : s;
}
} // namespace

std::string describe(const Operand& o) {
  if (o.tensor()) return "a tensor";
  if (o.integer()) return fmt::format("the integer {}", *o.integer());
  if (o.isNumber()) return fmt::format("the number {}", floatText(o.number()));
  if (o.boolean()) return *o.boolean() ? "True" : "False";
  if (o.dtype()) return fmt::format("the element type {}", name(*o.dtype()));
  if (o.string()) return fmt::format("the string '{}'", o.string()->text());
  if (o.sequence()) return "a tuple";
  return "None";
}

} // namespace tegula::lang
