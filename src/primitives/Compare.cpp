// equal less less_equal: comparisons of two elements of one type. A NaN equals and orders with nothing.
#include "primitives/Families.h"
#include "primitives/InferRules.h"
#include "primitives/Values.h"

namespace tegula {
namespace {

enum class Relation { Equal, Less, LessEqual };

template <RuleName kName, Relation kRelation>
StatusOr<TensorTypes> infer(std::span<const TensorType> inputs, const Attributes& attributes) {
  TG_RETURN_IF_ERROR(checkInputCount(kName.view(), inputs, 2));
  TG_RETURN_IF_ERROR(checkKnown(kName.view(), attributes, {}));
  const TensorType &a = inputs[0], &b = inputs[1];
  if (a.dtype != b.dtype)
    return invalid("{}: a is {} but b is {}; cast one first", kName.view(), toString(a), toString(b));
  if (a.dtype == DType::Bool && kRelation != Relation::Equal)
    return invalid("{}: a is {}; truth values have no order; cast them first", kName.view(), toString(a));
  if (a.shape != b.shape)
    return invalid("{}: a is {} but b is {}; broadcast one first", kName.view(), toString(a), toString(b));
  return one({DType::Bool, a.shape});
}

#if TEGULA_REFERENCE
template <Relation kRelation>
Status evaluate(std::span<const HostArray> inputs, const Attributes&, std::span<HostArray> outputs) {
  return withComputeType(inputs[0].dtype(), [&](auto zero) {
    using T = decltype(zero);
    InputValues<T> a(inputs[0]), b(inputs[1]);
    OutputValues<int64_t> y(outputs[0]);
    for (int64_t i = 0; i < y.size(); ++i)
      y[i] = kRelation == Relation::Equal ? a[i] == b[i] : kRelation == Relation::Less ? a[i] < b[i] : a[i] <= b[i];
    y.store();
    return OkStatus();
  });
}
#endif

template <RuleName kName, Relation kRelation> Primitive relation() {
  return {kName.view(), PrimitiveKind::Elementwise, 2,
          false,        infer<kName, kRelation>,    TG_EVALUATE(evaluate<kRelation>)};
}

} // namespace

std::span<const Primitive> comparePrimitives() {
  static const Primitive table[] = {
      relation<"equal", Relation::Equal>(),
      relation<"less", Relation::Less>(),
      relation<"less_equal", Relation::LessEqual>(),
  };
  return table;
}

} // namespace tegula
