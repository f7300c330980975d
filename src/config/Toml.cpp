// TOML text to a Document, by toml++; the only file that includes it. The distribution's library is built with
// exceptions; none leaves this file.
#include <toml++/toml.h>

#include "config/Document.h"
#include <algorithm>

namespace tegula::config {
namespace {

Item convert(const toml::node& node) {
  Item item;
  item.line = static_cast<int>(node.source().begin.line);
  if (const toml::table* table = node.as_table()) {
    for (auto&& [key, value] : *table)
      item.entries.push_back({std::string(key.str()), convert(value), static_cast<int>(key.source().begin.line)});
    // toml++ sorts by name; people read errors and resolved files in the order in which they wrote.
    std::stable_sort(item.entries.begin(), item.entries.end(),
                     [](const Entry& a, const Entry& b) { return a.line < b.line; });
    return item;
  }
  if (const toml::array* array = node.as_array()) {
    item.kind = Item::Kind::Array;
    for (const toml::node& element : *array) item.items.push_back(convert(element));
    return item;
  }
  if (auto b = node.as_boolean()) {
    item.kind = Item::Kind::Bool;
    item.scalar = b->get();
  } else if (auto i = node.as_integer()) {
    item.kind = Item::Kind::Integer;
    item.scalar = i->get();
  } else if (auto f = node.as_floating_point()) {
    item.kind = Item::Kind::Float;
    item.scalar = f->get();
  } else if (auto s = node.as_string()) {
    item.kind = Item::Kind::String;
    item.scalar = s->get();
  } else {
    item.kind = Item::Kind::Null; // dates and times: no key takes them
  }
  return item;
}

} // namespace

StatusOr<Document> parseToml(std::string_view text, std::string name) {
  try {
    toml::table table = toml::parse(text, name);
    return Document{std::move(name), convert(table)};
  } catch (const toml::parse_error& e) {
    return invalid("{}:{}:{}: {}", name, e.source().begin.line, e.source().begin.column, e.description());
  }
}

Item parseValue(std::string_view text) {
  std::string line = "value = " + std::string(text);
  // A line break would let a value smuggle in further keys: then it is a string like any other text.
  if (text.find('\n') == std::string_view::npos) {
    try {
      toml::table table = toml::parse(line);
      Item item = convert(*table.get("value"));
      item.line = 0;
      return item;
    } catch (const toml::parse_error&) { // NOLINT(bugprone-empty-catch): a bare word
    }
  }
  Item item;
  item.kind = Item::Kind::String;
  item.scalar = std::string(text);
  return item;
}

} // namespace tegula::config
