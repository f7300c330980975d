// Element by element against bounds.
#include "verify/Compare.h"

#include <cmath>

namespace tegula {
namespace {

/// Error in units of the tolerance: 0 is equal, above 1 is wrong; negative is undecided.
double ratioOf(double actual, double expected, double bound, double slack) {
  if (!(bound < std::numeric_limits<double>::infinity())) return -1;
  if (std::isnan(expected) || std::isnan(actual))
    return std::isnan(expected) && std::isnan(actual) ? 0 : std::numeric_limits<double>::infinity();
  if (actual == expected) return 0;
  if (std::isinf(expected) || std::isinf(actual)) return std::numeric_limits<double>::infinity();
  double error = std::fabs(actual - expected);
  return bound == 0 ? std::numeric_limits<double>::infinity() : error / (slack * bound);
}

std::string indexText(int64_t element, const Shape& shape) {
  Shape index = shape;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    index[i] = element % shape[i];
    element /= shape[i];
  }
  return toString(index);
}

} // namespace

Comparison compare(const HostArray& actual, const BoundedArray& expected, const CompareOptions& options) {
  Comparison result;
  TensorType stated{expected.stated, expected.value.shape()};
  if (actual.shape() != stated.shape || actual.dtype() != stated.dtype) {
    result.message = fmt::format("the result is {} but {} was expected", toString(actual.type()), toString(stated));
    return result;
  }
  std::vector<double> found = actual.toVector(), values = expected.value.toVector();
  result.elements = static_cast<int64_t>(found.size());
  for (size_t i = 0; i < found.size(); ++i) {
    double ratio = ratioOf(found[i], values[i], expected.bound[i], options.slack);
    if (ratio < 0) ++result.undecided;
    if (ratio > 1) ++result.wrong;
    if (ratio > result.worstRatio || (result.worst < 0 && ratio >= 0)) {
      result.worst = static_cast<int64_t>(i);
      result.worstRatio = ratio;
    }
  }
  if (result.wrong > 0) {
    auto at = static_cast<size_t>(result.worst);
    result.message =
        fmt::format("{} of {} elements are wrong; the worst is {} = {:.9g}, expected {:.9g} within {:.3g} "
                    "(off by {:.3g}, {:.3g} times the tolerance)",
                    result.wrong, result.elements, indexText(result.worst, stated.shape), found[at], values[at],
                    options.slack * expected.bound[at], std::fabs(found[at] - values[at]), result.worstRatio);
  } else if (static_cast<double>(result.undecided) > options.undecidedPart * static_cast<double>(result.elements)) {
    result.message = fmt::format(
        "{} of {} elements cannot be decided, because rounding may turn or overflow what `{}` gets; at most "
        "{:.0f}% may be. Other inputs or a wider type decide it; nothing is known to be wrong",
        result.undecided, result.elements, expected.undecidedBy.text(), 100 * options.undecidedPart);
  }
  return result;
}

Status requireClose(const HostArray& actual, const BoundedArray& expected, std::string_view what,
                    std::string_view reproducer, const CompareOptions& options) {
  Comparison result = compare(actual, expected, options);
  if (result.ok()) return OkStatus();
  return failed("{}: {}\n  reproduce: tegula op check '{}'", what, result.message, reproducer);
}

} // namespace tegula
