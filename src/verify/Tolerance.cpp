// Properties of the floating formats, and the table of functions.
#include "verify/Tolerance.h"

#include "tensor/Element.h"
#include "tensor/HostArray.h"
#include <cmath>

namespace tegula {
namespace {

struct FloatFormat {
  int digits;      // significant bits, the hidden one included
  int minExponent; // of the least normal number
  double largest;
};

FloatFormat formatOf(DType d) {
  switch (d) {
  case DType::F8E4M3:
    return {4, -6, 448};
  case DType::F8E5M2:
    return {3, -14, 57344};
  case DType::F16:
    return {11, -14, 65504};
  case DType::BF16:
    return {8, -126, 0x1.fep127};
  case DType::F32:
    return {24, -126, 0x1.fffffep127};
  default:
    return {53, -1022, std::numeric_limits<double>::max()};
  }
}

} // namespace

double unitRoundoff(DType d) {
  if (!isFloat(d)) return 0;
  return std::ldexp(d == DType::F64 ? 2.0 : 1.0, -formatOf(d).digits);
}

double accumulatorRoundoff(DType d) {
  if (!isFloat(d)) return 0;
  return unitRoundoff(d == DType::F64 ? DType::F64 : DType::F32);
}

double subnormalRoundoff(DType d) {
  if (!isFloat(d)) return 0;
  FloatFormat f = formatOf(d);
  return std::ldexp(1.0, f.minExponent - f.digits + (d == DType::F64 ? 1 : 0)); // 2^-1074 has no half
}

double flushBound(DType d) { return isFloat(d) ? std::ldexp(1.0, d == DType::F64 ? -1022 : -126) : 0; }

double largestFinite(DType d) { return formatOf(d).largest; }

bool isRepresentable(double x, DType d) { return roundedTo(d, x) == x || x != x; }

double functionUlps(std::string_view primitive) {
  if (primitive == "exp" || primitive == "log" || primitive == "sin" || primitive == "cos" || primitive == "rsqrt")
    return 2;
  if (primitive == "tanh" || primitive == "erf") return 3;
  if (primitive == "pow") return 4;
  return 0; // correctly rounded
}

} // namespace tegula
