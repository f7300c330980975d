// Schedule: text form both ways.
#include "compiler/schedule/Schedule.h"

#include <cassert>
#include <charconv>

namespace tegula {

namespace {

std::string_view nameOf(DotKind d) { return d == DotKind::None ? "none" : d == DotKind::Fma ? "fma" : "bf16dot"; }

template <typename Range, typename Format>
void clause(std::string& out, std::string_view word, const Range& range, Format format) {
  if (range.empty()) return;
  out += fmt::format(" {}", word);
  for (const auto& x : range) out += " " + format(x);
  out += ";";
}

/// Words, '=' and ';' of a schedule's text.
class Reader {
public:
  explicit Reader(std::string_view text) : rest_(text) {}
  std::string_view next() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\n')) rest_.remove_prefix(1);
    if (rest_.empty()) return {};
    size_t n = 1;
    if (!isPunctuation(rest_.front()))
      while (n < rest_.size() && rest_[n] != ' ' && rest_[n] != '\n' && !isPunctuation(rest_[n])) ++n;
    std::string_view word = rest_.substr(0, n);
    rest_.remove_prefix(n);
    return word;
  }

private:
  static bool isPunctuation(char c) { return c == '{' || c == '}' || c == ';' || c == '='; }
  std::string_view rest_;
};

StatusOr<int64_t> number(std::string_view word) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size() || value < 1)
    return invalid("schedule: expected a positive number, found `{}`", word);
  return value;
}

StatusOr<Schedule::Place> place(std::string_view what, Reader& in) {
  if (in.next() != "=") return invalid("schedule: expected `=` after `{}`", what);
  std::string_view where = in.next();
  if (where.empty() || where == ";" || where == "}") return invalid("schedule: expected a form after `{}=`", what);
  return Schedule::Place{what, where};
}

Status readDot(Schedule& s, Reader& in) {
  std::string_view family = in.next(), shape = in.next();
  if (family == "fma")
    s.dot = DotKind::Fma;
  else if (family == "bf16dot")
    s.dot = DotKind::Bf16Dot;
  else
    return invalid("schedule: expected dot fma or bf16dot, found `{}`", family);
  size_t x = shape.find('x');
  if (x == std::string_view::npos) return invalid("schedule: expected a register block like 12x32, found `{}`", shape);
  TG_ASSIGN_OR_RETURN(s.registerRows, number(shape.substr(0, x)));
  TG_ASSIGN_OR_RETURN(s.registerColumns, number(shape.substr(x + 1)));
  for (auto [word, value] : {std::pair<std::string_view, int64_t*>{"unroll", &s.unroll}, {"group", &s.group}}) {
    if (std::string_view found = in.next(); found != word)
      return invalid("schedule: expected `{}` in a dot, found `{}`", word, found);
    TG_ASSIGN_OR_RETURN(*value, number(in.next()));
  }
  std::string_view end = in.next();
  return end == ";" ? OkStatus() : invalid("schedule: expected `;` after a dot, found `{}`", end);
}

Status readClause(Schedule& s, std::string_view word, Reader& in) {
  if (word == "dot") return readDot(s, in);
  for (std::string_view item = in.next(); item != ";"; item = in.next()) {
    if (item.empty()) return invalid("schedule: `{}` has no `;`", word);
    if (word == "order")
      s.order.push_back(item);
    else if (word == "parallel")
      s.parallel.push_back(item);
    else if (word == "tile") {
      TG_ASSIGN_OR_RETURN(Schedule::Place p, place(item, in));
      TG_ASSIGN_OR_RETURN(int64_t bound, number(p.where.text()));
      s.tiles.push_back({p.what, bound});
    } else if (word == "pack" || word == "stage") {
      TG_ASSIGN_OR_RETURN(Schedule::Place p, place(item, in));
      (word == "pack" ? s.pack : s.stage).push_back(p);
    } else
      return invalid("schedule: expected tile, order, parallel, dot, pack or stage, found `{}`", word);
  }
  return OkStatus();
}

} // namespace

int64_t Schedule::tile(Symbol name) const {
  for (const Named& t : tiles)
    if (t.name == name) return t.value;
  assert(false && "the schedule bounds every tunable");
  return 1;
}

std::string toString(const Schedule& s) {
  std::string out = fmt::format("{} {{", s.pattern.text());
  auto symbol = [](Symbol x) { return std::string(x.text()); };
  auto named = [](const Schedule::Named& n) { return fmt::format("{}={}", n.name.text(), n.value); };
  auto where = [](const Schedule::Place& p) { return fmt::format("{}={}", p.what.text(), p.where.text()); };
  clause(out, "tile", s.tiles, named);
  clause(out, "order", s.order, symbol);
  clause(out, "parallel", s.parallel, symbol);
  if (s.dot != DotKind::None)
    out += fmt::format(" dot {} {}x{} unroll {} group {};", nameOf(s.dot), s.registerRows, s.registerColumns, s.unroll,
                       s.group);
  clause(out, "pack", s.pack, where);
  clause(out, "stage", s.stage, where);
  return out + " }";
}

StatusOr<Schedule> parseSchedule(std::string_view text) {
  Reader in(text);
  Schedule s;
  std::string_view pattern = in.next();
  if (pattern.empty()) return invalid("schedule: expected the name of a template, found nothing");
  s.pattern = pattern;
  if (std::string_view brace = in.next(); brace != "{")
    return invalid("schedule: expected `{{` after `{}`, found `{}`", pattern, brace);
  for (std::string_view word = in.next(); word != "}"; word = in.next()) {
    if (word.empty()) return invalid("schedule: expected `}}` at the end");
    TG_RETURN_IF_ERROR(readClause(s, word, in));
  }
  if (std::string_view more = in.next(); !more.empty())
    return invalid("schedule: expected nothing after `}}`, found `{}`", more);
  return s;
}

} // namespace tegula
