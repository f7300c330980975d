// The table of built-in functions and what their groups share.
#include "lang/Builtins.h"
#include "absl/container/flat_hash_map.h"
#include "lang/Diagnostics.h"
#include <algorithm>

namespace tegula::lang {

namespace {
const absl::flat_hash_map<Symbol, const Builtin*>& table() {
  static const auto* t = [] {
    auto* made = new absl::flat_hash_map<Symbol, const Builtin*>(); // never destroyed
    for (std::span<const Builtin> group : {mathBuiltins(), reductionBuiltins(), shapeBuiltins()})
      for (const Builtin& b : group) made->emplace(b.signature.name, &b);
    return made;
  }();
  return *t;
}
} // namespace

const Builtin* findBuiltin(Symbol name) {
  auto it = table().find(name);
  return it == table().end() ? nullptr : it->second;
}

std::vector<Symbol> builtinNames() {
  std::vector<Symbol> names;
  for (const auto& [name, b] : table()) names.push_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

StatusOr<Shape> toShape(const Operand& o) {
  if (o.integer()) return Shape{*o.integer()};
  const Sequence* q = o.sequence();
  if (!q) return refused(DiagnosticId::OperandType, "expected a tuple of integers, found {}", describe(o));
  if (q->size() > kMaxRank) return invalid("{} axes; a tensor has at most {}", q->size(), kMaxRank);
  Shape s;
  for (const Operand& x : *q) {
    if (!x.integer())
      return refused(DiagnosticId::OperandType, "expected a tuple of integers, found {} in it", describe(x));
    s.push_back(*x.integer());
  }
  return s;
}

StatusOr<std::pair<int64_t, int64_t>> sliceBounds(const Operand& start, const Operand& stop, int64_t step,
                                                  int64_t extent) {
  if (step == 0) return refused(DiagnosticId::ConstantArithmetic, "a slice's step is 0; expected another number");
  step = std::clamp(step, -extent - 1, extent + 1); // a longer one takes the first element just the same
  auto clip = [&](const Operand& o, int64_t fallback) {
    int64_t i = o.integer() ? *o.integer() : fallback;
    if (o.integer() && i < 0) i += extent;
    return step > 0 ? std::clamp<int64_t>(i, 0, extent) : std::clamp<int64_t>(i, -1, extent - 1);
  };
  if (!start.isNone() && !start.integer())
    return invalid("a slice's start is {}; expected an integer", describe(start));
  if (!stop.isNone() && !stop.integer()) return invalid("a slice's stop is {}; expected an integer", describe(stop));
  int64_t begin = clip(start, step > 0 ? 0 : extent - 1);
  int64_t end = stop.isNone() ? (step > 0 ? extent : -1) : clip(stop, 0);
  int64_t size = step > 0 ? (end - begin + step - 1) / step : (begin - end - step - 1) / -step;
  return std::pair(begin, std::max<int64_t>(size, 0));
}

} // namespace tegula::lang
