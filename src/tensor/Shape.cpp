// Printing, strides, overflow-checked counts and broadcasting of shapes.
#include "tensor/Shape.h"

#include <algorithm>
#include <fmt/format.h>

namespace tegula {

std::string toString(const Shape& s) {
  std::string text = "[";
  for (int i = 0; i < s.rank(); ++i) text += fmt::format("{}{}", i ? "," : "", s[i]);
  return text + "]";
}

Shape rowMajorStrides(const Shape& s) {
  Shape strides(s);
  int64_t step = 1;
  for (int i = s.rank() - 1; i >= 0; --i) {
    strides[i] = step;
    step *= std::max<int64_t>(s[i], 1);
  }
  return strides;
}

std::optional<int64_t> checkedElements(const Shape& s, int64_t elementSizeBytes) {
  constexpr int64_t kLimit = int64_t{1} << 62;
  if (std::any_of(s.begin(), s.end(), [](int64_t d) { return d < 0; })) return std::nullopt;
  // An extent of 0 empties the tensor, but its strides (0 counts as 1) must not overflow either.
  int64_t bytes = elementSizeBytes;
  for (int64_t d : s)
    if (__builtin_mul_overflow(bytes, std::max<int64_t>(d, 1), &bytes) || bytes > kLimit) return std::nullopt;
  return s.elements();
}

std::optional<Shape> broadcastShapes(const Shape& a, const Shape& b) {
  int rank = std::max(a.rank(), b.rank());
  Shape result;
  for (int i = 0; i < rank; ++i) {
    int ia = i - (rank - a.rank()), ib = i - (rank - b.rank());
    int64_t da = ia < 0 ? 1 : a[ia], db = ib < 0 ? 1 : b[ib];
    if (da != db && da != 1 && db != 1) return std::nullopt;
    result.push_back(da == 1 ? db : da);
  }
  return result;
}

std::string toString(const TensorType& t) { return fmt::format("{}{}", name(t.dtype), toString(t.shape)); }

} // namespace tegula
