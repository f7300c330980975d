// Reading safetensors by mapping, with every stated offset checked; writing them in name order.
#include "tensor/Safetensors.h"

#include "base/Files.h"
#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace tegula {
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors data is little-endian");

using Json = nlohmann::ordered_json;

constexpr uint64_t kLengthBytes = 8;
constexpr uint64_t kMaxHeaderBytes = 100'000'000; // the format's own limit

struct TypeName {
  DType dtype;
  std::string_view name;
};
constexpr TypeName kTypeNames[] = {{DType::Bool, "BOOL"}, {DType::I8, "I8"},          {DType::U8, "U8"},
                                   {DType::I16, "I16"},   {DType::U16, "U16"},        {DType::I32, "I32"},
                                   {DType::I64, "I64"},   {DType::F8E4M3, "F8_E4M3"}, {DType::F8E5M2, "F8_E5M2"},
                                   {DType::F16, "F16"},   {DType::BF16, "BF16"},      {DType::F32, "F32"},
                                   {DType::F64, "F64"}};

std::optional<DType> typeFromName(std::string_view text) {
  for (const TypeName& t : kTypeNames)
    if (t.name == text) return t.dtype;
  return std::nullopt;
}

std::string_view nameOfType(DType d) {
  for (const TypeName& t : kTypeNames)
    if (t.dtype == d) return t.name;
  return "";
}

struct Entry {
  std::string name;
  TensorType type;
  uint64_t begin, end;
};

StatusOr<Shape> readShape(const std::string& tensor, const Json& json) {
  if (!json.is_array()) return invalid("tensor {}: shape is {}; expected a list of numbers", tensor, json.dump());
  if (json.size() > kMaxRank)
    return invalid("tensor {}: shape has {} axes; at most {} are supported", tensor, json.size(), kMaxRank);
  Shape shape;
  for (const Json& extent : json) {
    if (!extent.is_number_unsigned() || extent.get<uint64_t>() > INT64_MAX)
      return invalid("tensor {}: shape {} has an extent that is not a count", tensor, json.dump());
    shape.push_back(extent.get<int64_t>());
  }
  return shape;
}

StatusOr<Entry> readEntry(const std::string& name, const Json& json, uint64_t dataBytes) {
  for (const char* key : {"dtype", "shape", "data_offsets"})
    if (!json.is_object() || !json.contains(key)) return invalid("tensor {}: the header gives no {}", name, key);
  if (!json["dtype"].is_string()) return invalid("tensor {}: dtype is {}", name, json["dtype"].dump());
  auto typeName = json["dtype"].get<std::string>();
  auto dtype = typeFromName(typeName);
  if (!dtype) return invalid("tensor {}: dtype {} is not supported", name, typeName);
  TG_ASSIGN_OR_RETURN(Shape shape, readShape(name, json["shape"]));
  const Json& offsets = json["data_offsets"];
  if (!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned() ||
      !offsets[1].is_number_unsigned())
    return invalid("tensor {}: data_offsets are {}; expected two counts", name, offsets.dump());
  Entry entry{name, {*dtype, shape}, offsets[0].get<uint64_t>(), offsets[1].get<uint64_t>()};
  if (entry.begin > entry.end || entry.end > dataBytes)
    return invalid("tensor {}: bytes {} to {} lie outside the {} bytes of data", name, entry.begin, entry.end,
                   dataBytes);
  auto elements = checkedElements(shape, sizeBytes(*dtype));
  if (!elements || static_cast<uint64_t>(*elements * sizeBytes(*dtype)) != entry.end - entry.begin)
    return invalid("tensor {}: {} does not fill its {} bytes", name, toString(entry.type), entry.end - entry.begin);
  return entry;
}

Status checkOverlaps(std::vector<Entry>& entries) {
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return std::tie(a.begin, a.end) < std::tie(b.begin, b.end); });
  for (size_t i = 1; i < entries.size(); ++i)
    if (entries[i].begin < entries[i - 1].end)
      return invalid("tensor {}: bytes {} to {} overlap those of {} ({} to {})", entries[i].name, entries[i].begin,
                     entries[i].end, entries[i - 1].name, entries[i - 1].begin, entries[i - 1].end);
  return OkStatus();
}

Status readMetadata(const Json& json, std::map<std::string, std::string>& metadata) {
  if (!json.is_object()) return invalid("__metadata__ is {}; expected names and texts", json.dump());
  for (const auto& [key, value] : json.items()) {
    if (!value.is_string()) return invalid("__metadata__ {} is {}; expected a text", key, value.dump());
    metadata[key] = value.get<std::string>();
  }
  return OkStatus();
}

