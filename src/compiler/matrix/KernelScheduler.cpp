// KernelScheduler: from a group to a dispatch.
#include "compiler/matrix/KernelScheduler.h"

#include "compiler/matrix/CompileKernel.h"
#include "compiler/matrix/GroupReader.h"

#include <algorithm>

namespace tegula::matrix {

namespace {

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

using Strides = KernelArguments::Strides;

/// Axis `d` of the batch folds into the one after it for every window.
bool mergesWithNext(const KernelArguments& a, const Shape& extents, int d) {
  if (extents[d] == 1 || extents[d + 1] == 1) return true;
  return std::all_of(a.windows.begin(), a.windows.end(),
                     [&](const Strides& w) { return w.batch[d] == w.batch[d + 1] * extents[d + 1]; });
}

/// Merges neighbouring batch axes and pads the list in front to kBatchAxes.
Status mergeBatch(KernelArguments& a) {
  Shape extents = a.batch;
  for (int d = extents.rank() - 2; d >= 0; --d) {
    if (!mergesWithNext(a, extents, d)) continue;
    bool keepOuter = extents[d + 1] == 1; // the inner axis is nothing: its stride says nothing
    auto drop = [&](Shape& s, int64_t merged) {
      Shape out;
      for (int i = 0; i < s.rank(); ++i)
        if (i != d) out.push_back(i == d + 1 ? merged : s[i]);
      s = out;
    };
    for (Strides& w : a.windows) drop(w.batch, keepOuter ? w.batch[d] : w.batch[d + 1]);
    drop(extents, extents[d] * extents[d + 1]);
  }
  if (extents.rank() > kBatchAxes)
    return unsupported("batch axes {} do not merge into {}: make an operand contiguous", toString(a.batch), kBatchAxes);
  auto pad = [](Shape& s, int64_t with) {
    Shape out;
    for (int i = s.rank(); i < kBatchAxes; ++i) out.push_back(with);
    for (int64_t x : s) out.push_back(x);
    s = out;
  };
  for (Strides& w : a.windows) pad(w.batch, 0);
  pad(extents, 1);
  a.batch = extents;
  return OkStatus();
}

/// May a window whose code was fixed for this class be given that stride?
bool takesStride(StrideClass c, int64_t stride) { return c == StrideClass::Any || stride == (c == StrideClass::One); }

/// Takes the batch into dimension `dim` (rows of a matrix) where every window allows it. A dimension of one element has
/// no stride of its own: it takes the batch's, if the kernel reads that.
void mergeBatchInto(Symbol dim, const TileKernelSource& source, KernelArguments& a) {
  for (int d = kBatchAxes - 1; d >= 0; --d) {
    int64_t count = a.batch[d], extent = a.extents[dim];
    if (count == 1) continue;
    auto folds = [&](size_t i) {
      const Strides& w = a.windows[i];
      const Window& code = source.windows[i];
      if (w.rowDim == dim && w.colDim == dim) return false; // the other axis would grow too
      if (w.rowDim == dim) return extent == 1 ? takesStride(code.row, w.batch[d]) : w.batch[d] == w.row * extent;
      if (w.colDim == dim) return extent == 1 ? takesStride(code.col, w.batch[d]) : w.batch[d] == w.col * extent;
      return w.batch[d] == 0;
    };
    for (size_t i = 0; i < a.windows.size(); ++i)
      if (!folds(i)) return;
    for (Strides& w : a.windows) {
      if (extent == 1 && w.rowDim == dim) w.row = w.batch[d];
      if (extent == 1 && w.rowDim != dim && w.colDim == dim) w.col = w.batch[d];
      w.batch[d] = 0;
    }
    a.extents[dim] = extent * count;
    a.batch[d] = 1;
  }
}

/// Is the first dimension of the grid nothing but where blocks are cut, so that a longer one is the same kernel? Not where
/// the body reads it whole, loops over it, counts with it, or looks at positions.
bool isOnlyCut(const KernelFacts& facts, const TileKernelSource& source) {
  if (facts.usesPositions || facts.grid.empty()) return false;
  Symbol dim = facts.grid[0].dimension;
  return !source.pinnedDims.count(dim) && facts.mentions.at(dim) == 1;
}

KernelShape shapeOf(const TileKernelSource& s, const KernelFacts& facts) {
  KernelShape k;
  k.name = s.kernel->name;
  for (const auto& axis : facts.grid) k.grid.push_back({axis.tunable, axis.dimension});
  for (const auto& axis : facts.tiles) k.tiles.push_back({axis.tunable, axis.dimension});
  for (const auto& [dim, extent] : s.pinnedDims) k.pinnedColumns = std::max(k.pinnedColumns, extent);
  k.hasDot = facts.dots > 0;
  k.wide = s.wide;
  // The operands of dots are the first two floats that the kernel reads.
  std::vector<DType> floats;
  for (const Program& p : s.inputs) {
    if (p.kind == Program::Kind::Absent) continue;
    DType d = p.kind == Program::Kind::Window ? s.windows[static_cast<size_t>(p.index)].dtype : p.dtype;
    if (isFloat(d)) floats.push_back(d);
  }
  if (!floats.empty()) k.left = k.right = floats[0];
  if (floats.size() > 1) k.right = floats[1];
  return k;
}

/// Why elements of type `d` are none that a kernel was checked for; empty: they are. Where the operator leaves the type of
/// an input open, the checker took the kernel's elements for floats (KernelExpressions::elementsOfParameter); a result's
/// are whatever is stored, converted.
std::string_view whyNotElements(const lang::TypeRule& rule, DType d, bool input) {
  using Kind = lang::DTypeRule::Kind;
  if (d == DType::F8E4M3 || d == DType::F8E5M2) return "there are no tiles of it";
  if (isFloat(d) || !input) return "";
  for (const lang::TypeRule::Alternative& a : rule.alternatives)
    if (a.tensor.dtype.kind != Kind::Int && a.tensor.dtype.kind != Kind::Fixed)
      return "the operator does not state the type, and kernels count such elements as floats";
  return "";
}

constexpr size_t kLongestExpression = 64; // of a prologue or epilogue, in nodes: code is made for each

/// Elementwise work that is worth repeating each time a block is packed.
bool isCheap(Symbol fn) {
  static const Symbol names[] = {"cast",    "add",    "sub",  "mul",        "neg",   "abs",          "maximum",
                                 "minimum", "select", "less", "less_equal", "equal", "stop_gradient"};
  return std::find(std::begin(names), std::end(names), fn) != std::end(names);
}

} // namespace

KernelScheduler::KernelScheduler(Target target, std::shared_ptr<const OperatorLibrary> library,
                                 std::unique_ptr<const ScheduleChooser> chooser)
    : target_(std::move(target)), library_(std::move(library)), chooser_(std::move(chooser)) {}

std::string KernelScheduler::whyNotWhole(const Graph& g, const Node& n) const {
  const lang::KernelDecl* kernel = n.kind == Node::Kind::Operator ? library_->kernelFor(n.op) : nullptr;
  if (!kernel) return "it has none";
  const lang::OperatorDecl* op = library_->declaration(n.op);
  for (size_t i = 0; i < n.inputs.size() && i < op->inputs.size(); ++i) {
    if (!n.inputs[i].present()) continue;
    DType d = g.typeOf(n.inputs[i]).dtype;
    if (std::string_view why = whyNotElements(op->inputs[i].type, d, true); !why.empty())
      return fmt::format("the input {} is {}: {}", op->inputs[i].name.text(), name(d), why);
  }
  for (size_t r = 0; r < n.results.size() && r < op->results.size(); ++r) {
    DType d = n.results[r].dtype;
    if (std::string_view why = whyNotElements(op->results[r].type, d, false); !why.empty())
      return fmt::format("result {} is {}: {}", r + 1, name(d), why);
    // A contraction to a scalar or of vectors only has no axis to be parallel over: a reduction does it better.
    if (n.results[r].shape.rank() == 0) return fmt::format("result {} is a scalar", r + 1);
  }
  return "";
}

std::string KernelScheduler::whyNotFuse(const Graph& g, std::span<const int32_t> nodes) const {
  int32_t kept = -1;
  for (int32_t i : nodes)
    if (g.node(i).kind == Node::Kind::Operator) {
      if (kept >= 0) return "two operators with kernels of their own";
      kept = i;
    }
  if (kept < 0 || !keepsWhole(g, g.node(kept))) return "no operator with a tile kernel";
  auto inside = [&](int32_t n) { return std::binary_search(nodes.begin(), nodes.end(), n); };
  // Nodes are in topological order: what depends on the kept operator is epilogue, all else prologue or side operand.
  std::map<int32_t, int> epilogue;   // to the result that it is made of
  std::map<int32_t, size_t> written; // nodes of its expression as it will be written out: shared ones repeat
  for (int32_t i : nodes) {
    if (i == kept) continue;
    const Node& n = g.node(i);
    const Primitive* p = n.kind == Node::Kind::Primitive ? findPrimitive(n.op) : nullptr;
    bool constant = n.op == Symbol("constant");
    if (!p || (!constant && p->kind != PrimitiveKind::Elementwise && p->kind != PrimitiveKind::Broadcast))
      return fmt::format("{} is not elementwise", n.op.text());
    int result = -1;
    size_t& size = written[i] = 1;
    for (Value v : n.inputs) {
      if (!v.present()) continue;
      if (auto known = written.find(v.node); known != written.end()) size += known->second;
      auto known = epilogue.find(v.node);
      int from = v.node == kept ? v.result : known == epilogue.end() ? -1 : known->second;
      if (from < 0) continue;
      if (p->kind != PrimitiveKind::Elementwise) return fmt::format("{} moves elements of the result", n.op.text());
      if (result >= 0 && result != from) return fmt::format("{} combines two results", n.op.text());
      result = from;
    }
    if (size > kLongestExpression) return fmt::format("the expression at {} is too long", n.op.text());
    if (result >= 0) {
      if (g.node(kept).results[static_cast<size_t>(result)].shape != n.results[0].shape)
        return fmt::format("{} has another shape than the result", n.op.text());
      epilogue.emplace(i, result);
      continue;
    }
    // Before the operator: cheap, and used by this group only.
    if (p->kind == PrimitiveKind::Elementwise && !isCheap(n.op))
      return fmt::format("{} would be repeated for every block", n.op.text());
    for (size_t u = 0; u < g.nodes().size(); ++u)
      for (Value v : g.nodes()[u].inputs)
        if (v.node == i && !inside(static_cast<int32_t>(u)))
          return fmt::format("{} is needed elsewhere too", n.op.text());
    for (Value v : g.outputs())
      if (v.node == i) return fmt::format("{} is a result", n.op.text());
  }
  return "";
}

bool KernelScheduler::acceptsStrides(const Graph& g, int32_t node, int input, const Shape& shape,
                                     const Shape& strides) const {
  if (!keepsWhole(g, g.node(node))) return false;
  int rank = shape.rank();
  if (rank == 0) return true;
  // A vector along one of the last two axes, or it would be gathered element by element.
  for (int d = std::max(0, rank - 2); d < rank; ++d)
    if (strides[d] == 1 || (d == rank - 1 && shape[d] == 1)) return true;
  return false;
}

bool KernelScheduler::writesStrides(const Graph& g, int32_t node, int, const Shape& shape, const Shape& strides) const {
  int last = shape.rank() - 1; // along another stride every vector would be scattered
  return keepsWhole(g, g.node(node)) && (last < 0 || shape[last] == 1 || strides[last] == 1);
}

Layout KernelScheduler::preferredLayout(const Graph&, int32_t, int) const { return {}; }

StatusOr<int64_t> KernelScheduler::scratchBytes(const TileKernelSource& source) const {
  {
    absl::MutexLock lock(&mutex_);
    if (auto it = scratchBytes_.find(source.key); it != scratchBytes_.end()) return it->second;
  }
  TG_ASSIGN_OR_RETURN(int64_t bytes, scratchBytesOf(source));
  absl::MutexLock lock(&mutex_);
  scratchBytes_.emplace(source.key, bytes);
  return bytes;
}

static std::string nameOf(const TileKernelSource& s) {
  std::string out(s.kernel->name.text());
  auto add = [&](const Program& p, const auto& self) -> void {
    for (const Program& a : p.args) self(a, self);
    if (p.kind == Program::Kind::Apply && p.function != Symbol("cast")) out += fmt::format("_{}", p.function.text());
  };
  for (const Store& st : s.stores) add(st.value, add);
  if (out.size() > 48) out.resize(48);
  for (const Program& p : s.inputs)
    if (p.kind != Program::Kind::Absent)
      return out + fmt::format("_{}", name(p.kind == Program::Kind::Window ? s.windows[p.index].dtype : p.dtype));
  return out;
}

StatusOr<GroupSchedule> KernelScheduler::schedule(const Group& group) const {
  int32_t node = keptOperator(group.body);
  if (node < 0) return unsupported("a group without an operator that has a tile kernel");
  auto source = std::make_shared<TileKernelSource>();
  source->library = library_;
  KernelArguments args;
  TG_RETURN_IF_ERROR(readGroup(group, node, *source, args));
  KernelFacts facts = factsOf(*source->kernel);
  for (Symbol dim : facts.wholeDims) source->pinnedDims[dim] = args.extents[dim];
  for (const auto& [dim, extent] : args.extents)
    if (!source->pinnedDims.count(dim)) source->runtimeDims.push_back(dim);
  for (const auto& axis : facts.grid) source->gridTunables.push_back(axis.tunable);
  TG_RETURN_IF_ERROR(mergeBatch(args));
  if (isOnlyCut(facts, *source)) mergeBatchInto(facts.grid[0].dimension, *source, args);

  KernelShape shape = shapeOf(*source, facts);
  source->schedule = chooser_->choose(shape, target_);
  source->reasons = chooser_->explain(shape, source->schedule, target_);
  source->lanes = target_.vectorElements(source->wide ? 8 : 4);
  source->key = keyOf(*source, target_);
  source->name = nameOf(*source);

  GroupDispatch d;
  for (Symbol dim : source->runtimeDims) d.scalars.push_back(args.extents[dim]);
  for (int64_t extent : args.batch) d.scalars.push_back(extent);
  for (size_t w = 0; w < source->windows.size(); ++w) {
    d.bindings.push_back(source->windows[w].operand);
    d.scalars.push_back(args.windows[w].row);
    d.scalars.push_back(args.windows[w].col);
    for (int64_t stride : args.windows[w].batch) d.scalars.push_back(stride);
  }
  BlockRequest request;
  request.batch = args.batch.elements();
  for (size_t a = 0; a < facts.grid.size() && a < 2; ++a) request.extents[a] = args.extents[facts.grid[a].dimension];
  std::vector<int64_t> blocks = chooser_->blocks(shape, source->schedule, request, target_);
  d.items = request.batch;
  double volume = static_cast<double>(request.batch);
  for (size_t a = 0; a < facts.grid.size(); ++a) {
    int64_t extent = args.extents[facts.grid[a].dimension];
    d.items *= ceilDiv(extent, blocks[a]);
    volume *= static_cast<double>(extent);
    d.scalars.push_back(blocks[a]);
  }
  for (const auto& axis : facts.tiles) volume *= static_cast<double>(args.extents[axis.dimension]);
  d.flops = 2.0 * volume * facts.dots * static_cast<double>(std::max<int64_t>(shape.pinnedColumns, 1));
  for (size_t i = 0; i < group.inputLayouts.size(); ++i)
    d.bytes +=
        static_cast<double>(footprintBytes(group.inputLayouts[i], group.body.typeOf({group.body.inputs()[i].node, 0})));
  for (size_t i = 0; i < group.outputLayouts.size(); ++i)
    d.bytes += static_cast<double>(footprintBytes(group.outputLayouts[i], group.body.typeOf(group.body.outputs()[i])));
  TG_ASSIGN_OR_RETURN(d.scratchBytes, scratchBytes(*source));
  d.kernel = source;
  GroupSchedule result;
  result.dispatches.push_back(std::move(d));
  return result;
}

} // namespace tegula::matrix
