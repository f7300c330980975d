// Checking a document against a schema: unknown names, types, ranges, and every error in one status.
#include "config/Schema.h"

#include "base/NearestName.h"
#include "config/FieldText.h"
#include <algorithm>
#include <cassert>

namespace tegula::config {
namespace {

/// Whether `part` is some whole words of `name`: batch_size of local_batch_size.
bool isWordsOf(std::string_view part, std::string_view name) {
  return fmt::format("_{}_", name).find(fmt::format("_{}_", part)) != std::string::npos;
}

/// The known name that holds `name`, or is held by it, as whole words; empty if none does.
std::string nameWithSameWords(std::string_view name, const std::vector<std::string>& names) {
  auto related = [&](const std::string& known) { return isWordsOf(name, known) || isWordsOf(known, name); };
  auto found = std::ranges::find_if(names, related);
  return found == names.end() ? std::string() : *found;
}

std::string wayOut(std::string_view name, const std::vector<std::string>& names) {
  std::string nearest = nearestName(name, names);
  if (nearest.empty()) nearest = nameWithSameWords(name, names);
  if (!nearest.empty()) return fmt::format("; did you mean '{}'?", nearest);
  std::string all;
  for (const std::string& n : names) all += (all.empty() ? "" : ", ") + n;
  return names.empty() ? "; nothing may stand here" : fmt::format("; known are {}", all);
}

std::string place(const std::string& file, int line, const std::string& section) {
  std::string where = line > 0 ? fmt::format("{}:{}: ", file, line) : fmt::format("{}: ", file);
  return section.empty() ? where : fmt::format("{}[{}] ", where, section);
}

Status combine(const std::vector<std::string>& errors) {
  if (errors.empty()) return OkStatus();
  std::string text;
  for (const std::string& e : errors) text += (text.empty() ? "" : "\n") + e;
  return absl::InvalidArgumentError(text);
}

} // namespace

Section& Section::key(std::string name, Field field, KeyOptions options) {
  assert(!find(name) && "a key is declared once");
  keys_.push_back({std::move(name), field, std::move(options), fieldToToml(field)});
  return *this;
}

const Section::Key* Section::find(std::string_view name) const {
  for (const Key& k : keys_)
    if (k.name == name) return &k;
  return nullptr;
}

std::string Section::placeOf(std::string_view key) const {
  auto found = given_.find(std::string(key));
  return found == given_.end() ? std::string() : found->second;
}

void Section::apply(const Item& table, const std::string& file, const Schema& schema,
                    std::vector<std::string>& errors) {
  std::vector<std::string> names;
  for (const Key& k : keys_) names.push_back(k.name);
  for (const Entry& entry : table.entries) {
    const Key* key = find(entry.key);
    std::string where = place(file, entry.line, name_);
    if (!key) {
      std::string homes = schema.homesOf(entry.key);
      errors.push_back(fmt::format("{}unknown key '{}'{}", where, entry.key,
                                   homes.empty() ? wayOut(entry.key, names) : "; it belongs to " + homes));
      continue;
    }
    if (std::string wrong = assignField(key->field, key->options, entry.value); !wrong.empty()) {
      errors.push_back(fmt::format("{}{}: {}", where, entry.key, wrong));
      continue;
    }
    given_[entry.key] = entry.line > 0 ? fmt::format("{}:{}", file, entry.line) : file;
  }
  for (const Key& key : keys_)
    if (key.options.required && !given(key.name))
      errors.push_back(
          fmt::format("{}needs the key '{}': {}", place(file, table.line, name_), key.name, key.options.doc));
}

Section& Schema::section(std::string_view name, std::string_view doc) {
  for (auto& s : sections_)
    if (s->name_ == name) {
      if (!doc.empty()) s->doc_ = std::string(doc);
      return *s;
    }
  sections_.push_back(std::unique_ptr<Section>(new Section(std::string(name), std::string(doc))));
  return *sections_.back();
}

const Section* Schema::findSection(std::string_view name) const {
  for (const auto& s : sections_)
    if (s->name_ == name) return s.get();
  return nullptr;
}

std::vector<std::string> Schema::sectionNames() const {
  std::vector<std::string> names;
  for (const auto& s : sections_)
    if (!s->name_.empty()) names.push_back(s->name_);
  for (const Repeated& r : repeated_) names.push_back(r.name);
  return names;
}

std::string Schema::homesOf(std::string_view key) const {
  std::string homes;
  for (const auto& s : sections_)
    if (!s->name_.empty() && s->find(key)) homes += fmt::format("{}[{}]", homes.empty() ? "" : " or ", s->name_);
  return homes;
}

void Schema::loadRepeated(Repeated& repeated, const Item& item, const std::string& file,
                          std::vector<std::string>& errors) {
  if (item.kind != Item::Kind::Array) {
    errors.push_back(fmt::format("{}found {}, expected [[{}]]: a table for each element", place(file, item.line, ""),
                                 describe(item.kind), repeated.name));
    return;
  }
  repeated.begin(item.items.size());
  repeated.bound.clear();
  for (size_t i = 0; i < item.items.size(); ++i) {
    if (item.items[i].kind != Item::Kind::Table) {
      errors.push_back(fmt::format("{}element {} is {}, expected a table",
                                   place(file, item.items[i].line, repeated.name), i, describe(item.items[i].kind)));
      continue;
    }
    repeated.bound.push_back(std::unique_ptr<Section>(new Section(repeated.name, {})));
    repeated.bind(i, *repeated.bound.back());
    repeated.bound.back()->apply(item.items[i], file, *this, errors);
  }
}

Status Schema::load(const Document& document) {
  assert(document.root.kind == Item::Kind::Table && "a document's root is a table");
  std::vector<std::string> errors;
  Item top; // keys above the first section
  top.line = 1;
  std::set<std::string> seen;
  const Section* unnamed = findSection("");
  for (const Entry& entry : document.root.entries) {
    bool isTopKey = unnamed && unnamed->find(entry.key);
    if (isTopKey) {
      top.entries.push_back(entry);
      continue;
    }
    auto repeated = std::find_if(repeated_.begin(), repeated_.end(), [&](auto& r) { return r.name == entry.key; });
    if (repeated != repeated_.end()) {
      loadRepeated(*repeated, entry.value, document.name, errors);
      continue;
    }
    std::string where = place(document.name, entry.line, "");
    if (const Section* found = findSection(entry.key)) {
      seen.insert(entry.key);
      if (entry.value.kind == Item::Kind::Table)
        const_cast<Section*>(found)->apply(entry.value, document.name, *this, errors);
      else
        errors.push_back(fmt::format("{}'{}' is {}, expected the section [{}]", where, entry.key,
                                     describe(entry.value.kind), entry.key));
      continue;
    }
    if (ignoreUnknown_) continue;
    std::vector<std::string> names = sectionNames();
    bool isTable = entry.value.kind == Item::Kind::Table || entry.value.kind == Item::Kind::Array;
    if (unnamed && !isTable) {
      names.clear();
      for (const auto& k : unnamed->keys_) names.push_back(k.name);
    }
    std::string homes = isTable ? std::string() : homesOf(entry.key);
    errors.push_back(homes.empty() ? fmt::format("{}unknown {} '{}'{}", where, isTable ? "section" : "key", entry.key,
                                                 wayOut(entry.key, names))
                                   : fmt::format("{}the key '{}' stands above every section; it belongs to {}", where,
                                                 entry.key, homes));
  }
  if (unnamed) const_cast<Section*>(unnamed)->apply(top, document.name, *this, errors);
  for (auto& s : sections_) // required keys of sections that the file leaves out
    if (!s->name_.empty() && !seen.contains(s->name_)) s->apply(Item{}, document.name, *this, errors);
  return combine(errors);
}

Status Schema::set(std::string_view assignment, std::string_view givenWhere) {
  size_t equals = assignment.find('=');
  std::string where = givenWhere.empty() ? fmt::format("--set {}", assignment) : std::string(givenWhere);
  if (equals == std::string_view::npos)
    return invalid("{}: found no '=', expected section.key=value, for example training.steps=100", where);
  std::string_view path = assignment.substr(0, equals);
  size_t dot = path.rfind('.');
  std::string_view sectionName = dot == std::string_view::npos ? std::string_view() : path.substr(0, dot);
  std::string_view keyName = dot == std::string_view::npos ? path : path.substr(dot + 1);
  const Section* found = findSection(sectionName);
  std::string homes = homesOf(keyName);
  if (!found && sectionName.empty() && !homes.empty())
    return invalid("{}: the key '{}' belongs to {}; write {}.{}", where, keyName, homes,
                   homes.substr(1, homes.find(']') - 1), assignment);
  if (!found && sectionName.empty())
    return invalid("{}: found no section, expected section.key=value, for example training.steps=100", where);
  if (!found) return invalid("{}: unknown section '{}'{}", where, sectionName, wayOut(sectionName, sectionNames()));
  const Section::Key* key = found->find(keyName);
  if (!key) {
    std::vector<std::string> names;
    for (const auto& k : found->keys_) names.push_back(k.name);
    return invalid("{}: unknown key '{}'{}", where, keyName,
                   homes.empty() ? wayOut(keyName, names) : "; it belongs to " + homes);
  }
  std::string_view text = assignment.substr(equals + 1);
  std::string wrong = assignField(key->field, key->options, parseValue(text));
  if (!wrong.empty() && std::holds_alternative<std::string*>(key->field)) { // a string that looks like a number
    Item word;
    word.kind = Item::Kind::String;
    word.scalar = std::string(text);
    wrong = assignField(key->field, key->options, word);
  }
  if (!wrong.empty()) return invalid("{}: {}", where, wrong);
  const_cast<Section*>(found)->given_[key->name] = where;
  return OkStatus();
}

} // namespace tegula::config
