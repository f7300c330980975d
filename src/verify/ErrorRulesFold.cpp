// Error rules of folds: reductions, running folds, contractions, scatters. Each applies its own primitive to
// magnitudes: the sum of |terms| is what rounding errors of a sum are relative to.
#include "primitives/Values.h"
#include "verify/ErrorRules.h"

#include <algorithm>
#include <cmath>

namespace tegula {
namespace {

/// Terms that go into each result.
double termCount(const ErrorRuleCall& call) {
  auto results = static_cast<double>(std::max<int64_t>(call.results[0].shape.elements(), 1));
  auto elements = static_cast<double>(call.inputs[0].value.elements());
  std::string_view name = call.primitive.name.text();
  if (name == "scan")
    return static_cast<double>(call.inputs[0].value.shape()[static_cast<int>(call.attributes.getInt("axis"))]);
  if (name == "contract") {
    double k = 1;
    for (int64_t axis : call.attributes.getInts("contract_a"))
      k *= static_cast<double>(call.inputs[0].value.shape()[static_cast<int>(axis)]);
    return k;
  }
  if (name == "convolution") {
    const Shape& w = call.inputs[1].value.shape();
    return w[0] == 0 ? 0 : static_cast<double>(w.elements()) / static_cast<double>(w[0]);
  }
  return elements / results;
}

/// bound = what input errors do + accumulation + the result's rounding.
void finish(ErrorRuleCall& call, const std::vector<double>& magnitude, const std::vector<double>& plain, double terms) {
  DType d = call.results[0].dtype;
  double accumulator = accumulatorRoundoff(d), flush = flushBound(d);
  bool isDot = call.primitive.kind == PrimitiveKind::Contract;
  bool exact = terms <= 1 && !isDot;
  bool certain = true; // every input is within a finite distance
  for (const BoundedArray& input : call.inputs)
    certain = certain && std::all_of(input.bound.begin(), input.bound.end(), [](double e) { return e < kUndecided; });
  std::vector<double> y = call.outputs[0].toVector();
  for (size_t i = 0; i < y.size(); ++i) {
    if (certain && !std::isfinite(y[i])) continue; // an infinite or NaN term decides
    double propagated = magnitude[i] == plain[i] ? 0 : magnitude[i] - plain[i] + 0x1p-50 * magnitude[i];
    double accumulation =
        exact || magnitude[i] == 0 ? 0 : (terms + 2) * accumulator * magnitude[i] + (isDot ? terms * flush : 0);
    call.bounds[0][i] = roundedBound(y[i], propagated + accumulation, d, 0);
  }
}

/// An index that is not certain may add its update at any place of its axis, or not where it does here: results that
/// it may touch are undecided.
Status leaveTouchedOpen(ErrorRuleCall& call) {
  const BoundedArray& indices = call.inputs[1];
  constexpr int64_t kNowhere = -1; // outside the axis: adds nothing
  std::vector<int64_t> touching(indices.bound.size(), kNowhere);
  for (size_t i = 0; i < touching.size(); ++i)
    if (indices.bound[i] != 0) touching[i] = 0;
  if (std::ranges::all_of(touching, [](int64_t at) { return at == kNowhere; })) return OkStatus();
  // Ones scattered over an axis of a single place: how many uncertain updates each line of results may get.
  Attributes folded = call.attributes;
  folded.set("size", int64_t{1});
  auto axis = static_cast<int>(call.attributes.getInt("axis"));
  const Shape& shape = call.results[0].shape;
  Shape lineShape = shape;
  lineShape[axis] = 1;
  HostArray places({DType::I64, indices.value.shape()});
  for (size_t i = 0; i < touching.size(); ++i) places.setInt(static_cast<int64_t>(i), touching[i]);
  std::vector<HostArray> in = {HostArray::scalar(DType::F64, 1).expand(call.inputs[0].value.shape()), places},
                         out = {HostArray::zeros(DType::F64, lineShape)};
  TG_RETURN_IF_ERROR(call.primitive.evaluate(in, folded, out));
  std::vector<double> touched = out[0].expand(shape).toVector();
  for (size_t i = 0; i < touched.size(); ++i)
    if (touched[i] != 0) call.bounds[0][i] = kUndecided;
  return OkStatus();
}

Status sums(ErrorRuleCall& call) {
  std::vector<HostArray> wide, plain;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    bool isIndex = call.primitive.kind == PrimitiveKind::Scatter && i == 1;
    wide.push_back(isIndex ? call.inputs[i].value : magnitudes(call.inputs[i], true));
    plain.push_back(isIndex ? call.inputs[i].value : magnitudes(call.inputs[i], false));
  }
  TG_ASSIGN_OR_RETURN(std::vector<double> withBounds, call.apply(wide));
  TG_ASSIGN_OR_RETURN(std::vector<double> without, call.apply(plain));
  double terms = termCount(call);
  if (call.primitive.kind == PrimitiveKind::Scatter) { // as many terms as the most frequent index
    std::vector<HostArray> ones = {HostArray::scalar(DType::F64, 1).expand(call.inputs[0].value.shape()),
                                   call.inputs[1].value};
    TG_ASSIGN_OR_RETURN(std::vector<double> counts, call.apply(ones));
    terms = counts.empty() ? 0 : *std::max_element(counts.begin(), counts.end());
  }
  finish(call, withBounds, without, terms);
  return call.primitive.kind == PrimitiveKind::Scatter ? leaveTouchedOpen(call) : OkStatus();
}

/// Products: relative errors add up, so magnitudes with bounds cover what inputs do.
Status products(ErrorRuleCall& call) {
  std::vector<HostArray> wide = {magnitudes(call.inputs[0], true)}, plain = {magnitudes(call.inputs[0], false)};
  TG_ASSIGN_OR_RETURN(std::vector<double> withBounds, call.apply(wide));
  TG_ASSIGN_OR_RETURN(std::vector<double> without, call.apply(plain));
  finish(call, withBounds, without, termCount(call));
  return OkStatus();
}

/// A maximum is as uncertain as its most uncertain candidate. `primitive` folds the bounds by maximum.
Status extremes(ErrorRuleCall& call, std::string_view primitive, Attributes attributes) {
  const Primitive& fold = *findPrimitive(primitive);
  std::vector<HostArray> bounds = {boundsArray(call.inputs[0])},
                         out = {HostArray::zeros(DType::F64, call.results[0].shape)};
  TG_RETURN_IF_ERROR(fold.evaluate(bounds, attributes, out));
  call.bounds[0] = out[0].toVector();
  for (double& e : call.bounds[0]) e = std::max(e, 0.0); // an empty fold gives -inf
  return OkStatus();
}

/// Bounds of one line in sorted order. The k-th value moves by at most the largest error of the line. Its place is
/// certain where it lies apart from all others, or ties exactly (the sort is stable): then it is that element.
struct SortedLine {
  std::vector<double> values, bounds; // values ascend; NaN is infinity, after all others
  std::vector<double> places;         // bounds of the places, set by bound()

