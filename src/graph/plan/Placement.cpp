// In-place assigns, output buffers and aliases.
#include "graph/plan/Placement.h"
#include "graph/Emit.h"
#include "primitives/InferRules.h"
#include <algorithm>

namespace tegula {

std::vector<std::vector<int32_t>> consumersOf(const LaunchList& list) {
  std::vector<std::vector<int32_t>> writers(list.storages.size()), consumers(list.launches.size());
  for (int32_t i = 0; i < static_cast<int32_t>(list.launches.size()); ++i) {
    for (int32_t s : list.launches[i].reads)
      for (int32_t w : writers[s])
        if (w != i && (consumers[w].empty() || consumers[w].back() != i)) consumers[w].push_back(i);
    for (int32_t s : list.launches[i].writes) writers[s].push_back(i);
  }
  return consumers;
}

namespace {

/// The group is elementwise throughout (one loop, one pass), and every use of body input `k` is at the same element.
bool usedElementwise(const Unit& unit, size_t k) {
  const Graph& body = unit.group.body;
  int32_t input = body.inputs()[k].node;
  const Shape& shape = body.node(input).results[0].shape;
  std::vector<bool> depends(body.nodes().size(), false);
  depends[input] = true;
  for (int32_t i = 0; i < static_cast<int32_t>(body.nodes().size()); ++i) {
    const Node& n = body.node(i);
    if (n.kind == Node::Kind::Input) continue;
    if (n.kind != Node::Kind::Primitive) return false;
    PrimitiveKind kind = findPrimitive(n.op)->kind;
    bool onePass =
        kind == PrimitiveKind::Elementwise || kind == PrimitiveKind::Broadcast || kind == PrimitiveKind::Source;
    if (!onePass) return false;
    for (Value v : n.inputs) depends[i] = depends[i] || depends[v.node];
    if (depends[i] && (kind != PrimitiveKind::Elementwise || n.results[0].shape != shape)) return false;
  }
  return isRowMajor(unit.inputs[k].layout, shape);
}

class Placer {
public:
  Placer(const Graph& g, const LayoutResult& layout, LaunchList& list, const TargetModel& target)
      : g_(g), layout_(layout), list_(list), target_(target) {}

  StatusOr<PlacementResult> run() {
    result_.targets.resize(list_.storages.size());
    for (size_t s = 0; s < list_.storages.size(); ++s) {
      const Storage& storage = list_.storages[s];
      if (storage.kind == Storage::Kind::Input) result_.targets[s] = {BufferRef::Space::Input, storage.index};
      if (storage.kind == Storage::Kind::Constant) result_.targets[s] = {BufferRef::Space::Constant, storage.index};
    }
    consumers_ = consumersOf(list_);
    std::vector<size_t> late;
    for (size_t a = 0; a < g_.assigns().size(); ++a)
      if (!assignInPlace(a)) late.push_back(a);
    TG_RETURN_IF_ERROR(placeOutputs()); // before the late copies: an output may be the old content of a state
    TG_RETURN_IF_ERROR(copyLate(late));
    return std::move(result_);
  }

private:
  bool pinned(int32_t storage) const { return result_.targets[storage].space != BufferRef::Space::Arena; }
  int64_t bytesOf(Value v) const { return g_.typeOf(v).sizeBytes(); }
  /// The whole of a temporary that only this value occupies.
  bool wholeTemporary(const Place& p, Value v) const {
    return !pinned(p.storage) && p.offsetBytes == 0 && list_.storages[p.storage].sizeBytes == bytesOf(v);
  }

  std::vector<int32_t> launchesWith(int32_t storage, bool writing) const {
    std::vector<int32_t> found;
    for (int32_t i = 0; i < static_cast<int32_t>(list_.launches.size()); ++i) {
      const std::vector<int32_t>& list = writing ? list_.launches[i].writes : list_.launches[i].reads;
      if (std::find(list.begin(), list.end(), storage) != list.end()) found.push_back(i);
    }
    return found;
  }

  /// The value's producer writes into the state's buffer: every reader of the old value runs before it, or is it.
  bool assignInPlace(size_t a) {
    const Graph::Assign& assign = g_.assigns()[a];
    const Place& p = layout_.assigned[a];
    if (p.storage == assign.input) return true; // assigned to itself
    if (!wholeTemporary(p, assign.value)) return false;
    std::vector<int32_t> writers = launchesWith(p.storage, true);
    if (writers.size() != 1) return false;
    int32_t writer = writers[0];
    std::vector<int32_t> readers = launchesWith(assign.input, false);
    std::vector<bool> after = reachable(writer);
    for (int32_t r : readers) {
      if (r == writer ? !readsSameElement(writer, assign.input) : after[r]) return false;
    }
    for (int32_t r : readers)
      if (r != writer) addOrder(r, writer);
    result_.targets[p.storage] = {BufferRef::Space::Input, assign.input};
    return true;
  }

  void addOrder(int32_t earlier, int32_t later) {
    result_.order.emplace_back(earlier, later);
    consumers_[earlier].push_back(later);
  }

  std::vector<bool> reachable(int32_t from) const {
    std::vector<bool> seen(list_.launches.size(), false);
    std::vector<int32_t> stack{from};
    while (!stack.empty()) {
      int32_t i = stack.back();
      stack.pop_back();
      for (int32_t c : consumers_[i])
        if (!seen[c]) {
          seen[c] = true;
          stack.push_back(c);
        }
    }
    return seen;
  }

