// safetensors files: 8-byte little-endian header length, JSON header, raw little-endian row-major data.
// Source: github.com/huggingface/safetensors, README "Format".
#pragma once

#include "base/Status.h"
#include "tensor/HostArray.h"
#include <map>
#include <string>

namespace tegula {

struct Safetensors {
  std::map<std::string, HostArray> tensors;
  std::map<std::string, std::string> metadata;
};

/// Maps the file; arrays are read-only views that keep the mapping alive. Fails: missing file, header that lies about
/// sizes or offsets (overlaps, past the end), unknown dtype; each names the tensor and the values.
StatusOr<Safetensors> readSafetensors(const std::string& path);
/// Writes tensors in name order to `path` (not atomically: callers write aside and rename), fsyncs.
Status writeSafetensors(const std::string& path, const Safetensors&);

} // namespace tegula