  void bound() {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    size_t n = values.size();
    double largest = n == 0 ? 0 : *std::ranges::max_element(bounds), highestBefore = -kInfinity;
    places.assign(n, kUndecided);
    std::vector<double> lowestAfter(n + 1, kInfinity);
    for (size_t k = n; k-- > 0;) lowestAfter[k] = std::min(lowestAfter[k + 1], end(k, -kInfinity));
    for (size_t k = 0; k < n; ++k) {
      // An undecided value may be a NaN, so it leaves the whole line open.
      bool apart =
          largest < kUndecided && highestBefore <= end(k, -kInfinity) && end(k, kInfinity) <= lowestAfter[k + 1];
      highestBefore = std::max(highestBefore, end(k, kInfinity));
      if (apart)
        places[k] = 0;
      else
        bounds[k] = largest;
    }
  }

private:
  /// One end of where the k-th value may lie. Stretched by one ulp, so that only exact values tie.
  double end(size_t k, double toward) const {
    if (bounds[k] == 0) return values[k];
    return std::nextafter(values[k] + std::copysign(bounds[k], toward), toward);
  }
};

Status sorted(ErrorRuleCall& call) {
  if (call.inputsExact()) return OkStatus();
  const BoundedArray& x = call.inputs[0];
  double sign = call.attributes.getBoolOr("descending", false) ? -1 : 1;
  auto axis = static_cast<int>(call.attributes.getInt("axis"));
  AxisSplit split(x.value.shape(), axis);
  std::vector<double> values = x.value.toVector();
  for (int64_t outer = 0; outer < split.outer; ++outer)
    for (int64_t inner = 0; inner < split.inner; ++inner) {
      auto at = [&](int64_t k) { return (outer * split.extent + k) * split.inner + inner; };
      SortedLine line;
      for (int64_t k = 0; k < split.extent; ++k) {
        auto from = static_cast<size_t>(at(call.outputs[1].getInt(at(k))));
        double v = sign * values[from];
        line.values.push_back(std::isnan(v) ? std::numeric_limits<double>::infinity() : v);
        line.bounds.push_back(x.bound[from]);
      }
      line.bound();
      for (int64_t k = 0; k < split.extent; ++k) {
        call.bounds[0][static_cast<size_t>(at(k))] = line.bounds[static_cast<size_t>(k)];
        call.bounds[1][static_cast<size_t>(at(k))] = line.places[static_cast<size_t>(k)];
      }
    }
  return OkStatus();
}

} // namespace

StatusOr<bool> foldErrorRule(ErrorRuleCall& call) {
  std::string_view name = call.primitive.name.text();
  bool whole = !isFloat(call.results[0].dtype);
  Status status;
  if (name == "sort")
    status = sorted(call);
  else if (name == "reduce_max" || name == "reduce_min")
    status = extremes(call, "reduce_max", call.attributes);
  else if (name == "scan" &&
           (call.attributes.getName("kind") == Symbol("max") || call.attributes.getName("kind") == Symbol("min"))) {
    Attributes running = call.attributes;
    running.set("kind", Symbol("max"));
    status = extremes(call, "scan", running);
  } else if (whole)
    return false; // integers are exact, or undecided as a whole
  else if (name == "reduce_prod" || name == "scan")
    status = products(call);
  else if (name == "reduce_sum" || name == "contract" || name == "convolution" || name == "scatter_add" ||
           name == "scatter_elements_add")
    status = sums(call);
  else
    return false;
  TG_RETURN_IF_ERROR(status);
  return true;
}

} // namespace tegula
