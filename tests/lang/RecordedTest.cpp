// Every recorded operator call: the operator library evaluated in f64 against the independent implementation, and each
// @grad written by hand against the recorded gradients (derived gradients are the graph's to test).
#include "EagerBuilder.h"
#include "tensor/Safetensors.h"
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tegula {
namespace {

std::string recordedFolder() {
  const char* named = std::getenv("TEGULA_RECORDED");
  return named ? named : TEGULA_SOURCE_DIR "/../shared/oracle";
}

AttrValue attributeOf(const nlohmann::json& j) {
  if (j.is_boolean()) return j.get<bool>();
  if (j.is_number_integer()) return j.get<int64_t>();
  if (j.is_number()) return j.get<double>();
  if (j.is_string()) return Symbol(j.get<std::string>());
  if (j.is_array()) {
    Shape s;
    for (const auto& x : j) s.push_back(x.get<int64_t>());
    return s;
  }
  return {};
}

/// The largest difference over the largest magnitude. f64 against f64: rounding only, and what order of summation costs
/// (K * 2^-53 of the sum of magnitudes, K <= 50257). NaN and infinities must be equal.
double relativeError(const HostArray& got, const HostArray& want) {
  double worst = 0, largest = 1e-30;
  for (int64_t i = 0; i < want.elements(); ++i) {
    double g = got.get(i), w = want.get(i);
    if (std::isnan(w) || std::isinf(w)) {
      if (!(std::isnan(w) ? std::isnan(g) : g == w)) return INFINITY;
      continue;
    }
    largest = std::max(largest, std::abs(w));
    worst = std::max(worst, std::isfinite(g) ? std::abs(g - w) : INFINITY);
  }
  return worst / largest;
}

class Recorded : public testing::TestWithParam<const char*> {};

TEST_P(Recorded, OperatorsAgree) {
  std::string folder = recordedFolder() + "/" + GetParam();
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "needs " << folder << " (TEGULA_RECORDED names the folder)";
  auto library = OperatorLibrary::loadEmbedded();
  ASSERT_TRUE(library.ok()) << library.status();
  const OperatorLibrary& lib = **library;
  nlohmann::json cases = nlohmann::json::parse(std::ifstream(folder + "/cases.json"));
  auto file = readSafetensors(folder + "/cases.safetensors");
  ASSERT_TRUE(file.ok()) << file.status();
  auto& tensors = file->tensors;
  int gradients = 0;
  for (const auto& c : cases["cases"]) {
    std::string id = c["case"], opName = c["op"];
    Symbol op(opName);
    SCOPED_TRACE(id + " " + opName);
    const OperatorInfo* info = lib.find(op);
    ASSERT_NE(info, nullptr);
    EagerBuilder builder(lib);
    // Inputs by name; the parts of a variadic input have names of their own.
    std::vector<std::string> names;
    Values inputs;
    bool variadic = info->inputs.back().variadic;
    if (variadic) {
      for (const auto& n : c["inputs"]) names.push_back(n);
    } else {
      for (const auto& in : info->inputs) names.emplace_back(in.name.text());
    }
    for (const std::string& n : names) {
      auto it = tensors.find(id + ".in." + n);
      inputs.push_back(it == tensors.end() ? Value() : builder.input(it->second, it->second.dtype()));
    }
    Attributes attributes;
    for (const auto& [k, v] : c["attrs"].items()) attributes.set(Symbol(k), attributeOf(v));
    std::span<const Value> given(inputs.data(), inputs.size());
    auto out = lib.instantiate(op, given, attributes, builder);
    ASSERT_TRUE(out.ok()) << out.status();
    const HostArray& want = tensors.at(id + ".out");
    EXPECT_EQ(builder.typeOf((*out)[0]).shape, want.shape());
    EXPECT_LT(relativeError(builder.array((*out)[0]), want), 2e-11);

    auto dout = tensors.find(id + ".dout");
    if (!info->hasGrad || dout == tensors.end()) continue;
    Values upstream = {builder.input(dout->second, dout->second.dtype())};
    while (upstream.size() < static_cast<size_t>(info->results)) upstream.push_back(Value());
    auto g = lib.instantiateGrad(op, given, std::span<const Value>(out->data(), out->size()),
                                 std::span<const Value>(upstream.data(), upstream.size()), attributes, builder);
    ASSERT_TRUE(g.ok()) << g.status();
    for (size_t i = 0; i < names.size(); ++i) {
      auto expected = tensors.find(id + ".grad." + names[i]);
      if (expected == tensors.end()) continue;
      ASSERT_TRUE((*g)[i].present()) << names[i];
      HostArray got = builder.array((*g)[i]);
      // A gradient wider than its input is summed over the broadcast axes by the caller.
      Shape wide = got.shape(), narrow = expected->second.shape();
      HostArray sum(TensorType{DType::F64, narrow});
      Shape strides = rowMajorStrides(narrow), wideStrides = rowMajorStrides(wide);
      for (int64_t e = 0; e < got.elements(); ++e) {
        int64_t at = 0;
        for (int a = 0; a < wide.rank(); ++a) {
          int b = a - (wide.rank() - narrow.rank());
          if (b >= 0 && narrow[b] != 1) at += e / wideStrides[a] % wide[a] * strides[b];
        }
        sum.set(at, sum.get(at) + got.get(e));
      }
      EXPECT_LT(relativeError(sum, expected->second), 2e-11) << "gradient of " << names[i];
      ++gradients;
    }
  }
  EXPECT_GT(gradients, 5);
}

INSTANTIATE_TEST_SUITE_P(Oracle, Recorded, testing::Values("operators", "operators-edge"), [](const auto& info) {
  return std::string(info.param).find("edge") != std::string::npos ? "Edge" : "Plain";
});

} // namespace
} // namespace tegula
