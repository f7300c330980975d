// What a schema writes: the resolved file and the reference page.
#include "config/FieldText.h"

namespace tegula::config {

std::string Schema::toToml() const {
  std::string out;
  auto writeKeys = [&](const Section& s) {
    for (const auto& key : s.keys_)
      if (std::string value = fieldToToml(key.field); !value.empty()) out += fmt::format("{} = {}\n", key.name, value);
  };
  if (const Section* top = findSection("")) writeKeys(*top);
  for (const auto& s : sections_) {
    if (s->name_.empty()) continue;
    out += fmt::format("{}[{}]\n", out.empty() ? "" : "\n", s->name_);
    writeKeys(*s);
  }
  for (const Repeated& r : repeated_)
    for (const auto& s : r.bound) {
      out += fmt::format("{}[[{}]]\n", out.empty() ? "" : "\n", r.name);
      writeKeys(*s);
    }
  return out;
}

std::vector<std::pair<std::string, std::string>> Schema::values() const {
  std::vector<std::pair<std::string, std::string>> out;
  for (const auto& s : sections_)
    for (const auto& key : s->keys_)
      out.emplace_back(s->name_.empty() ? key.name : s->name_ + "." + key.name, fieldToToml(key.field));
  return out;
}

std::string Schema::reference() const {
  std::string out = fmt::format("# {}\n", title_);
  auto describeSection = [&](const Section& s, std::string_view heading) {
    if (!heading.empty()) out += fmt::format("\n## {}\n", heading);
    if (!s.doc_.empty()) out += fmt::format("\n{}\n", s.doc_);
    out += "\n| key | type | default | meaning |\n|---|---|---|---|\n";
    for (const auto& key : s.keys_) {
      std::string range = rangeText(key.options);
      std::string type = fieldTypeName(key.field) + (range.empty() ? "" : "; " + range);
      std::string fallback = key.options.required      ? "required"
                             : key.defaultText.empty() ? "none"
                                                       : fmt::format("`{}`", key.defaultText);
      out += fmt::format("| `{}` | {} | {} | {} |\n", key.name, type, fallback, key.options.doc);
    }
  };
  if (const Section* top = findSection("")) describeSection(*top, "");
  for (const auto& s : sections_)
    if (!s->name_.empty()) describeSection(*s, fmt::format("[{}]", s->name_));
  for (const Repeated& r : repeated_) describeSection(*r.sample, fmt::format("[[{}]]", r.name));
  return out;
}

} // namespace tegula::config
