// contract: batched matrix product over any axes, result axes (batch, free of a, free of b). Exact products, summed
// in double and rounded once.
#include "primitives/Families.h"
#include "primitives/InferRules.h"
#include "primitives/Values.h"

namespace tegula {
namespace {

/// The axes of one operand that are neither batch nor contracted, in order.
Shape freeAxes(int rank, const Shape& batch, const Shape& contracted) {
  Shape result;
  for (int i = 0; i < rank; ++i)
    if (!contains(batch, i) && !contains(contracted, i)) result.push_back(i);
  return result;
}

Status checkPairs(const TensorType& a, const TensorType& b, const Shape& axesA, const Shape& axesB, Symbol nameA,
                  Symbol nameB) {
  if (axesA.rank() != axesB.rank())
    return invalid("contract: {} is {} but {} is {}; they pair up one to one", nameA.text(), toString(axesA),
                   nameB.text(), toString(axesB));
  for (int i = 0; i < axesA.rank(); ++i) {
    int64_t extentA = a.shape[static_cast<int>(axesA[i])], extentB = b.shape[static_cast<int>(axesB[i])];
    if (extentA != extentB)
      return invalid("contract: axis {} of a {} has extent {} but axis {} of b {} has {}", axesA[i], toString(a),
                     extentA, axesB[i], toString(b), extentB);
  }
  return OkStatus();
}

Status checkOperand(const TensorType& t, const Shape& batch, const Shape& contracted, Symbol batchName,
                    Symbol contractName) {
  TG_RETURN_IF_ERROR(checkAxes("contract", batchName, batch, t.shape.rank()));
  TG_RETURN_IF_ERROR(checkAxes("contract", contractName, contracted, t.shape.rank()));
  for (int64_t axis : contracted)
    if (contains(batch, static_cast<int>(axis)))
      return invalid("contract: axis {} is in {} {} and in {} {}", axis, batchName.text(), toString(batch),
                     contractName.text(), toString(contracted));
  return OkStatus();
}

StatusOr<DType> resultType(const TensorType& a, const TensorType& b, const Attributes& attributes) {
  if (a.dtype != b.dtype) return invalid("contract: a is {} but b is {}; cast one first", toString(a), toString(b));
  if (a.dtype == DType::Bool) return invalid("contract: a is {}; expected floats or integers", toString(a));
  if (!attributes.has(attr::dtype)) return a.dtype;
  TG_ASSIGN_OR_RETURN(DType d, dtypeAttribute("contract", attributes, attr::dtype));
  if (d == DType::Bool || isFloat(d) != isFloat(a.dtype))
    return invalid("contract: a is {} but the result type is {}; floats give floats and integers integers", toString(a),
                   name(d));
  return d;
}

StatusOr<TensorTypes> infer(std::span<const TensorType> inputs, const Attributes& attributes) {
  TG_RETURN_IF_ERROR(checkInputCount("contract", inputs, 2));
  TG_RETURN_IF_ERROR(
      checkKnown("contract", attributes, {attr::batchA, attr::batchB, attr::contractA, attr::contractB, attr::dtype}));
  const TensorType &a = inputs[0], &b = inputs[1];
  TG_ASSIGN_OR_RETURN(Shape batchA, intsAttribute("contract", attributes, attr::batchA));
  TG_ASSIGN_OR_RETURN(Shape batchB, intsAttribute("contract", attributes, attr::batchB));
  TG_ASSIGN_OR_RETURN(Shape contractA, intsAttribute("contract", attributes, attr::contractA));
  TG_ASSIGN_OR_RETURN(Shape contractB, intsAttribute("contract", attributes, attr::contractB));
  TG_RETURN_IF_ERROR(checkOperand(a, batchA, contractA, attr::batchA, attr::contractA));
  TG_RETURN_IF_ERROR(checkOperand(b, batchB, contractB, attr::batchB, attr::contractB));
  TG_RETURN_IF_ERROR(checkPairs(a, b, batchA, batchB, attr::batchA, attr::batchB));
  TG_RETURN_IF_ERROR(checkPairs(a, b, contractA, contractB, attr::contractA, attr::contractB));
  TG_ASSIGN_OR_RETURN(DType d, resultType(a, b, attributes));
  Shape freeA = freeAxes(a.shape.rank(), batchA, contractA), freeB = freeAxes(b.shape.rank(), batchB, contractB);
  TG_RETURN_IF_ERROR(checkRank("contract", batchA.rank() + freeA.rank() + freeB.rank()));
  TensorType result{d, {}};
  for (int64_t axis : batchA) result.shape.push_back(a.shape[static_cast<int>(axis)]);
  for (int64_t axis : freeA) result.shape.push_back(a.shape[static_cast<int>(axis)]);
  for (int64_t axis : freeB) result.shape.push_back(b.shape[static_cast<int>(axis)]);
  TG_RETURN_IF_ERROR(checkSize("contract", result));
  return one(result);
}

#if TEGULA_REFERENCE
int64_t extentOf(const HostArray& x, const Shape& axes) {
  int64_t n = 1;
  for (int64_t axis : axes) n *= x.shape()[static_cast<int>(axis)];
  return n;
}

HostArray permuted(const HostArray& x, const Shape& first, const Shape& second, const Shape& third) {
  Shape order(first);
  for (int64_t axis : second) order.push_back(axis);
  for (int64_t axis : third) order.push_back(axis);
  return x.transpose(order.dims());
}

/// c[M,N] += a[M,K] b[K,N], row-major. K is walked in blocks so that the rows of b in use stay in the second-level
/// cache; the innermost loop runs along rows of b and c, which the C++ compiler turns into vector code.
template <typename T> void multiply(const T* a, const T* b, T* c, int64_t m, int64_t k, int64_t n) {
  constexpr int64_t kBlockK = 64, kBlockN = 512; // 256 KiB of b
  for (int64_t n0 = 0; n0 < n; n0 += kBlockN) {
    int64_t n1 = std::min(n, n0 + kBlockN);
    for (int64_t k0 = 0; k0 < k; k0 += kBlockK) {
      int64_t k1 = std::min(k, k0 + kBlockK);
      for (int64_t i = 0; i < m; ++i) {
        T* row = c + i * n;
        for (int64_t p = k0; p < k1; ++p) {
          T factor = a[i * k + p];
          const T* from = b + p * n;
          for (int64_t j = n0; j < n1; ++j) {
            if constexpr (std::is_same_v<T, double>)
              row[j] += factor * from[j];
            else
              row[j] = wrapAdd(row[j], wrapMul(factor, from[j]));
          }
        }
      }
    }
  }
}

Status evaluate(std::span<const HostArray> inputs, const Attributes& attributes, std::span<HostArray> outputs) {
  const HostArray &a = inputs[0], &b = inputs[1];
  const Shape &batchA = attributes.getInts(attr::batchA), &batchB = attributes.getInts(attr::batchB);
  const Shape &contractA = attributes.getInts(attr::contractA), &contractB = attributes.getInts(attr::contractB);
  Shape freeA = freeAxes(a.shape().rank(), batchA, contractA), freeB = freeAxes(b.shape().rank(), batchB, contractB);
  int64_t batches = extentOf(a, batchA), m = extentOf(a, freeA), k = extentOf(a, contractA), n = extentOf(b, freeB);
  return withComputeType(a.dtype(), [&](auto zero) {
    using T = decltype(zero);
    InputValues<T> left(permuted(a, batchA, freeA, contractA)), right(permuted(b, batchB, contractB, freeB));
    OutputValues<T> y(outputs[0]);
    for (int64_t i = 0; i < batches; ++i)
      multiply<T>(left.data() + i * m * k, right.data() + i * k * n, y.data() + i * m * n, m, k, n);
    y.store();
    return OkStatus();
  });
}
#endif

} // namespace

std::span<const Primitive> contractPrimitives() {
  static const Primitive table[] = {
      {"contract", PrimitiveKind::Contract, 2, true, infer, TG_EVALUATE(evaluate)},
  };
  return table;
}

} // namespace tegula
