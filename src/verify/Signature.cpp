// What calls take: from the library for operators, from a table for primitives (whose inputs have no names of their
// own).
#include "base/NearestName.h"
#include "verify/Problem.h"

#include <algorithm>

namespace tegula {
namespace {

struct PrimitiveNames {
  std::string_view primitive;
  std::vector<std::string_view> inputs;
};

/// Inputs of the primitives that do not take (x) or (a, b).
const std::vector<PrimitiveNames>& inputNames() {
  static const auto* table = new std::vector<PrimitiveNames>{{"select", {"cond", "a", "b"}},
                                                             {"convolution", {"x", "w"}},
                                                             {"gather", {"x", "indices"}},
                                                             {"gather_elements", {"x", "indices"}},
                                                             {"scatter_add", {"updates", "indices"}},
                                                             {"scatter_elements_add", {"updates", "indices"}},
                                                             {"random_uniform", {"seed", "step"}}};
  return *table;
}

std::optional<DType> statedType(std::string_view primitive, std::string_view input) {
  if (input == "cond" || primitive.starts_with("logical_")) return DType::Bool;
  if (input == "indices" || primitive == "random_uniform") return DType::I64;
  return std::nullopt;
}

CallSignature ofPrimitive(const Primitive& p) {
  CallSignature signature;
  signature.isPrimitive = true;
  signature.results = p.name.text() == "sort" ? 2 : 1;
  std::vector<std::string_view> names = p.inputs == 2   ? std::vector<std::string_view>{"a", "b"}
                                        : p.inputs == 0 ? std::vector<std::string_view>{}
                                                        : std::vector<std::string_view>{"x"};
  for (const PrimitiveNames& row : inputNames())
    if (row.primitive == p.name.text()) names = row.inputs;
  for (std::string_view n : names) {
    auto stated = statedType(p.name.text(), n);
    signature.inputs.push_back({n, false, p.inputs < 0, p.differentiable && !stated, stated});
  }
  return signature;
}

} // namespace

StatusOr<CallSignature> signatureOf(Symbol op, const OperatorLibrary& library) {
  if (const OperatorInfo* info = library.find(op)) {
    CallSignature signature;
    signature.attributes = info->attributes;
    signature.results = info->results;
    for (const lang::InputDecl& input : library.declaration(op)->inputs)
      signature.inputs.push_back(
          {input.name, input.optional, input.variadic, input.differentiable, lang::statedType(input)});
    return signature;
  }
  if (const Primitive* primitive = findPrimitive(op)) return ofPrimitive(*primitive);
  std::vector<Symbol> names = library.names();
  std::vector<std::string_view> texts;
  for (Symbol n : names) texts.push_back(n.text());
  for (const Primitive* p : allPrimitives()) texts.push_back(p->name.text());
  return notFound("no operator or primitive {}{}", op.text(), didYouMean(op.text(), texts));
}

} // namespace tegula
