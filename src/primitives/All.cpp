// The list of all primitives, and the search by name.
#include "primitives/Families.h"

#include "absl/container/flat_hash_map.h"
#include <cassert>
#include <vector>

namespace tegula {
namespace {

struct Table {
  std::vector<const Primitive*> all;
  absl::flat_hash_map<Symbol, const Primitive*> byName;

  void add(std::span<const Primitive> family) {
    for (const Primitive& p : family) {
      all.push_back(&p);
      bool fresh = byName.emplace(p.name, &p).second;
      assert(fresh && "two primitives of one name");
      (void)fresh;
    }
  }
};

const Table& table() {
  static const Table* t = [] {
    auto* made = new Table; // never destroyed: others keep pointers until the very end
    made->add(unaryPrimitives());
    made->add(logicPrimitives());
    made->add(arithmeticPrimitives());
    made->add(comparePrimitives());
    made->add(choosePrimitives());
    made->add(broadcastPrimitives());
    made->add(reducePrimitives());
    made->add(argExtremePrimitives());
    made->add(contractPrimitives());
    made->add(convolutionPrimitives());
    made->add(gatherPrimitives());
    made->add(gatherElementsPrimitives());
    made->add(viewPrimitives());
    made->add(movePrimitives());
    made->add(sourcePrimitives());
    made->add(randomPrimitives());
    made->add(sortPrimitives());
    made->add(scanPrimitives());
    made->add(relayoutPrimitives());
    return made;
  }();
  return *t;
}

} // namespace

const Primitive* findPrimitive(Symbol name) {
  auto it = table().byName.find(name);
  return it == table().byName.end() ? nullptr : it->second;
}

std::span<const Primitive* const> allPrimitives() { return table().all; }

} // namespace tegula
