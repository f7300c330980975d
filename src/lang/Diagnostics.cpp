// Collecting and rendering diagnostics.
#include "lang/Diagnostics.h"

#include "absl/strings/cord.h"
#include "base/NearestName.h"
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

constexpr char kIdPayload[] = "tegula.lang.id";
} // namespace

std::string_view name(DiagnosticId id) { return kNames[static_cast<size_t>(id)]; }
std::span<const DiagnosticId> allDiagnosticIds() { return kIds; }

void Diagnostics::add(Diagnostic d) {
  const Span& at = d.span;
  if (!said_.emplace(d.id, at.file, at.line, at.column).second) return; // said once
  lines_.emplace(at.file, at.line);
  all_.push_back(std::move(d));
}

bool Diagnostics::hasBetween(int32_t file, int32_t first, int32_t last) const {
  auto it = lines_.lower_bound({file, first});
  return it != lines_.end() && it->first == file && it->second <= last;
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
  std::string out = fmt::format("{}:{}:{}: error: {}", sources[at.file].path, at.line, at.column, message);
  if (!id.empty()) out += fmt::format(" [{}]", id);
  return out + renderLine(at, sources);
}

std::string renderLine(Span at, std::span<const SourceFile> sources) {
  if (at.line <= 0 || at.file < 0 || static_cast<size_t>(at.file) >= sources.size()) return {};
  const SourceFile& source = sources[at.file];
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
  return fmt::format("\n    {}\n    {}^{}", line, std::string(width(cut, begin), ' '),
                     std::string(length > 1 ? length - 1 : 0, '~'));
}

void attachId(Status& s, DiagnosticId id) {
  std::string_view text = name(id);
  s.SetPayload(kIdPayload, absl::Cord(absl::string_view(text.data(), text.size())));
}

DiagnosticId idOf(const Status& s, DiagnosticId otherwise) {
  auto payload = s.GetPayload(kIdPayload);
  if (!payload) return otherwise;
  for (DiagnosticId id : kIds)
    if (std::string(*payload) == name(id)) return id;
  return otherwise;
}

Status withContext(const Status& s, std::string_view context) {
  Status out = addContext(s, context);
  if (auto payload = s.GetPayload(kIdPayload)) out.SetPayload(kIdPayload, *payload);
  return out;
}

std::string didYouMean(std::string_view name, const std::vector<std::string_view>& candidates) {
  if (name.size() > 64) return {};
  std::vector<std::string_view> likely;
  for (std::string_view c : candidates)
    if (std::min(c.size(), name.size()) > 1 || editDistance(c, name) == 0) likely.push_back(c);
  std::string_view best = nearestName(name, likely);
  return best.empty() ? std::string() : fmt::format("; did you mean '{}'?", best);
}

} // namespace tegula::lang