  bool readsSameElement(int32_t launch, int32_t input) const {
    const Unit& unit = layout_.units[list_.launches[launch].unit];
    int dispatches = 0;
    for (const Launch& l : list_.launches) dispatches += l.unit == list_.launches[launch].unit;
    if (dispatches != 1) return false;
    for (size_t k = 0; k < unit.inputs.size(); ++k)
      if (unit.inputs[k].storage == input && !usedElementwise(unit, k)) return false;
    return true;
  }

  // ---- what could not be computed in place

  /// Copies run after everything else; a value that is itself the old content of a state assigned here is saved first.
  Status copyLate(const std::vector<size_t>& late) {
    std::vector<Place> sources;
    for (size_t a : late) {
      Place from = layout_.assigned[a];
      if (overwritten(from)) {
        TG_ASSIGN_OR_RETURN(from, saved(g_.assigns()[a].value, from));
      }
      sources.push_back(from);
    }
    int32_t before = static_cast<int32_t>(list_.launches.size());
    for (size_t k = 0; k < late.size(); ++k) {
      const Graph::Assign& assign = g_.assigns()[late[k]];
      Place to{assign.input, 0, Layout::rowMajor(g_.typeOf(assign.value).shape)};
      TG_ASSIGN_OR_RETURN(int32_t copy, addCopy(assign.value, sources[k], to));
      if (copy < 0) continue;
      for (int32_t r : launchesWith(assign.input, false))
        if (r < before) result_.order.emplace_back(r, copy);
    }
    return OkStatus();
  }

  /// A place in a state's buffer that some assign writes to.
  bool overwritten(const Place& p) const {
    const StorageTarget& t = result_.targets[p.storage];
    return t.space == BufferRef::Space::Input && p.storage == t.index &&
           std::any_of(g_.assigns().begin(), g_.assigns().end(),
                       [&](const Graph::Assign& a) { return a.input == t.index; });
  }

  StatusOr<Place> saved(Value v, const Place& from) {
    list_.storages.push_back({Storage::Kind::Temporary, -1, bytesOf(v), fmt::format("copy of %{}", v.node)});
    result_.targets.push_back({});
    Place to{static_cast<int32_t>(list_.storages.size()) - 1, 0, Layout::rowMajor(g_.typeOf(v).shape)};
    TG_ASSIGN_OR_RETURN(int32_t copy, addCopy(v, from, to));
    if (copy >= 0) orderBeforeOverwrite(from, copy);
    return to;
  }

  /// The launch that copies; -1 where there is nothing to copy.
  StatusOr<int32_t> addCopy(Value v, const Place& from, const Place& to) {
    Graph body(g_.libraryPtr());
    const TensorType& t = g_.typeOf(v);
    Value in = body.addInput("x", t);
    Emit e(body);
    body.outputs().push_back(e.primitive("cast", {in}, {{attr::dtype, t.dtype}}));
    LayoutResult one;
    one.units.push_back({Group{std::move(body), {from.layout}, {to.layout}, "copy"}, {from}, {to}, true});
    TG_ASSIGN_OR_RETURN(LaunchList launches, scheduleUnits(one, target_));
    if (!launches.storages.empty() || launches.launches.size() > 1) return internal("a copy needs temporaries");
    if (launches.launches.empty()) return -1;
    launches.launches[0].unit = -1;
    list_.launches.push_back(std::move(launches.launches[0]));
    return static_cast<int32_t>(list_.launches.size()) - 1;
  }

  // ---- outputs

  Status placeOutputs() {
    for (size_t o = 0; o < g_.outputs().size(); ++o) {
      Value v = g_.outputs()[o];
      const Place& p = layout_.outputs[o];
      if (wholeTemporary(p, v)) result_.targets[p.storage] = {BufferRef::Space::Output, static_cast<int32_t>(o)};
      const StorageTarget& t = result_.targets[p.storage];
      bool keeps = t.space == BufferRef::Space::Output || (t.space == BufferRef::Space::Input && !overwritten(p));
      if (keeps) {
        result_.outputPlaces.push_back({t.space, t.index, p.offsetBytes});
        continue;
      }
      int32_t s = static_cast<int32_t>(list_.storages.size());
      list_.storages.push_back({Storage::Kind::Temporary, -1, bytesOf(v), fmt::format("output {}", o)});
      result_.targets.push_back({BufferRef::Space::Output, static_cast<int32_t>(o)});
      TG_ASSIGN_OR_RETURN(int32_t copy, addCopy(v, p, Place{s, 0, Layout::rowMajor(g_.typeOf(v).shape)}));
      if (copy >= 0 && overwritten(p)) orderBeforeOverwrite(p, copy);
      result_.outputPlaces.push_back({BufferRef::Space::Output, static_cast<int32_t>(o), 0});
    }
    return OkStatus();
  }

  /// `reader` reads the old content of the state at `p`: before any launch that writes the state.
  void orderBeforeOverwrite(const Place& p, int32_t reader) {
    int32_t state = p.storage;
    for (int32_t i = 0; i < reader; ++i)
      for (int32_t s : list_.launches[i].writes)
        if (result_.targets[s].space == BufferRef::Space::Input && result_.targets[s].index == state) {
          result_.order.emplace_back(reader, i);
          break;
        }
  }

  const Graph& g_;
  const LayoutResult& layout_;
  LaunchList& list_;
  const TargetModel& target_;
  PlacementResult result_;
  std::vector<std::vector<int32_t>> consumers_;
};

} // namespace

StatusOr<PlacementResult> placeResults(const Graph& g, const LayoutResult& layout, LaunchList& list,
                                       const TargetModel& target) {
  return Placer(g, layout, list, target).run();
}

} // namespace tegula
