// Reading of recorded cases: names matched to the library's declarations, JSON values to attribute types.
#include "verify/RecordedCases.h"

#include "base/Files.h"
#include "tensor/Safetensors.h"
#include "verify/Problem.h"
#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

namespace tegula {
namespace {

using Json = nlohmann::json;
using Tensors = std::map<std::string, HostArray>;

StatusOr<AttrValue> attributeValue(const Json& json, std::string_view type) {
  if (json.is_boolean()) return AttrValue(json.get<bool>());
  if (json.is_string()) return AttrValue(Symbol(json.get<std::string>()));
  if (json.is_number() && type.starts_with("float")) return AttrValue(json.get<double>());
  if (json.is_number_integer()) return AttrValue(json.get<int64_t>()); // also for ints: repeated for each axis
  if (json.is_number()) return AttrValue(json.get<double>());
  if (json.is_array() && json.size() <= kMaxRank) {
    Shape list;
    for (const Json& x : json) {
      if (!x.is_number_integer()) return invalid("{} is not a list of ints", json.dump());
      list.push_back(x.get<int64_t>());
    }
    return AttrValue(list);
  }
  return invalid("{} is no attribute value", json.dump());
}

StatusOr<Attributes> readAttributes(const Json& json, const CallSignature& signature) {
  Attributes attributes;
  for (const auto& [name, value] : json.items()) {
    std::string type;
    for (const OperatorInfo::Attribute& a : signature.attributes)
      if (a.name.text() == name) type = a.type;
    auto read = attributeValue(value, type);
    if (!read.ok()) return addContext(read.status(), name);
    attributes.set(Symbol(name), *read);
  }
  return attributes;
}

StatusOr<HostArray> tensor(const Tensors& tensors, const std::string& name) {
  auto it = tensors.find(name);
  if (it == tensors.end()) return notFound("cases.safetensors has no tensor {}", name);
  return it->second;
}

StatusOr<RecordedCase> readCase(const Json& json, const Tensors& tensors, const OperatorLibrary& library) {
  RecordedCase c;
  c.id = json.at("case").get<std::string>();
  c.op = Symbol(json.at("op").get<std::string>());
  c.note = json.value("note", "");
  TG_ASSIGN_OR_RETURN(CallSignature signature, signatureOf(c.op, library));
  TG_ASSIGN_OR_RETURN(c.attributes, readAttributes(json.at("attrs"), signature));
  std::vector<std::string> given = json.at("inputs").get<std::vector<std::string>>();
  std::vector<std::string> wanted = json.value("gradients", std::vector<std::string>());
  auto take = [&](const std::string& name) -> Status {
    TG_ASSIGN_OR_RETURN(HostArray array, tensor(tensors, c.id + ".in." + name));
    c.inputs.push_back(array);
    c.inputNames.push_back(Symbol(name));
    c.gradients.emplace_back();
    if (std::find(wanted.begin(), wanted.end(), name) != wanted.end()) {
      TG_ASSIGN_OR_RETURN(c.gradients.back(), tensor(tensors, c.id + ".grad." + name));
    }
    return OkStatus();
  };
  size_t used = 0;
  for (const CallSignature::Input& input : signature.inputs) {
    if (input.variadic) { // takes every name that no other input has
      for (const std::string& name : given) TG_RETURN_IF_ERROR(take(name));
      used = given.size();
    } else if (std::find(given.begin(), given.end(), input.name.text()) != given.end()) {
      TG_RETURN_IF_ERROR(take(std::string(input.name.text())));
      ++used;
    } else {
      c.inputs.emplace_back();
      c.inputNames.push_back(input.name);
      c.gradients.emplace_back();
    }
  }
  if (used != given.size())
    return invalid("{}: the case gives inputs {} but the operator does not take them all", c.op.text(),
                   json.at("inputs").dump());
  TG_ASSIGN_OR_RETURN(c.result, tensor(tensors, c.id + ".out"));
  if (tensors.contains(c.id + ".dout")) c.upstream = tensors.at(c.id + ".dout");
  return c;
}

} // namespace

std::optional<std::string> recordedFolder(const std::string& fallback) {
  const char* named = std::getenv("TEGULA_RECORDED");
  std::string folder = named ? named : fallback;
  if (!isFolder(folder)) return std::nullopt;
  return folder;
}

StatusOr<RecordedSuite> readRecordedCases(const std::string& folder, const OperatorLibrary& library) {
  TG_ASSIGN_OR_RETURN(std::string text, readFile(folder + "/cases.json"));
  TG_ASSIGN_OR_RETURN(Safetensors file, readSafetensors(folder + "/cases.safetensors"));
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("cases")) return invalid("{}/cases.json is not an object with cases", folder);
  RecordedSuite suite;
  suite.source = json.contains("source") && json["source"].is_string() ? json["source"].get<std::string>() : "";
  for (const Json& entry : json["cases"]) {
    auto op = entry.at("op").get<std::string>();
    if (!library.find(Symbol(op))) {
      ++suite.skipped[op];
      continue;
    }
    auto read = readCase(entry, file.tensors, library);
    if (!read.ok()) return addContext(read.status(), fmt::format("{} case {}", folder, entry.at("case").dump()));
    suite.cases.push_back(*std::move(read));
  }
  return suite;
}

} // namespace tegula
