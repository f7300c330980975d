// Finding the rule of a primitive.
#include "graph/autodiff/Rules.h"
#include "absl/container/flat_hash_map.h"

namespace tegula {

const Rule* findRule(Symbol primitive) {
  static const auto* table = [] {
    auto* t = new absl::flat_hash_map<Symbol, const Rule*>;
    for (auto family : {elementwiseRules(), movementRules(), reductionRules(), contractionRules(), convolutionRules(),
                        indexingRules()})
      for (const Rule& r : family) t->emplace(r.primitive, &r);
    return t;
  }();
  auto it = table->find(primitive);
  return it == table->end() ? nullptr : it->second;
}

bool stopsGradient(Symbol primitive) {
  static const Symbol kFloor = "floor", kSign = "sign", kStop = "stop_gradient";
  return primitive == kFloor || primitive == kSign || primitive == kStop;
}

} // namespace tegula
