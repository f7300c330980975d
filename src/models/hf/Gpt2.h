// GPT-2 folders as Hugging Face writes them: config.json and model.safetensors, whose Conv1D weights are [in, out].
//
//   TG_ASSIGN_OR_RETURN(GptConfig config, hf::readGpt2Config("gpt2/config.json"));
//   TG_ASSIGN_OR_RETURN(auto arrays, hf::readGpt2Weights("gpt2/model.safetensors", config));
//   Gpt model(config);
//   TG_RETURN_IF_ERROR(model.parameters().create(session, arrays));
#pragma once

#include "models/Gpt.h"

namespace tegula::hf {

/// Fails: not a GPT-2 config, or one that asks for what this model does not do (another activation, scaling by layer).
StatusOr<GptConfig> readGpt2Config(const std::string& path);

/// Tensors under this library's names and layouts. Names may lack the leading `transformer.`; stored masks
/// (`attn.bias`, `attn.masked_bias`) are dropped; a head stored beside a tied table must equal it.
StatusOr<std::map<std::string, HostArray>> readGpt2Weights(const std::string& path, const GptConfig&);

/// Whether Hugging Face stores this parameter transposed (Conv1D).
bool isConv1d(std::string_view parameterName);

} // namespace tegula::hf
