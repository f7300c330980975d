// Reading a document by its suffix.
#include "config/Document.h"

#include "base/Files.h"

namespace tegula::config {

const Item* Item::find(std::string_view key) const {
  for (const Entry& e : entries)
    if (e.key == key) return &e.value;
  return nullptr;
}

std::string_view describe(Item::Kind kind) {
  switch (kind) {
  case Item::Kind::Null:
    return "null";
  case Item::Kind::Bool:
    return "true or false";
  case Item::Kind::Integer:
    return "an integer";
  case Item::Kind::Float:
    return "a number";
  case Item::Kind::String:
    return "a string";
  case Item::Kind::Date:
    return "a date or a time";
  case Item::Kind::Array:
    return "an array";
  case Item::Kind::Table:
    break;
  }
  return "a table";
}

StatusOr<Document> readDocument(const std::string& path) {
  TG_ASSIGN_OR_RETURN(std::string text, readFile(path));
  if (path.ends_with(".json")) return parseJson(text, path);
  return parseToml(text, path);
}

} // namespace tegula::config
