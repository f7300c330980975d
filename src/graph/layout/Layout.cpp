// Walks the groups in order. A value's storage is row-major unless an earlier walk found that writing it in another
// order (or into a slice of a concatenation) saves a copy: then the walk is made again with that knowledge.
#include "graph/layout/Layout.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "graph/layout/GroupBody.h"
#include "primitives/InferRules.h"
#include <algorithm>

namespace tegula {

namespace {

const Symbol kCast = "cast", kConstant = "constant", kConcatenate = "concatenate", kRelayout = "relayout",
             kTranspose = "transpose", kReshape = "reshape";

/// How a value produced by a group is stored: through these strides of its own storage, or of the storage of `inside`
/// (a concatenation that is then written in place and is no group of its own).
struct Wish {
  StridedView view;
  Value inside; // absent: its own storage
};
using Wishes = absl::flat_hash_map<Value, Wish>;

/// One walk over all groups.
class Walk {
public:
  Walk(const Graph& g, const Partition& p, const TargetModel& target, const Wishes& wishes)
      : g_(g), partition_(p), target_(target), wishes_(wishes) {}

  StatusOr<LayoutResult> run() {
    for (size_t i = 0; i < g_.inputs().size(); ++i) {
      Value v{g_.inputs()[i].node, 0};
      int32_t s = addStorage({Storage::Kind::Input, static_cast<int32_t>(i), g_.typeOf(v).sizeBytes(),
                              std::string(g_.node(v.node).op.text())});
      placed_[v] = {s, 0, Layout::rowMajor(g_.typeOf(v).shape)};
    }
    for (const auto& [value, wish] : wishes_)
      if (wish.inside.present()) inPlaceConcatenations_.insert(wish.inside.node);
    findUses();
    for (size_t k = 0; k < partition_.groups.size(); ++k) TG_RETURN_IF_ERROR(addGroup(k));
    for (Value v : g_.outputs()) {
      TG_ASSIGN_OR_RETURN(Place p, rowMajorPlace(v));
      result_.outputs.push_back(p);
    }
    for (const Graph::Assign& a : g_.assigns()) {
      TG_ASSIGN_OR_RETURN(Place p, rowMajorPlace(a.value));
      result_.assigned.push_back(p);
    }
    return std::move(result_);
  }

  /// Views that had to be copied into row-major order, for the next walk's wishes.
  const std::vector<Value>& copied() const { return copied_; }

private:
  int32_t addStorage(Storage s) {
    result_.storages.push_back(std::move(s));
    return static_cast<int32_t>(result_.storages.size()) - 1;
  }

  /// Values that some other group, an output or an assign reads, views and cheap nodes looked through.
  void findUses() {
    for (size_t k = 0; k < partition_.groups.size(); ++k) {
      const std::vector<int32_t>& nodes = partition_.groups[k];
      for (int32_t i : nodes)
        for (Value v : g_.node(i).inputs)
          if (v.present() && !std::binary_search(nodes.begin(), nodes.end(), v.node)) markRead(v);
    }
    for (Value v : g_.outputs()) markRead(v);
    for (const Graph::Assign& a : g_.assigns()) markRead(a.value);
  }
  void markRead(Value v) {
    while (isView(g_.node(v.node))) {
      if (!read_.insert(v).second) return;
      v = g_.node(v.node).inputs[0];
    }
    read_.insert(v);
  }

  // ---- where a value is

  /// The strides through which `v` can be read, its producer having been placed; makes copies where strides cannot say
  /// it.
  StatusOr<Place> place(Value v) {
    if (auto it = placed_.find(v); it != placed_.end()) return it->second;
    const Node& n = g_.node(v.node);
    if (!isView(n)) return source(v);
    TG_ASSIGN_OR_RETURN(Place from, place(n.inputs[0]));
    std::optional<Place> here = viewed(n, from);
    if (!here) {
      TG_ASSIGN_OR_RETURN(from, copy(n.inputs[0]));
      here = viewed(n, from);
      if (!here) return internal("layout: {} of a row-major value has no strides", n.op.text());
    }
    return placed_[v] = *here;
  }

