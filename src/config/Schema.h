// A typed schema bound to the fields of a struct: what keys exist, their types, defaults, ranges and meaning. The same
// declaration checks a file strictly, applies `--set`, writes the resolved file and generates the reference page.
//
//   struct Options { int64_t steps = 100; std::string device = "cpu"; } o;
//   Schema schema("A training run");
//   schema.section("training", "The step loop.").key("steps", o.steps, {.doc = "Optimizer steps.", .min = 1});
//   schema.section("hardware").key("device", o.device, {.doc = "A backend.", .choices = {"cpu"}});
//   TG_RETURN_IF_ERROR(schema.load(document));        // every error at once, with lines and nearest names
//   TG_RETURN_IF_ERROR(schema.set("training.steps=5"));
//   write(schema.toToml());
//
// A key's default is the field's value when the key is declared. Fields must outlive the schema.
// Threads: none shared; a schema belongs to one thread.
#pragma once

#include "config/Document.h"
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>

namespace tegula::config {

struct KeyOptions {
  std::string doc;                  // one sentence or two, ending in a full stop
  std::optional<double> min, max;   // inclusive, for numbers and the elements of number lists
  std::optional<double> above;      // exclusive lower bound
  std::vector<std::string> choices; // for strings and the elements of string lists
  bool required = false;
};

/// Where a key's value goes. An optional field is absent until the key is given.
using Field = std::variant<bool*, int*, int64_t*, double*, std::string*, std::vector<int64_t>*, std::vector<double>*,
                           std::vector<std::string>*, std::optional<double>*, std::optional<int64_t>*>;

class Schema;

class Section {
public:
  /// Declares a key. Requires: names are unique within the section.
  Section& key(std::string name, Field field, KeyOptions options = {});
  const std::string& name() const { return name_; }
  /// Whether a file or an override gave this key a value.
  bool given(std::string_view key) const { return given_.contains(std::string(key)); }
  /// Where it did, for messages: "run.toml:3", "--set training.steps=5". Empty if nowhere.
  std::string placeOf(std::string_view key) const;

private:
  friend class Schema;
  struct Key {
    std::string name;
    Field field;
    KeyOptions options;
    std::string defaultText; // as TOML; empty for an absent optional
  };
  Section(std::string name, std::string doc) : name_(std::move(name)), doc_(std::move(doc)) {}
  const Key* find(std::string_view name) const;
  void apply(const Item& table, const std::string& file, const Schema& schema, std::vector<std::string>& errors);
  std::string name_, doc_;
  std::vector<Key> keys_;
  std::map<std::string, std::string> given_; // key and place
};

class Schema {
public:
  explicit Schema(std::string title) : title_(std::move(title)) {}
  Schema(const Schema&) = delete;

  /// The section `[name]`, made at its first mention; "" holds the keys above the first section.
  Section& section(std::string_view name, std::string_view doc = {});
  const Section* findSection(std::string_view name) const;

  /// `[[name]]`: one element of `out` for each table, whose keys `declare` binds.
  template <typename T>
  void tables(std::string name, std::vector<T>& out, std::function<void(Section&, T&)> declare, std::string doc = {}) {
    Repeated r;
    r.name = std::move(name);
    r.sample = std::unique_ptr<Section>(new Section(r.name, std::move(doc)));
    auto defaults = std::make_shared<T>();
    declare(*r.sample, *defaults);
    r.defaults = defaults;
    r.begin = [&out](size_t n) { out.assign(n, T{}); };
    r.bind = [&out, declare](size_t i, Section& s) { declare(s, out[i]); };
    repeated_.push_back(std::move(r));
  }

  /// Unknown keys inside `name` are accepted and ignored (a file that other programs write, such as a model's
  /// config.json).
  void ignoreUnknown() { ignoreUnknown_ = true; }

  /// Fails: one status whose message has a line for every error.
  Status load(const Document&);
  /// "section.key=value", as after `--set`; messages begin with `where`, by default `--set ASSIGNMENT`. Fails: unknown
  /// names (naming the nearest), wrong types and ranges.
  Status set(std::string_view assignment, std::string_view where = {});

  /// Every key with its value, as TOML that load() accepts; absent optionals are left out.
  std::string toToml() const;
  /// The same values one by one, by "section.key" in the order of declaration; without those of `tables`.
  std::vector<std::pair<std::string, std::string>> values() const;
  /// The reference page: Markdown, one table a section.
  std::string reference() const;

private:
  friend class Section;
  struct Repeated {
    std::string name;
    std::unique_ptr<Section> sample; // what the reference page shows
    std::shared_ptr<void> defaults;  // the element that `sample` is bound to
    std::function<void(size_t)> begin;
    std::function<void(size_t, Section&)> bind;
    std::vector<std::unique_ptr<Section>> bound;
  };
  void loadRepeated(Repeated&, const Item&, const std::string& file, std::vector<std::string>& errors);
  std::vector<std::string> sectionNames() const;
  std::string homesOf(std::string_view key) const; // "[a] or [b]": the sections that have it; empty if none has
  std::string title_;
  std::vector<std::unique_ptr<Section>> sections_;
  std::vector<Repeated> repeated_;
  bool ignoreUnknown_ = false;
};

/// A string as a TOML basic string, with quotes.
std::string quoteToml(std::string_view);

} // namespace tegula::config
