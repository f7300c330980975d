// convolution: cross-correlation of x[N,C,...] with w[O,C/groups,...] over any number of spatial axes. Padding counts
// positions before and after; a negative one cuts positions off.
#include "primitives/Families.h"
#include "primitives/InferRules.h"
#include "primitives/Values.h"

namespace tegula {
namespace {

struct Window {
  Shape strides, padLow, padHigh, dilation;
  int64_t groups;
};

StatusOr<Window> readWindow(const Attributes& attributes, int spatial) {
  TG_RETURN_IF_ERROR(checkKnown("convolution", attributes,
                                {attr::strides, attr::padLow, attr::padHigh, attr::dilation, attr::groups}));
  Window w;
  TG_ASSIGN_OR_RETURN(w.strides, intsAttribute("convolution", attributes, attr::strides, spatial));
  TG_ASSIGN_OR_RETURN(w.padLow, intsAttribute("convolution", attributes, attr::padLow, spatial));
  TG_ASSIGN_OR_RETURN(w.padHigh, intsAttribute("convolution", attributes, attr::padHigh, spatial));
  TG_ASSIGN_OR_RETURN(w.dilation, intsAttribute("convolution", attributes, attr::dilation, spatial));
  TG_ASSIGN_OR_RETURN(w.groups, intAttribute("convolution", attributes, attr::groups));
  for (int i = 0; i < spatial; ++i)
    if (w.strides[i] < 1 || w.dilation[i] < 1)
      return invalid("convolution: strides {} and dilation {} must be at least 1", toString(w.strides),
                     toString(w.dilation));
  return w;
}

Status checkOperands(const TensorType& x, const TensorType& w) {
  if (x.dtype != w.dtype) return invalid("convolution: x is {} but w is {}; cast one first", toString(x), toString(w));
  if (x.dtype == DType::Bool) return invalid("convolution: x is {}; expected floats or integers", toString(x));
  if (x.shape.rank() < 3 || x.shape.rank() != w.shape.rank())
    return invalid("convolution: x is {} and w is {}; expected x[N,C,...] and w[O,C/groups,...] of one rank above 2",
                   toString(x), toString(w));
  return OkStatus();
}

Status checkChannels(const TensorType& x, const TensorType& w, int64_t groups) {
  int64_t channels = x.shape[1], outputs = w.shape[0];
  if (groups < 1 || channels % groups || outputs % groups)
    return invalid("convolution: groups={} must divide the {} channels of x and the {} of w", groups, channels,
                   outputs);
  if (w.shape[1] != channels / groups)
    return invalid("convolution: x has C={} in {} groups, so w needs {} input channels but has {}", channels, groups,
                   channels / groups, w.shape[1]);
  return OkStatus();
}

StatusOr<TensorTypes> infer(std::span<const TensorType> inputs, const Attributes& attributes) {
  TG_RETURN_IF_ERROR(checkInputCount("convolution", inputs, 2));
  const TensorType &x = inputs[0], &w = inputs[1];
  TG_RETURN_IF_ERROR(checkOperands(x, w));
  TG_ASSIGN_OR_RETURN(Window window, readWindow(attributes, x.shape.rank() - 2));
  TG_RETURN_IF_ERROR(checkChannels(x, w, window.groups));
  TensorType result{x.dtype, {x.shape[0], w.shape[0]}};
  for (int i = 0; i < x.shape.rank() - 2; ++i) {
    int64_t taps = w.shape[i + 2], padded = x.shape[i + 2] + window.padLow[i] + window.padHigh[i];
    int64_t reach = window.dilation[i] * (taps - 1) + 1;
    if (taps < 1 || padded < reach)
      return invalid("convolution: along axis {} the window covers {} positions but x has {} with padding", i + 2,
                     taps < 1 ? 0 : reach, padded);
    result.shape.push_back((padded - reach) / window.strides[i] + 1);
  }
  TG_RETURN_IF_ERROR(checkSize("convolution", result));
  return one(result);
}

#if TEGULA_REFERENCE
/// Positions of one spatial axis: output o, tap t read input o*stride - padLow + t*dilation.
struct Axis {
  int64_t in, out, taps, stride, padLow, dilation;
};

/// Adds one tap of one (image, output channel, input channel) to the output, axis by axis.
template <typename T>
void addTap(std::span<const Axis> axes, const int64_t* tap, const T* x, T* y, int64_t xLine, int64_t yLine, T weight) {
  if (axes.empty()) {
    if constexpr (std::is_same_v<T, double>)
      y[yLine] += weight * x[xLine];
    else
      y[yLine] = wrapAdd(y[yLine], wrapMul(weight, x[xLine]));
    return;
  }
  const Axis& a = axes[0];
  for (int64_t o = 0; o < a.out; ++o) {
    int64_t position = o * a.stride - a.padLow + tap[0] * a.dilation;
    if (position < 0 || position >= a.in) continue;
    addTap(axes.subspan(1), tap + 1, x, y, xLine * a.in + position, yLine * a.out + o, weight);
  }
}

Status evaluate(std::span<const HostArray> inputs, const Attributes& attributes, std::span<HostArray> outputs) {
  const Shape &x = inputs[0].shape(), &w = inputs[1].shape(), &y = outputs[0].shape();
  const Shape &strides = attributes.getInts(attr::strides), &padLow = attributes.getInts(attr::padLow);
  const Shape& dilation = attributes.getInts(attr::dilation);
  std::vector<Axis> axes;
  Shape taps;
  for (int i = 2; i < x.rank(); ++i) {
    axes.push_back({x[i], y[i], w[i], strides[i - 2], padLow[i - 2], dilation[i - 2]});
    taps.push_back(w[i]);
  }
  int64_t perGroup = y[1] / std::max<int64_t>(attributes.getInt(attr::groups), 1);
  return withComputeType(inputs[0].dtype(), [&](auto zero) {
    using T = decltype(zero);
    InputValues<T> image(inputs[0]), weights(inputs[1]);
    OutputValues<T> result(outputs[0]);
    int64_t allTaps = taps.elements();
    for (int64_t n = 0; n < y[0]; ++n)
      for (int64_t o = 0; o < y[1]; ++o)
        for (int64_t c = 0; c < w[1]; ++c)
          for (int64_t t = 0; t < allTaps; ++t) {
            std::array<int64_t, kMaxRank> tap{};
            for (int64_t i = taps.rank() - 1, rest = t; i >= 0; rest /= taps[static_cast<int>(i)], --i)
              tap[static_cast<size_t>(i)] = rest % taps[static_cast<int>(i)];
            int64_t channel = o / perGroup * w[1] + c;
            addTap<T>(axes, tap.data(), image.data(), result.data(), n * x[1] + channel, n * y[1] + o,
                      weights[(o * w[1] + c) * allTaps + t]);
          }
    result.store();
    return OkStatus();
  });
}
#endif

} // namespace

std::span<const Primitive> convolutionPrimitives() {
  static const Primitive table[] = {
      {"convolution", PrimitiveKind::Contract, 2, true, infer, TG_EVALUATE(evaluate)},
  };
  return table;
}

} // namespace tegula
