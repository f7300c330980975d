// The algebra of strided views.
#include "graph/layout/StridedView.h"
#include "primitives/InferRules.h"

namespace tegula {

namespace {

const Symbol kSlice = "slice", kTranspose = "transpose", kReshape = "reshape", kBroadcast = "broadcast";

StridedView sliced(const Node& n, const StridedView& v) {
  const Shape &starts = n.attrs.getInts(attr::starts), &steps = n.attrs.getInts(attr::steps);
  StridedView r{n.results[0].shape, v.strides, v.offset};
  bool empty = r.shape.elements() == 0;
  for (int i = 0; i < v.shape.rank(); ++i) {
    if (!empty) r.offset += starts[i] * v.strides[i];
    r.strides[i] *= steps[i];
  }
  return r;
}

StridedView transposed(const Node& n, const StridedView& v) {
  StridedView r{n.results[0].shape, {}, v.offset};
  for (int64_t axis : n.attrs.getInts(attr::permutation)) r.strides.push_back(v.strides[static_cast<int>(axis)]);
  return r;
}

StridedView broadcasted(const Node& n, const StridedView& v) {
  const Shape &shape = n.results[0].shape, &axes = n.attrs.getInts(attr::axes);
  StridedView r{shape, {}, v.offset};
  for (int i = 0; i < shape.rank(); ++i) r.strides.push_back(0);
  for (int i = 0; i < axes.rank(); ++i) {
    int to = static_cast<int>(axes[i]);
    if (v.shape[i] == shape[to]) r.strides[to] = v.strides[i];
  }
  return r;
}

/// Axes of extent 1 from `i` on in `v` and from `o` on in `to`, up to the next longer ones: an axis that both have
/// keeps its stride, as it would with another extent, so that the kernels of other extents fit.
void pairUnitAxes(const StridedView& v, int& i, StridedView& r, int& o, std::vector<bool>& set) {
  while (i < v.shape.rank() && o < r.shape.rank() && v.shape[i] == 1 && r.shape[o] == 1) {
    r.strides[o] = v.strides[i++];
    set[o++] = true;
  }
  while (i < v.shape.rank() && v.shape[i] == 1) ++i;
  while (o < r.shape.rank() && r.shape[o] == 1) ++o;
}

/// Strides of axes of extent 1 never matter; these are what row-major order would give after the axis behind.
void fillUnitAxes(StridedView& r, const std::vector<bool>& set) {
  for (int i = r.shape.rank() - 1; i >= 0; --i)
    if (!set[i]) r.strides[i] = i + 1 < r.shape.rank() ? r.strides[i + 1] * std::max<int64_t>(r.shape[i + 1], 1) : 1;
}

} // namespace

bool isView(const Node& n) {
  return n.kind == Node::Kind::Primitive &&
         (n.op == kSlice || n.op == kTranspose || n.op == kReshape || n.op == kBroadcast);
}

std::optional<StridedView> reshapeView(const StridedView& v, const Shape& to) {
  if (v.isRowMajor() || to.elements() == 0) return StridedView{to, rowMajorStrides(to), v.offset};
  StridedView r{to, Shape(to), v.offset};
  std::vector<bool> set(to.rank(), false);
  int i = 0, o = 0;
  while (true) {
    pairUnitAxes(v, i, r, o, set);
    if (i == v.shape.rank() || o == to.rank()) break;
    // The shortest runs of axes on both sides with equally many elements.
    int iEnd = i + 1, oEnd = o + 1;
    int64_t in = v.shape[i], out = to[o];
    while (in != out) {
      if (in < out)
        in *= v.shape[iEnd++];
      else
        out *= to[oEnd++];
    }
    // The run of the source must be one even stretch of memory. A repeated axis has stride 0 like any other.
    int64_t inner = 0, step = 0;
    bool begun = false;
    for (int k = iEnd - 1; k >= i; --k) {
      if (v.shape[k] == 1) continue;
      if (begun && v.strides[k] != step) return std::nullopt;
      if (!begun) inner = v.strides[k];
      begun = true;
      step = v.strides[k] * v.shape[k];
    }
    for (int k = oEnd - 1; k >= o; --k) {
      r.strides[k] = inner;
      inner *= to[k];
      set[k] = true;
    }
    i = iEnd;
    o = oEnd;
  }
  fillUnitAxes(r, set);
  return r;
}

std::optional<StridedView> applyView(const Node& n, const StridedView& v) {
  if (n.op == kSlice) return sliced(n, v);
  if (n.op == kTranspose) return transposed(n, v);
  if (n.op == kBroadcast) return broadcasted(n, v);
  return reshapeView(v, n.results[0].shape);
}

std::optional<StridedView> pullBack(const Node& n, const Shape& operandShape, const StridedView& result) {
  if (n.kind != Node::Kind::Primitive) return std::nullopt;
  if (n.op == kReshape) return reshapeView(result, operandShape);
  if (n.op != kTranspose) return std::nullopt;
  StridedView r{operandShape, operandShape, result.offset};
  const Shape& permutation = n.attrs.getInts(attr::permutation);
  for (int i = 0; i < permutation.rank(); ++i) r.strides[static_cast<int>(permutation[i])] = result.strides[i];
  return r;
}

} // namespace tegula