  std::optional<Place> viewed(const Node& n, const Place& from) const {
    if (from.layout.kind != Layout::Kind::Strided) return std::nullopt;
    const TensorType& t = g_.typeOf(n.inputs[0]);
    auto view = applyView(n, {t.shape, from.layout.strides, 0});
    if (!view) return std::nullopt;
    return Place{from.storage, from.offsetBytes + view->offset * sizeBytes(t.dtype), Layout::strided(view->strides)};
  }

  /// A cheap source that some group wants from memory: a constant is data of the plan, anything else a group of its
  /// own.
  StatusOr<Place> source(Value v) {
    const Node& n = g_.node(v.node);
    if (n.op == kConstant) {
      HostArray number(n.results[0]);
      storeConstant(n.attrs, number);
      result_.constants.push_back(number);
      int32_t s = addStorage({Storage::Kind::Constant, static_cast<int32_t>(result_.constants.size()) - 1,
                              n.results[0].sizeBytes(), "constant"});
      return placed_[v] = Place{s, 0, Layout::rowMajor({})};
    }
    if (!isCheap(n)) return internal("layout: value %{} ({}) is read before it is computed", v.node, n.op.text());
    std::vector<int32_t> nodes{v.node};
    TG_RETURN_IF_ERROR(addUnit(nodes, std::span(&v, 1)));
    return placed_[v];
  }

  StatusOr<Place> rowMajorPlace(Value v) {
    TG_ASSIGN_OR_RETURN(Place p, place(v));
    if (isRowMajor(p.layout, g_.typeOf(v).shape)) {
      p.layout = Layout::rowMajor(g_.typeOf(v).shape);
      return p;
    }
    return copy(v);
  }

  /// A row-major copy of `v`, made once.
  StatusOr<Place> copy(Value v) {
    if (auto it = copies_.find(v); it != copies_.end()) return it->second;
    TG_ASSIGN_OR_RETURN(Place from, place(v));
    const TensorType& t = g_.typeOf(v);
    int32_t s = addStorage({Storage::Kind::Temporary, -1, t.sizeBytes(), fmt::format("copy of %{}", v.node)});
    Place to{s, 0, Layout::rowMajor(t.shape)};
    addCopy(v, from, to);
    copied_.push_back(v);
    return copies_[v] = to;
  }

  void addCopy(Value v, const Place& from, const Place& to) {
    const TensorType& t = g_.typeOf(v);
    Graph body(g_.libraryPtr());
    Value in = body.addInput("x", t);
    Emit e(body, g_.node(v.node).scope);
    body.outputs().push_back(e.primitive(kCast, {in}, {{attr::dtype, t.dtype}}));
    std::string label = groupLabel(g_.node(v.node).scope, "copy");
    result_.units.push_back({Group{std::move(body), {from.layout}, {to.layout}, label}, {from}, {to}, true});
    result_.copiedBytes += t.sizeBytes();
  }

  // ---- groups

  Status addGroup(size_t k) {
    const std::vector<int32_t>& nodes = partition_.groups[k];
    if (nodes.size() == 1 && inPlaceConcatenations_.contains(nodes[0])) return finishConcatenation(nodes[0]);
    std::vector<Value> outputs;
    for (int32_t i : nodes) {
      if (partition_.groupOf[i] != static_cast<int32_t>(k)) continue; // a cheap node or view: everyone has its own
      for (int32_t r = 0; r < static_cast<int32_t>(g_.node(i).results.size()); ++r)
        if (read_.contains({i, r})) outputs.push_back({i, r});
    }
    if (outputs.empty()) return OkStatus(); // every reader computes these values for itself
    return addUnit(nodes, outputs);
  }

