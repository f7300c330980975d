// Step lines and log.jsonl.
#include "train/Metrics.h"

#include "base/Files.h"
#include "train/JsonCount.h"
#include <cmath>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace tegula {
namespace {

constexpr double kGiB = 1 << 30;

/// 27483.2 as "27,483".
std::string withCommas(double x) {
  std::string digits = fmt::format("{:.0f}", std::isfinite(x) ? x : 0.0);
  for (int64_t i = static_cast<int64_t>(digits.size()) - 3; i > (digits[0] == '-' ? 1 : 0); i -= 3)
    digits.insert(i, ",");
  return digits;
}

std::string fixedWithCommas(double x) {
  double whole = std::floor(x);
  std::string fraction = fmt::format("{:.2f}", x - whole);
  return fraction[0] == '1' ? withCommas(whole + 1) + ".00" : withCommas(whole) + fraction.substr(1);
}

struct Colours {
  const char *red = "", *green = "", *orange = "", *turquoise = "", *blue = "", *cyan = "", *magenta = "", *reset = "";
};
Colours colours(bool on) {
  if (!on) return {};
  return {"\x1b[31m", "\x1b[32m", "\x1b[38;5;215m", "\x1b[38;5;80m", "\x1b[34m", "\x1b[36m", "\x1b[35m", "\x1b[39m"};
}

std::string memoryText(const Throughput& t) {
  double percent =
      t.totalMemoryBytes > 0 ? 100.0 * static_cast<double>(t.memoryBytes) / static_cast<double>(t.totalMemoryBytes) : 0;
  return fmt::format("{:5.2f}GiB({:.2f}%)", static_cast<double>(t.memoryBytes) / kGiB, percent);
}

nlohmann::ordered_json measured(const Throughput& t) {
  return {{"seconds", t.seconds},
          {"tps", t.tokensPerSecond},
          {"tflops", t.flops() / 1e12},
          {"mfu", 100 * t.utilization()},
          {"memory_bytes", t.memoryBytes}};
}

/// JSON has no NaN and no infinity: they are kept as words.
nlohmann::ordered_json number(double x) {
  if (std::isfinite(x)) return x;
  return std::isnan(x) ? "nan" : x > 0 ? "inf" : "-inf";
}

/// The step of a log line, or nothing if the line is torn.
std::optional<int64_t> stepOfLine(std::string_view line) {
  nlohmann::json j = nlohmann::json::parse(line, nullptr, false);
  std::optional<int64_t> step = jsonCount(j, "step");
  return step ? step : jsonCount(j, "validate_step");
}

} // namespace

std::string stepLine(const StepMetrics& m, const Throughput& t, bool colour) {
  Colours c = colours(colour);
  return fmt::format(
      "{}step: {:2}  {}loss: {:7.4f}  {}grad_norm: {:7.4f}  {}memory: {}  {}tps: {}  {}tflops: {}  {}mfu: {:.2f}%{}  "
      "lr: {:.4e}{}",
      c.red, m.step, c.green, m.loss, c.orange, m.gradientNorm, c.turquoise, memoryText(t), c.blue,
      withCommas(t.tokensPerSecond), c.cyan, fixedWithCommas(t.flops() / 1e12), c.magenta, 100 * t.utilization(),
      c.reset, m.learningRate, m.applied ? "" : "  skipped");
}

std::string validationLine(int64_t step, double loss, const Throughput& t, bool colour) {
  Colours c = colours(colour);
  return fmt::format("{}validate step: {:2}  {}loss: {:7.4f}  {}memory: {}  {}tps: {}{}", c.orange, step, c.green, loss,
                     c.turquoise, memoryText(t), c.blue, withCommas(t.tokensPerSecond), c.reset);
}

std::string stepJson(const StepMetrics& m, const Throughput& t) {
  nlohmann::ordered_json j{
      {"step", m.step}, {"loss", number(m.loss)}, {"grad_norm", number(m.gradientNorm)}, {"lr", m.learningRate}};
  if (!m.applied) j["skipped"] = true;
  j["measured"] = measured(t);
  return j.dump() + "\n";
}

std::string validationJson(int64_t step, double loss, int64_t predictions, const Throughput& t) {
  nlohmann::ordered_json j{{"validate_step", step}, {"loss", number(loss)}, {"predictions", predictions}};
  j["measured"] = measured(t);
  for (const char* ofTraining : {"tflops", "mfu"}) j["measured"].erase(ofTraining); // their formula has a backward pass
  return j.dump() + "\n";
}

Status truncateLog(const std::string& path, int64_t step) {
  if (!fileExists(path)) return OkStatus();
  TG_ASSIGN_OR_RETURN(std::string text, readFile(path));
  size_t keep = 0;
  while (keep < text.size()) {
    size_t end = text.find('\n', keep);
    if (end == std::string::npos) break;
    std::optional<int64_t> at = stepOfLine(std::string_view(text).substr(keep, end - keep));
    if (!at || *at > step) break;
    keep = end + 1;
  }
  if (keep == text.size()) return OkStatus();
  return writeFileAtomically(path, std::string_view(text).substr(0, keep));
}

int64_t totalMemoryBytes() { return static_cast<int64_t>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGE_SIZE); }

} // namespace tegula
