// random_uniform: numbers in [0,1) that depend on (seed, stream, step, element index) only. A number is the leading
// bits of the element's first Philox word (the first two for f64), as many as the type holds exactly.
#include "base/Philox.h"
#include "primitives/Families.h"
#include "primitives/InferRules.h"
#include "primitives/Values.h"

#include <cmath>

namespace tegula {
namespace {

StatusOr<TensorTypes> infer(std::span<const TensorType> inputs, const Attributes& attributes) {
  TG_RETURN_IF_ERROR(checkInputCount("random_uniform", inputs, 2));
  TG_RETURN_IF_ERROR(checkKnown("random_uniform", attributes, {attr::shape, attr::stream, attr::dtype}));
  for (const TensorType& t : inputs)
    if (t != TensorType{DType::I64, {}})
      return invalid("random_uniform: seed is {} and step is {}; expected i64[] for both", toString(inputs[0]),
                     toString(inputs[1]));
  TG_ASSIGN_OR_RETURN(Shape shape, intsAttribute("random_uniform", attributes, attr::shape));
  TG_RETURN_IF_ERROR(intAttribute("random_uniform", attributes, attr::stream).status());
  TG_ASSIGN_OR_RETURN(DType d, dtypeAttribute("random_uniform", attributes, attr::dtype));
  if (!isFloat(d) || sizeBytes(d) < 2)
    return invalid("random_uniform: dtype is {}; expected f16, bf16, f32 or f64", name(d));
  TG_RETURN_IF_ERROR(checkSize("random_uniform", {d, shape}));
  return one({d, shape});
}

#if TEGULA_REFERENCE
int significantBits(DType d) { return d == DType::BF16 ? 8 : d == DType::F16 ? 11 : d == DType::F32 ? 24 : 53; }

Status evaluate(std::span<const HostArray> inputs, const Attributes& attributes, std::span<HostArray> outputs) {
  auto seed = static_cast<uint64_t>(inputs[0].getInt(0)), step = static_cast<uint64_t>(inputs[1].getInt(0));
  auto key = philoxKey(seed, static_cast<uint64_t>(attributes.getInt(attr::stream)));
  int bits = significantBits(attributes.getDType(attr::dtype)); // of the stated type, in wide evaluation too
  OutputValues<double> y(outputs[0]);
  for (int64_t i = 0; i < y.size(); ++i) {
    PhiloxBlock block = philoxElement(key, step, static_cast<uint64_t>(i));
    uint64_t word = static_cast<uint64_t>(block[0]) << 32 | block[1];
    y[i] = std::ldexp(static_cast<double>(word >> (64 - bits)), -bits);
  }
  y.store();
  return OkStatus();
}
#endif

} // namespace

std::span<const Primitive> randomPrimitives() {
  static const Primitive table[] = {
      {"random_uniform", PrimitiveKind::Source, 2, false, infer, TG_EVALUATE(evaluate)},
  };
  return table;
}

} // namespace tegula