  Status addUnit(std::span<const int32_t> nodes, std::span<const Value> outputs) {
    TG_ASSIGN_OR_RETURN(GroupBody body, makeGroupBody(g_, nodes, outputs));
    Unit unit{Group{std::move(body.graph), {}, {}, std::move(body.label)}, {}, {}};
    for (size_t k = 0; k < body.inputs.size(); ++k) {
      TG_ASSIGN_OR_RETURN(Place p, operandPlace(body, k));
      unit.inputs.push_back(p);
      unit.group.inputLayouts.push_back(p.layout);
    }
    for (Value v : body.outputs) {
      Place p = outputPlace(v);
      placed_[v] = p;
      unit.outputs.push_back(p);
      unit.group.outputLayouts.push_back(p.layout);
    }
    result_.units.push_back(std::move(unit));
    return OkStatus();
  }

  /// The operand's place if every reader of it in the group takes its strides, else a copy.
  StatusOr<Place> operandPlace(const GroupBody& body, size_t k) {
    Value v = body.inputs[k];
    TG_ASSIGN_OR_RETURN(Place p, place(v));
    if (p.layout.kind != Layout::Kind::Strided) return p;
    const Shape& shape = g_.typeOf(v).shape;
    if (p.layout.strides == rowMajorStrides(shape)) return p;
    for (const GroupBody::Use& use : body.uses[k])
      if (!target_.acceptsStrides(g_, use.node, use.input, shape, p.layout.strides)) return rowMajorPlace(v);
    return p;
  }

  Place outputPlace(Value v) {
    const TensorType& t = g_.typeOf(v);
    const Node& n = g_.node(v.node);
    std::string label = fmt::format("%{} {}", v.node, n.op.text());
    if (n.op == kRelayout && n.attrs.getInt(attr::panel) > 0) {
      Layout blocked =
          Layout::blocked(static_cast<int>(n.attrs.getInt(attr::panelAxis)),
                          static_cast<int>(n.attrs.getInt(attr::panel)), static_cast<int>(n.attrs.getInt(attr::pair)));
      return {addStorage({Storage::Kind::Temporary, -1, footprintBytes(blocked, t), label}), 0, blocked};
    }
    auto wish = wishes_.find(v);
    if (wish == wishes_.end())
      return {addStorage({Storage::Kind::Temporary, -1, t.sizeBytes(), label}), 0, Layout::rowMajor(t.shape)};
    Layout strided = Layout::strided(wish->second.view.strides);
    if (!wish->second.inside.present())
      return {addStorage({Storage::Kind::Temporary, -1, t.sizeBytes(), label}), 0, strided};
    const Place& whole = concatenationPlace(wish->second.inside);
    return {whole.storage, whole.offsetBytes + wish->second.view.offset * sizeBytes(t.dtype), strided};
  }

  const Place& concatenationPlace(Value c) {
    auto it = placed_.find(c);
    if (it != placed_.end()) return it->second;
    const TensorType& t = g_.typeOf(c);
    int32_t s = addStorage({Storage::Kind::Temporary, -1, t.sizeBytes(), fmt::format("%{} concatenate", c.node)});
    return placed_[c] = Place{s, 0, Layout::rowMajor(t.shape)};
  }

  /// Pieces that their producers did not write are copied into their slices.
  Status finishConcatenation(int32_t node) {
    Value c{node, 0};
    Place whole = concatenationPlace(c);
    const Node& n = g_.node(node);
    int axis = static_cast<int>(n.attrs.getInt(attr::axis));
    int64_t start = 0;
    for (Value piece : n.inputs) {
      const TensorType& t = g_.typeOf(piece);
      Place to{whole.storage, whole.offsetBytes + start * whole.layout.strides[axis] * sizeBytes(t.dtype),
               Layout::strided(whole.layout.strides)};
      start += t.shape[axis];
      if (t.shape.elements() == 0) continue;
      TG_ASSIGN_OR_RETURN(Place from, place(piece));
      if (from != to) addCopy(piece, from, to);
    }
    return OkStatus();
  }