/// The tensor's bytes in place, or a copy where they are not aligned for their type.
HostArray viewOf(const Entry& entry, std::span<const uint8_t> data, const std::shared_ptr<const MappedFile>& file) {
  const uint8_t* first = data.data() + entry.begin;
  if (reinterpret_cast<uintptr_t>(first) % static_cast<uintptr_t>(sizeBytes(entry.type.dtype)) != 0) {
    HostArray copy(entry.type);
    std::memcpy(copy.data(), first, entry.end - entry.begin);
    return copy;
  }
  return HostArray::wrap(entry.type, rowMajorStrides(entry.type.shape), const_cast<uint8_t*>(first), file);
}

StatusOr<Safetensors> readMapped(const std::shared_ptr<const MappedFile>& file) {
  std::span<const uint8_t> bytes = file->bytes();
  if (bytes.size() < kLengthBytes)
    return invalid("the file has {} bytes; a safetensors file begins with 8 for the header's length", bytes.size());
  uint64_t headerBytes = 0;
  std::memcpy(&headerBytes, bytes.data(), kLengthBytes);
  if (headerBytes > kMaxHeaderBytes || headerBytes > bytes.size() - kLengthBytes)
    return invalid("the header claims {} bytes but the file has {}", headerBytes, bytes.size());
  const auto* text = reinterpret_cast<const char*>(bytes.data() + kLengthBytes);
  // A callback refuses nesting early, so that a hostile header cannot make the parser recurse deeply.
  bool deep = false;
  Json header = Json::parse(
      text, text + headerBytes,
      [&](int depth, Json::parse_event_t, Json&) {
        deep = deep || depth > 8;
        return !deep;
      },
      /*allow_exceptions=*/false);
  if (deep || header.is_discarded() || !header.is_object()) return invalid("the header is not a JSON object");

  Safetensors result;
  std::span<const uint8_t> data = bytes.subspan(kLengthBytes + headerBytes);
  std::vector<Entry> entries;
  for (const auto& [name, json] : header.items()) {
    if (name == "__metadata__") {
      TG_RETURN_IF_ERROR(readMetadata(json, result.metadata));
      continue;
    }
    TG_ASSIGN_OR_RETURN(Entry entry, readEntry(name, json, data.size()));
    entries.push_back(std::move(entry));
  }
  TG_RETURN_IF_ERROR(checkOverlaps(entries));
  for (const Entry& entry : entries) result.tensors.emplace(entry.name, viewOf(entry, data, file));
  return result;
}

std::string makeHeader(const Safetensors& contents) {
  Json header = Json::object();
  if (!contents.metadata.empty()) header["__metadata__"] = contents.metadata;
  int64_t offset = 0;
  for (const auto& [name, array] : contents.tensors) {
    int64_t size = array.type().sizeBytes();
    header[name] = {{"dtype", nameOfType(array.dtype())},
                    {"shape", std::vector<int64_t>(array.shape().begin(), array.shape().end())},
                    {"data_offsets", {offset, offset + size}}};
    offset += size;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' '); // data begins at a multiple of 8
  return text;
}

Status writeTo(std::FILE* file, const std::string& path, const Safetensors& contents) {
  std::string header = makeHeader(contents);
  uint64_t length = header.size();
  bool ok = std::fwrite(&length, 1, kLengthBytes, file) == kLengthBytes &&
            std::fwrite(header.data(), 1, header.size(), file) == header.size();
  for (const auto& [name, array] : contents.tensors) {
    HostArray dense = array.contiguous();
    auto bytes = std::as_const(dense).bytes();
    ok = ok && std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  }
  ok = ok && std::fflush(file) == 0 && ::fsync(::fileno(file)) == 0;
  return ok ? OkStatus() : systemError("cannot write", path, errno);
}

} // namespace

StatusOr<Safetensors> readSafetensors(const std::string& path) {
  TG_ASSIGN_OR_RETURN(auto file, MappedFile::open(path));
  auto result = readMapped(file);
  if (!result.ok()) return addContext(result.status(), path);
  return result;
}

Status writeSafetensors(const std::string& path, const Safetensors& contents) {
  if (contents.tensors.contains("__metadata__"))
    return invalid("{}: a tensor cannot be called __metadata__; the format keeps that name", path);
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (!file) return systemError("cannot make", path, errno);
  Status status = writeTo(file, path, contents);
  if (std::fclose(file) != 0 && status.ok()) status = systemError("cannot write", path, errno);
  return status;
}

} // namespace tegula
