// Casts folded into one another, and moved towards the computation so that a value viewed in several ways is cast once.
#include "graph/passes/simplify/Simplifier.h"
#include "primitives/InferRules.h"

namespace tegula {

namespace {

const Symbol kCast = "cast", kSlice = "slice", kTranspose = "transpose", kReshape = "reshape";

/// Every value of `from` is a value of `to`.
bool widens(DType from, DType to) {
  if (from == to) return true;
  if (to == DType::F64) return from == DType::F32 || from == DType::BF16 || from == DType::F16;
  return to == DType::F32 && (from == DType::BF16 || from == DType::F16);
}

const Node* viewOf(Simplifier& s, Value v) {
  for (Symbol op : {kTranspose, kReshape, kSlice})
    if (const Node* n = s.producer(v, op)) return n;
  return nullptr;
}

Value cast(Simplifier& s, Symbol op, std::span<const Value> in, const Attributes& attrs) {
  DType to = attrs.getDType(attr::dtype);
  if (s.typeOf(in[0]).dtype == to) return in[0];
  if (const Node* inner = s.producer(in[0], kCast)) {
    // Through a wider type nothing is lost: one cast from the source does.
    DType source = s.typeOf(inner->inputs[0]).dtype;
    if (widens(source, s.typeOf(in[0]).dtype)) return s.make(kCast, {inner->inputs[0]}, attrs);
  }
  const Node* view = viewOf(s, in[0]);
  if (!view) return {};
  // cast(view(x)) is view(cast(x)); for a slice only where what is cast is computed anyway.
  if (view->op == kSlice && s.isInput(view->inputs[0])) return {};
  Symbol viewOp = view->op;
  Attributes viewAttrs = view->attrs;
  Value whole = s.make(op, {view->inputs[0]}, attrs);
  if (!whole.present()) return {};
  return s.make(viewOp, {whole}, viewAttrs);
}

} // namespace

std::span<const NamedRule> castSimplifications() {
  static const NamedRule table[] = {{"cast", cast}};
  return table;
}

} // namespace tegula
