// Collecting and rendering diagnostics.
#include "lang/Diagnostics.h"

#include "base/Utf8.h"
#include "lang/OperatorLibrary.h"
#include <algorithm>
#include <iterator>

namespace tegula::lang {

namespace {
constexpr DiagnosticId kIds[] = {
#define X(name, text) DiagnosticId::name,
    TG_DIAGNOSTICS(X)
#undef X
};
constexpr std::string_view kNames[] = {
#define X(name, text) text,
    TG_DIAGNOSTICS(X)
#undef X
};

/// Line `number` (from 1) of a text, without its end.
std::string_view lineOf(std::string_view text, int32_t number) {
  for (int32_t i = 1; i < number; ++i) {
    size_t end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  text = text.substr(0, text.find('\n'));
  if (!text.empty() && text.back() == '\r') text.remove_suffix(1);
  return text;
}

/// Long lines are cut, so that a megabyte on one line does not become a megabyte of message.
constexpr size_t kShownWidth = 160;

size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t substituted = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row[b.size()];
}
} // namespace

std::string_view name(DiagnosticId id) { return kNames[static_cast<size_t>(id)]; }
std::span<const DiagnosticId> allDiagnosticIds() { return kIds; }

void Diagnostics::add(Diagnostic d) {
  for (const Diagnostic& other : all_)
    if (other.id == d.id && !(other.span < d.span) && !(d.span < other.span)) return; // said once
  all_.push_back(std::move(d));
}

bool Diagnostics::hasBetween(int32_t file, int32_t first, int32_t last) const {
  return std::any_of(all_.begin(), all_.end(), [&](const Diagnostic& d) {
    return d.span.file == file && d.span.line >= first && d.span.line <= last;
  });
}

std::vector<Diagnostic> Diagnostics::shown() const {
  std::vector<Diagnostic> sorted = all_;
  std::sort(sorted.begin(), sorted.end(),
            [](const auto& a, const auto& b) { return std::tie(a.span, a.id) < std::tie(b.span, b.id); });
  if (sorted.size() > kShown) sorted.resize(kShown);
  return sorted;
}

std::string Diagnostics::render(std::span<const SourceFile> sources) const {
  std::string out;
  for (const Diagnostic& d : shown()) {
    if (!out.empty()) out += '\n';
    out += renderAt(d.span, d.message, name(d.id), sources);
  }
  if (all_.size() > kShown)
    out += fmt::format("\n{} more {} not shown: correct these first", all_.size() - kShown,
                       all_.size() == kShown + 1 ? "error" : "errors");
  return out;
}

Status Diagnostics::status(std::span<const SourceFile> sources) const {
  return empty() ? OkStatus() : absl::InvalidArgumentError(render(sources));
}

std::string renderAt(Span at, std::string_view message, std::string_view id, std::span<const SourceFile> sources) {
  if (at.line <= 0 || at.file < 0 || static_cast<size_t>(at.file) >= sources.size()) return std::string(message);
  const SourceFile& source = sources[at.file];
  std::string out = fmt::format("{}:{}:{}: error: {}", source.path, at.line, at.column, message);
  if (!id.empty()) out += fmt::format(" [{}]", id);
  std::string_view text = lineOf(source.text, at.line);
  size_t begin = std::min<size_t>(at.column - 1, text.size());
  size_t cut = begin > kShownWidth / 2 ? begin - kShownWidth / 2 : 0;
  std::string_view shown = text.substr(cut, kShownWidth);
  size_t end = at.endLine > at.line ? text.size() : std::min<size_t>(std::max(at.endColumn - 1, 0), text.size());
  end = std::min(end, cut + shown.size());
  // Columns under wide characters: bytes that continue a UTF-8 sequence take no room.
  auto width = [&](size_t from, size_t to) {
    size_t n = 0;
    for (size_t i = from; i < to && i < text.size(); ++i) n += (static_cast<unsigned char>(text[i]) & 0xC0) != 0x80;
    return n;
  };
  std::string line(shown);
  std::replace_if(line.begin(), line.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
  for (size_t bad; (bad = findInvalidUtf8(line)) != std::string::npos;) line[bad] = '?'; // terminals choke on it
  size_t length = end > begin ? width(begin, end) : 0;
  out += fmt::format("\n    {}\n    {}^{}", line, std::string(width(cut, begin), ' '),
                     std::string(length > 1 ? length - 1 : 0, '~'));
  return out;
}

std::string didYouMean(std::string_view name, const std::vector<std::string_view>& candidates) {
  if (name.size() > 64) return {};
  std::string_view best;
  size_t bestDistance = std::max<size_t>(1, name.size() / 3) + 1;
  for (std::string_view c : candidates) {
    size_t d = editDistance(name, c);
    if (d < bestDistance) bestDistance = d, best = c;
  }
  return best.empty() ? std::string() : fmt::format("; did you mean '{}'?", best);
}

} // namespace tegula::lang
