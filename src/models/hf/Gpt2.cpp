// Reading Hugging Face's GPT-2 layout.
#include "models/hf/Gpt2.h"

#include "config/Schema.h"
#include <algorithm>

namespace tegula::hf {
namespace {

std::string canonicalName(const std::string& name) {
  bool bare = !name.starts_with("transformer.") && !name.starts_with("lm_head.");
  return bare ? "transformer." + name : name;
}

bool isStoredMask(std::string_view name) { return name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias"); }

Status unsupportedActivation(const std::string& path, const std::string& name) {
  return unsupported("{}: activation_function is '{}'; this model has gelu_new (tanh form) and gelu (erf form)", path,
                     name);
}

} // namespace

bool isConv1d(std::string_view name) {
  if (!name.ends_with(".weight")) return false;
  std::string_view module = name.substr(0, name.size() - 7);
  return module.ends_with(".c_attn") || module.ends_with(".c_proj") || module.ends_with(".c_fc");
}

StatusOr<GptConfig> readGpt2Config(const std::string& path) {
  TG_ASSIGN_OR_RETURN(config::Document document, config::readDocument(path));
  std::erase_if(document.root.entries, [](const config::Entry& e) { return e.value.kind == config::Item::Kind::Null; });
  GptConfig c;
  std::string modelType, activation = "gelu_new";
  bool scaleWeights = true, scaleByLayer = false;
  config::Schema schema("GPT-2 config.json");
  schema.ignoreUnknown();
  auto& top = schema.section("");
  auto key = [&](const char* name, config::Field field, config::KeyOptions options = {}) {
    top.key(name, field, std::move(options));
  };
  key("model_type", &modelType, {.doc = "Must be gpt2.", .choices = {"gpt2"}, .required = true});
  key("vocab_size", &c.vocabulary, {.doc = "V.", .min = 1, .required = true});
  key("n_layer", &c.layers, {.doc = "Blocks.", .min = 1, .required = true});
  key("n_head", &c.heads, {.doc = "H.", .min = 1, .required = true});
  key("n_embd", &c.width, {.doc = "C.", .min = 1, .required = true});
  key("n_positions", &c.block, {.doc = "The longest sequence.", .min = 1, .required = true});
  key("n_inner", &c.hidden, {.min = 1});
  key("layer_norm_epsilon", &c.normEpsilon, {.above = 0});
  key("activation_function", &activation);
  key("tie_word_embeddings", &c.tiedHead);
  key("initializer_range", &c.standardDeviation, {.min = 0});
  key("scale_attn_weights", &scaleWeights);
  key("scale_attn_by_inverse_layer_idx", &scaleByLayer);
  TG_RETURN_IF_ERROR(schema.load(document));
  if (activation == "gelu_new" || activation == "gelu_pytorch_tanh")
    c.gelu = "tanh";
  else if (activation == "gelu")
    c.gelu = "erf";
  else
    return unsupportedActivation(path, activation);
  if (!scaleWeights || scaleByLayer)
    return unsupported("{}: attention scaled other than by 1/sqrt(head size) is not supported", path);
  TG_RETURN_IF_ERROR(addContext(c.check(), path));
  return c;
}

StatusOr<std::map<std::string, HostArray>> readGpt2Weights(const std::string& path, const GptConfig& config) {
  TG_ASSIGN_OR_RETURN(Safetensors file, readSafetensors(path));
  std::map<std::string, HostArray> out;
  for (auto& [stored, array] : file.tensors) {
    std::string name = canonicalName(stored);
    if (isStoredMask(name)) continue;
    if (isConv1d(name)) {
      if (array.shape().rank() != 2)
        return invalid("{}: {} has shape {}, expected two dimensions", path, stored, toString(array.shape()));
      const int64_t swap[] = {1, 0};
      array = array.transpose(swap).contiguous();
    }
    out.emplace(std::move(name), array);
  }
  auto head = out.find("lm_head.weight");
  if (config.tiedHead && head != out.end()) {
    auto table = out.find("transformer.wte.weight");
    bool same = table != out.end() && table->second.shape() == head->second.shape() &&
                std::ranges::equal(table->second.contiguous().bytes(), head->second.contiguous().bytes());
    if (!same)
      return invalid("{}: the config ties the head to the token table, but lm_head.weight differs from "
                     "transformer.wte.weight; set tie_word_embeddings to false to keep the file's head",
                     path);
    out.erase(head);
  }
  return out;
}

} // namespace tegula::hf