  const Graph& g_;
  const Partition& partition_;
  const TargetModel& target_;
  const Wishes& wishes_;
  LayoutResult result_;
  absl::flat_hash_map<Value, Place> placed_, copies_;
  absl::flat_hash_set<Value> read_;
  absl::flat_hash_set<int32_t> inPlaceConcatenations_;
  std::vector<Value> copied_;
};

/// What a value seen through transposes and reshapes is a view of, and how that would lie if the view lay as `as`.
std::optional<std::pair<Value, StridedView>> pulledToRoot(const Graph& g, Value v, StridedView as) {
  while (isView(g.node(v.node))) {
    const Node& n = g.node(v.node);
    auto below = pullBack(n, g.typeOf(n.inputs[0]).shape, as);
    if (!below) return std::nullopt;
    as = *std::move(below);
    v = n.inputs[0];
  }
  return std::pair(v, as);
}

class WishFinder {
public:
  WishFinder(const Graph& g, const Partition& p, const TargetModel& target) : g_(g), partition_(p), target_(target) {
    for (Value v : g.outputs()) fixed_.insert(v);
    for (const Graph::Assign& a : g.assigns()) fixed_.insert(a.value);
  }

  /// Concatenations of which every piece can be written in place by its producer.
  Wishes concatenations() const {
    Wishes wishes;
    for (const std::vector<int32_t>& nodes : partition_.groups)
      if (nodes.size() == 1 && g_.node(nodes[0]).op == kConcatenate) addConcatenation(nodes[0], wishes);
    return wishes;
  }

  /// For a view that was copied: its root written so that the view is row-major.
  void addCopied(Value v, Wishes& wishes) const {
    auto root = pulledToRoot(g_, v, StridedView::rowMajor(g_.typeOf(v).shape));
    if (root && root->first != v && writable(root->first, root->second))
      wishes.try_emplace(root->first, Wish{root->second, {}});
  }

private:
  bool writable(Value root, const StridedView& view) const {
    const Node& n = g_.node(root.node);
    return partition_.groupOf[root.node] >= 0 && !fixed_.contains(root) && n.op != kRelayout &&
           target_.writesStrides(g_, root.node, root.result, view.shape, view.strides);
  }

  void addConcatenation(int32_t node, Wishes& wishes) const {
    Value c{node, 0};
    const Node& n = g_.node(node);
    const Shape& whole = n.results[0].shape;
    int axis = static_cast<int>(n.attrs.getInt(attr::axis));
    Shape strides = rowMajorStrides(whole);
    int64_t start = 0;
    std::vector<std::pair<Value, Wish>> found;
    for (Value piece : n.inputs) {
      const Shape& shape = g_.typeOf(piece).shape;
      auto root = pulledToRoot(g_, piece, {shape, strides, start * strides[axis]});
      start += shape[axis];
      bool good = root && writable(root->first, root->second) && !wishes.contains(root->first) &&
                  std::none_of(found.begin(), found.end(), [&](const auto& f) { return f.first == root->first; });
      if (!good) return;
      found.emplace_back(root->first, Wish{root->second, c});
    }
    for (auto& f : found) wishes.insert(std::move(f));
  }

  const Graph& g_;
  const Partition& partition_;
  const TargetModel& target_;
  absl::flat_hash_set<Value> fixed_;
};

} // namespace

StatusOr<LayoutResult> layout(const Graph& g, const Partition& p, const TargetModel& target) {
  WishFinder finder(g, p, target);
  Wishes wishes = finder.concatenations();
  Walk first(g, p, target, wishes);
  TG_ASSIGN_OR_RETURN(LayoutResult best, first.run());
  Wishes more = wishes;
  for (Value v : first.copied()) finder.addCopied(v, more);
  if (more.size() == wishes.size()) return best;
  TG_ASSIGN_OR_RETURN(LayoutResult next, Walk(g, p, target, more).run());
  return next.copiedBytes < best.copiedBytes ? std::move(next) : std::move(best);
}

} // namespace tegula
