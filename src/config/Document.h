// A parsed configuration file: a tree of tables, arrays and values that remembers where each key stood, whatever the
// syntax was. TOML for files that people write, JSON for files that tools write; Schema reads both the same way.
//
//   TG_ASSIGN_OR_RETURN(Document doc, readDocument("run.toml"));
//   for (const Entry& e : doc.root.entries) …
#pragma once

#include "base/Status.h"
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tegula::config {

struct Entry;

/// One value. A table keeps its entries in the file's order; an array keeps its items.
struct Item {
  enum class Kind : uint8_t { Null, Bool, Integer, Float, String, Date, Array, Table }; // a Date has no scalar
  Kind kind = Kind::Table;
  std::variant<std::monostate, bool, int64_t, double, std::string> scalar;
  std::vector<Item> items;
  std::vector<Entry> entries;
  int line = 0; // 1-based; 0 where the value did not come from a file

  const Item* find(std::string_view key) const;
};

struct Entry {
  std::string key;
  Item value;
  int line = 0;
};

/// "an integer", "a table": for messages.
std::string_view describe(Item::Kind);

struct Document {
  std::string name; // of the file, for messages
  Item root;        // a table
};

/// How deep tables, arrays and the parts of a key may be nested in a document: configurations are flat, and whoever
/// walks a document recurses.
constexpr size_t kMaxDepth = 64;

/// Fails: `name:line: what is wrong` for text that is not TOML / JSON, whose root is no table or that is nested deeper
/// than kMaxDepth; for TOML with the column, the line and a caret.
StatusOr<Document> parseToml(std::string_view text, std::string name);
StatusOr<Document> parseJson(std::string_view text, std::string name);
/// By suffix: .json is JSON, anything else TOML. Fails also when the file cannot be read.
StatusOr<Document> readDocument(const std::string& path);
/// The value of `key=VALUE` on a command line: a TOML value, or a bare word, which is a string.
Item parseValue(std::string_view text);

} // namespace tegula::config
