// JSON text to a Document. nlohmann's parser reports events; an iterator that counts line breaks tells where they were.
#include "config/Document.h"

#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>

namespace tegula::config {
namespace {

/// Walks the text and counts the line breaks passed so far.
class CountingIterator {
public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;
  CountingIterator(const char* p, int* line) : p_(p), line_(line) {}
  const char& operator*() const { return *p_; }
  CountingIterator& operator++() {
    if (*p_ == '\n') ++*line_;
    ++p_;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator old = *this;
    ++*this;
    return old;
  }
  friend bool operator==(const CountingIterator& a, const CountingIterator& b) { return a.p_ == b.p_; }

private:
  const char* p_;
  int* line_;
};

class Events : public nlohmann::json_sax<nlohmann::json> {
public:
  Events(Item& root, int& line) : root_(root), line_(line) {}
  std::string error;

  bool null() override { return add(Item::Kind::Null, std::monostate{}); }
  bool boolean(bool v) override { return add(Item::Kind::Bool, v); }
  bool number_integer(int64_t v) override { return add(Item::Kind::Integer, v); }
  bool number_unsigned(uint64_t v) override {
    if (v > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
      return add(Item::Kind::Float, static_cast<double>(v));
    return add(Item::Kind::Integer, static_cast<int64_t>(v));
  }
  bool number_float(double v, const std::string&) override { return add(Item::Kind::Float, v); }
  bool string(std::string& v) override { return add(Item::Kind::String, v); }
  bool binary(binary_t&) override { return false; }
  bool start_object(size_t) override { return open(Item::Kind::Table); }
  bool start_array(size_t) override { return open(Item::Kind::Array); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(std::string& v) override {
    key_ = v;
    keyLine_ = line_;
    return true;
  }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception& e) override {
    if (error.empty()) error = e.what();
    return false;
  }

private:
  Item& place(Item::Kind kind) {
    Item item;
    item.kind = kind;
    item.line = line_;
    if (stack_.empty()) {
      root_ = std::move(item);
      return root_;
    }
    Item& top = *stack_.back();
    if (top.kind == Item::Kind::Array) return top.items.emplace_back(std::move(item));
    item.line = keyLine_; // a number's end is only known after what follows it
    return top.entries.emplace_back(Entry{key_, std::move(item), keyLine_}).value;
  }
  template <typename T> bool add(Item::Kind kind, T value) {
    place(kind).scalar = std::move(value);
    return true;
  }
  bool open(Item::Kind kind) {
    if (stack_.size() >= kMaxDepth) {
      error = fmt::format("nested more than {} levels deep", kMaxDepth);
      return false;
    }
    stack_.push_back(&place(kind)); // stays valid: the parent gets no further child before this one is closed
    return true;
  }
  bool close() {
    stack_.pop_back();
    return true;
  }

  Item& root_;
  int& line_;
  std::vector<Item*> stack_;
  std::string key_;
  int keyLine_ = 1;
};

} // namespace

StatusOr<Document> parseJson(std::string_view text, std::string name) {
  Document document{std::move(name), {}};
  int line = 1;
  Events events(document.root, line);
  const char* first = text.data(); // NOLINT(bugprone-suspicious-stringview-data-usage): with its end
  CountingIterator begin(first, &line), end(first + text.size(), &line);
  if (!nlohmann::json::sax_parse(begin, end, &events))
    return invalid("{}:{}: not JSON: {}", document.name, line, events.error);
  if (document.root.kind != Item::Kind::Table)
    return invalid("{}:{}: the file holds {}, expected an object: {{\"section\": {{\"key\": value}}}}", document.name,
                   document.root.line, describe(document.root.kind));
  return document;
}

} // namespace tegula::config
