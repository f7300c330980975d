// How these tests run a primitive: infer, poison the outputs, evaluate.
#pragma once

#include "primitives/Primitive.h"

#include <gtest/gtest.h>
#include <limits>
#include <vector>

namespace tegula {

inline const double kNan = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

inline StatusOr<std::vector<HostArray>> evaluate(Symbol name, const std::vector<HostArray>& inputs,
                                                 const Attributes& attributes = {}) {
  const Primitive* primitive = findPrimitive(name);
  if (!primitive) return invalid("no primitive {}", name.text());
  std::vector<TensorType> types;
  for (const HostArray& x : inputs) types.push_back(x.type());
  TG_ASSIGN_OR_RETURN(TensorTypes results, primitive->infer(types, attributes));
  std::vector<HostArray> outputs;
  for (const TensorType& t : results) {
    outputs.emplace_back(t);
    for (uint8_t& byte : outputs.back().bytes()) byte = 0x5a; // whatever is left unwritten shows
  }
  TG_RETURN_IF_ERROR(primitive->evaluate(inputs, attributes, outputs));
  return outputs;
}

/// The first result; fails the test on an error.
inline HostArray run(Symbol name, const std::vector<HostArray>& inputs, const Attributes& attributes = {}) {
  auto outputs = evaluate(name, inputs, attributes);
  EXPECT_TRUE(outputs.ok()) << message(outputs.status());
  return outputs.ok() ? (*outputs)[0] : HostArray::scalar(DType::F64, kNan);
}

inline HostArray array(DType d, Shape s, const std::vector<double>& values) {
  return HostArray::fromValues(d, s, values);
}
inline HostArray f32(Shape s, const std::vector<double>& values) { return array(DType::F32, s, values); }
inline HostArray i64(Shape s, const std::vector<double>& values) { return array(DType::I64, s, values); }

/// The same values with the axes of memory reversed, so that nothing is row-major any more.
inline HostArray strided(const HostArray& x) {
  Shape order;
  for (int i = x.shape().rank() - 1; i >= 0; --i) order.push_back(i);
  return x.transpose(order.dims()).clone().transpose(order.dims());
}

/// The complaint of a shape rule.
inline std::string complaint(Symbol name, const std::vector<TensorType>& types, const Attributes& attributes = {}) {
  return std::string(message(findPrimitive(name)->infer(types, attributes).status()));
}

/// Equal, where a NaN equals a NaN.
inline void expectValues(const HostArray& result, const std::vector<double>& expected) {
  std::vector<double> found = result.toVector();
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    if (expected[i] != expected[i])
      EXPECT_NE(found[i], found[i]) << "element " << i;
    else
      EXPECT_EQ(found[i], expected[i]) << "element " << i;
  }
}

} // namespace tegula
