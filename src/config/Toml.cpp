// TOML text to a Document, by toml++; the only file that includes it. The distribution's library is built with
// exceptions; none leaves this file.
#include <toml++/toml.h>

#include "base/Utf8.h"
#include "config/Schema.h"
#include "config/TomlDepth.h"
#include <algorithm>
#include <cctype>
#include <tuple>

namespace tegula::config {
namespace {

Item convert(const toml::node& node) {
  Item item;
  item.line = static_cast<int>(node.source().begin.line);
  if (const toml::table* table = node.as_table()) {
    for (auto&& [key, value] : *table)
      item.entries.push_back({std::string(key.str()), convert(value), static_cast<int>(key.source().begin.line)});
    // toml++ sorts by name; people read errors and resolved files in the order in which they wrote.
    std::ranges::sort(item.entries, {}, [](const Entry& e) { return std::tie(e.line, e.key); });
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
    item.kind = Item::Kind::Date; // or a time: no key takes them
  }
  return item;
}

/// Line `number` (from 1) of a text, without its end.
std::string_view lineOf(std::string_view text, int64_t number) {
  for (; number > 1; --number) text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  text = text.substr(0, text.find('\n'));
  return text.substr(0, text.find_last_not_of('\r') + 1);
}

/// Of UTF-8.
bool beginsCharacter(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

/// The line and a caret below character `column` (from 1), as errors of .tile files show them. Long lines are cut.
std::string excerpt(std::string_view line, int64_t column) {
  constexpr size_t kWidth = 160;
  std::vector<size_t> starts; // of characters, and the end
  for (size_t i = 0; i < line.size(); ++i)
    if (beginsCharacter(line[i])) starts.push_back(i);
  starts.push_back(line.size());
  size_t at = std::min(static_cast<size_t>(std::max<int64_t>(column, 1)) - 1, starts.size() - 1);
  size_t first = at > kWidth / 2 ? at - kWidth / 2 : 0, end = std::min(first + kWidth, starts.size() - 1);
  std::string shown(line.substr(starts[first], starts[end] - starts[first]));
  std::ranges::replace_if(shown, [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
  for (size_t bad; (bad = findInvalidUtf8(shown)) != std::string::npos;) shown[bad] = '?'; // terminals choke on it
  return fmt::format("\n    {}\n    {}^", shown, std::string(at - first, ' '));
}

std::string_view trimmed(std::string_view text) {
  size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") + 1 - first);
}

/// What people mostly do wrong, with the way out; else toml++'s words, which name its grammar.
std::string explain(std::string_view description, std::string_view line) {
  auto says = [&](std::string_view part) { return description.find(part) != std::string_view::npos; };
  size_t equals = line.find('=');
  std::string_view key = trimmed(line.substr(0, equals));
  std::string_view value = equals == std::string_view::npos ? std::string_view() : trimmed(line.substr(equals + 1));
  if (says("cannot redefine existing table")) return "this section stands here a second time; put its keys together";
  if (says("cannot redefine")) return fmt::format("the key '{}' is given a second time; keep one", key);
  bool inString = says("parsing string") || says("parsing literal string");
  if (inString && (says("control characters") || says("end-of-file")))
    return fmt::format("the string has no closing {} on its line", value.starts_with('\'') ? "'" : "\"");
  if (says("escape sequence"))
    return "a backslash in \"…\" begins an escape; write it twice, or the string in single quotes: '…'";
  if (says("expected value, saw '\\n'") || (value.empty() && says("end-of-file")))
    return fmt::format("the key '{}' has no value", key);
  if (says("expected '=', saw")) return "expected key = value";
  bool isWord = !value.empty() && (std::isalpha(static_cast<unsigned char>(value[0])) || value[0] == '/' ||
                                   value[0] == '.' || value[0] == '~' || value[0] == '_');
  bool isTruth = value.starts_with("True") || value.starts_with("False");
  if (isTruth) return "true and false are written in small letters";
  if (isWord && !inString) {
    value = trimmed(value.substr(0, value.find('#')));
    return fmt::format("a string needs quotes: {} = {}", key, quoteToml(value));
  }
  constexpr std::string_view kPrefix = "Error while parsing ";
  if (description.starts_with(kPrefix)) description.remove_prefix(kPrefix.size());
  return std::string(description);
}

Status tooDeep(std::string_view text, const std::string& name, size_t at) {
  std::string_view before = text.substr(0, at);
  int64_t number = 1 + std::ranges::count(before, '\n');
  before.remove_prefix(before.rfind('\n') + 1); // npos + 1 is 0
  int64_t column = 1 + std::ranges::count_if(before, beginsCharacter);
  return invalid("{}:{}:{}: keys, arrays or tables are nested too deep, more than {} levels; no key takes more than a "
                 "list{}",
                 name, number, column, kMaxDepth, excerpt(lineOf(text, number), column));
}

} // namespace

StatusOr<Document> parseToml(std::string_view text, std::string name) {
  if (size_t at = findTooDeep(text); at != std::string_view::npos) return tooDeep(text, name, at);
  try {
    toml::table table = toml::parse(text, name);
    return Document{std::move(name), convert(table)};
  } catch (const toml::parse_error& e) {
    auto number = static_cast<int64_t>(e.source().begin.line), column = static_cast<int64_t>(e.source().begin.column);
    std::string_view line = lineOf(text, number);
    return invalid("{}:{}:{}: {}{}", name, number, column, explain(e.description(), line), excerpt(line, column));
  }
}

Item parseValue(std::string_view text) {
  std::string line = "value = " + std::string(text);
  // A line break would let a value smuggle in further keys: then it is a string like any other text. So is what is
  // nested too deep for a value.
  if (text.find('\n') == std::string_view::npos && findTooDeep(line) == std::string_view::npos) {
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
