// Byte and character tokenizers and their JSON form.
#include "data/Tokenizer.h"

#include "base/Files.h"
#include "base/Utf8.h"
#include <nlohmann/json.hpp>
#include <set>
#include <unordered_map>

namespace tegula {
namespace {

constexpr std::string_view kFormat = "tegula-tokenizer-1";

/// Length of the character at the front of well-formed UTF-8.
size_t characterLength(char lead) {
  auto byte = static_cast<unsigned char>(lead);
  return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

/// A character for a message: control characters as escapes.
std::string shown(std::string_view c) {
  if (c == "\n") return "\\n";
  if (c == "\t") return "\\t";
  if (c == "\r") return "\\r";
  bool control = c.size() == 1 && (static_cast<unsigned char>(c[0]) < 0x20 || c[0] == 0x7f);
  return control ? fmt::format("\\x{:02x}", static_cast<unsigned char>(c[0])) : std::string(c);
}

std::vector<std::string> sortedCharacters(std::span<const std::string_view> texts) {
  std::set<std::string, std::less<>> seen;
  for (std::string_view text : texts)
    for (size_t i = 0; i < text.size();) {
      size_t n = characterLength(text[i]);
      std::string_view c = text.substr(i, n);
      if (seen.find(c) == seen.end()) seen.emplace(c);
      i += n;
    }
  return {seen.begin(), seen.end()};
}

} // namespace

Tokenizer Tokenizer::bytes(bool withBoundary) {
  Tokenizer t;
  t.boundary_ = withBoundary;
  return t;
}

Tokenizer Tokenizer::characters(std::span<const std::string_view> texts, bool withBoundary) {
  Tokenizer t;
  t.kind_ = Kind::Characters;
  t.boundary_ = withBoundary;
  t.characters_ = sortedCharacters(texts);
  return t;
}

StatusOr<std::vector<int32_t>> Tokenizer::encode(std::string_view text) const {
  std::vector<int32_t> out;
  out.reserve(text.size());
  if (kind_ == Kind::Bytes) {
    for (char c : text) out.push_back(static_cast<unsigned char>(c));
    return out;
  }
  if (size_t bad = findInvalidUtf8(text); bad != std::string_view::npos)
    return invalid("byte 0x{:02x} at offset {} is not UTF-8; this vocabulary is made of characters",
                   static_cast<unsigned char>(text[bad]), bad);
  std::unordered_map<std::string_view, int32_t> tokens;
  for (size_t i = 0; i < characters_.size(); ++i) tokens.emplace(characters_[i], static_cast<int32_t>(i));
  for (size_t i = 0; i < text.size();) {
    std::string_view c = text.substr(i, characterLength(text[i]));
    auto found = tokens.find(c);
    if (found == tokens.end())
      return invalid(
          "'{}' at offset {} is not among the {} characters of the training text; leave it out, or train with "
          "data.tokenizer = \"byte\", which takes any text",
          shown(c), i, characters_.size());
    out.push_back(found->second);
    i += c.size();
  }
  return out;
}

std::string Tokenizer::decode(std::span<const int32_t> tokens) const {
  std::string out;
  for (int32_t t : tokens) {
    if (t >= 0 && t < symbols())
      out += kind_ == Kind::Bytes ? std::string(1, static_cast<char>(t)) : characters_[t];
    else if (boundary_ && t == boundary())
      out += "\n\n";
  }
  return out;
}

std::string Tokenizer::toJson() const {
  nlohmann::ordered_json j;
  j["format"] = kFormat;
  j["kind"] = kind_ == Kind::Bytes ? "bytes" : "characters";
  if (kind_ == Kind::Characters) {
    std::string all;
    for (const std::string& c : characters_) all += c;
    j["characters"] = all;
  }
  j["boundary"] = boundary_;
  return j.dump(1) + "\n";
}

StatusOr<Tokenizer> Tokenizer::fromJson(std::string_view text, const std::string& name) {
  nlohmann::json j = nlohmann::json::parse(text, nullptr, false);
  bool known = j.is_object() && j.contains("format") && j["format"] == kFormat && j.contains("kind") &&
               j["kind"].is_string() && j.contains("boundary") && j["boundary"].is_boolean();
  if (!known) return invalid("{}: is not a tokenizer file of format {}", name, kFormat);
  bool boundary = j["boundary"];
  if (j["kind"] == "bytes") return bytes(boundary);
  if (j["kind"] != "characters" || !j.contains("characters") || !j["characters"].is_string())
    return invalid("{}: kind must be bytes or characters (with a string of them)", name);
  std::string all = j["characters"];
  std::string_view view = all;
  return characters({&view, 1}, boundary);
}

StatusOr<Tokenizer> Tokenizer::load(const std::string& path) {
  TG_ASSIGN_OR_RETURN(std::string text, readFile(path));
  return fromJson(text, path);
}

Status Tokenizer::save(const std::string& path) const { return writeFileAtomically(path, toJson()); }

} // namespace tegula
