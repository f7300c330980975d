// Measuring, and the small file that remembers it: one line, the TEGULA_RATES form.
#include "runtime/Calibrate.h"

#include "base/Files.h"
#include "base/Hash.h"
#include "base/Log.h"
#include "hal/Device.h"
#include <algorithm>
#include <cctype>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <fmt/ranges.h>

namespace tegula {
namespace {

using Clock = std::chrono::steady_clock;
constexpr double kWindowSeconds = 0.0005; // short enough to fit between interruptions by others
constexpr int kWindows = 60;
constexpr int64_t kBindingBytes = 4096; // what Compiler::peakKernel states

/// A peak kernel on one worker, sized so that one run takes about a window.
class PeakRun {
public:
  static StatusOr<PeakRun> create(const Device& device, const Compiler& compiler, DType operand) {
    PeakRun run;
    TG_ASSIGN_OR_RETURN(KernelRef source, compiler.peakKernel(operand, run.flopsPerItem_));
    TG_ASSIGN_OR_RETURN(CodeImage image, compiler.compile(*source));
    TG_ASSIGN_OR_RETURN(run.kernel_, device.loadKernel(source->name, compiler.target().codeFormat, image.bytes));
    TG_ASSIGN_OR_RETURN(run.buffer_, device.allocate(kBindingBytes));
    TG_ASSIGN_OR_RETURN(run.queue_, device.createQueue());
    TG_RETURN_IF_ERROR(run.size(device));
    return run;
  }
  double bestRate() const { return best_; }
  Status window() {
    TG_ASSIGN_OR_RETURN(double seconds, time());
    best_ = std::max(best_, flopsPerItem_ * static_cast<double>(items_) / seconds);
    return OkStatus();
  }

private:
  Status size(const Device& device) {
    for (items_ = 1;; items_ *= 4) {
      TG_RETURN_IF_ERROR(record(device));
      TG_ASSIGN_OR_RETURN(double seconds, time());
      if (seconds >= kWindowSeconds || items_ > (int64_t(1) << 40)) return OkStatus();
    }
  }
  Status record(const Device& device) {
    TG_ASSIGN_OR_RETURN(list_, device.createList());
    tg_binding binding{buffer_.handle(), 0};
    tg_segment segment{&binding, nullptr, 1, 0, items_};
    tg_dispatch d{};
    d.size = sizeof(d);
    d.kernel = kernel_.handle();
    d.segments = &segment;
    d.segment_count = 1;
    d.scratch_bytes = kBindingBytes;
    d.flops = flopsPerItem_ * static_cast<double>(items_);
    d.label = "peak";
    TG_RETURN_IF_ERROR(list_.append(d));
    return list_.finish();
  }
  StatusOr<double> time() {
    auto begin = Clock::now();
    TG_RETURN_IF_ERROR(queue_.execute(list_));
    TG_RETURN_IF_ERROR(queue_.wait());
    return std::max(std::chrono::duration<double>(Clock::now() - begin).count(), 1e-9);
  }
  double flopsPerItem_ = 0, best_ = 0;
  int64_t items_ = 1;
  Kernel kernel_;
  Buffer buffer_;
  Queue queue_;
  CommandList list_;
};

/// Windows of both kernels alternate, so that a change of clock or load meets both alike.
StatusOr<Rates> measure(std::shared_ptr<const Backend> backend, const Compiler& compiler) {
  TG_ASSIGN_OR_RETURN(auto device, Device::open(std::move(backend), 0, {.threads = 1}));
  TG_ASSIGN_OR_RETURN(PeakRun f32, PeakRun::create(*device, compiler, DType::F32));
  std::optional<PeakRun> bf16;
  if (compiler.target().bf16Dot) {
    TG_ASSIGN_OR_RETURN(bf16, PeakRun::create(*device, compiler, DType::BF16));
  }
  for (int i = 0; i < kWindows; ++i) {
    TG_RETURN_IF_ERROR(f32.window());
    if (bf16) TG_RETURN_IF_ERROR(bf16->window());
  }
  return Rates{f32.bestRate(), bf16 ? bf16->bestRate() : 0};
}

} // namespace

StatusOr<Rates> parseRates(std::string_view text) {
  Rates rates;
  for (std::string_view rest = text; !rest.empty();) {
    size_t comma = rest.find(',');
    std::string_view item = rest.substr(0, comma);
    rest = comma == std::string_view::npos ? "" : rest.substr(comma + 1);
    while (!item.empty() && std::isspace(static_cast<unsigned char>(item.back()))) item.remove_suffix(1);
    size_t equals = item.find('=');
    std::string_view key = item.substr(0, equals);
    double value = 0;
    bool read =
        equals != std::string_view::npos &&
        std::from_chars(item.data() + equals + 1, item.data() + item.size(), value).ptr == item.data() + item.size();
    if (!read || !(value >= 0) || !std::isfinite(value) || (key != "f32" && key != "bf16"))
      return invalid(
          "rates: `{}` was found, expected f32=FLOPS,bf16=FLOPS of one core, for example f32=2.2e11,bf16=1.1e11", text);
    (key == "f32" ? rates.f32FlopsPerSecond : rates.bf16FlopsPerSecond) = value;
  }
  if (rates.f32FlopsPerSecond <= 0)
    return invalid("rates: `{}` has no f32 rate, expected f32=FLOPS[,bf16=FLOPS]", text);
  return rates;
}

StatusOr<Rates> calibrate(std::shared_ptr<const Backend> backend, const Compiler& compiler, const std::string& folder) {
  if (const char* stated = std::getenv("TEGULA_RATES"); stated && *stated) return parseRates(stated);
  TG_ASSIGN_OR_RETURN(auto device, Device::open(backend, 0, {.threads = 1}));
  const Target& t = compiler.target();
  std::string key = fmt::format("{} {}|{}|{} {} {}|{}", backend->name(), device->info().name, device->info().features,
                                t.name, t.cpu, fmt::join(t.features, ","), compiler.version());
  std::string path = fmt::format("{}/rates-{}.txt", folder, toHex(hash128(key)));
  if (!folder.empty())
    if (auto text = readFile(path); text.ok())
      if (auto rates = parseRates(*text); rates.ok()) return *rates;
  device.reset();
  TG_ASSIGN_OR_RETURN(Rates rates, measure(std::move(backend), compiler));
  logInfo("calibrated {}: f32 {:.3g} FLOP/s, bf16 dot {:.3g} FLOP/s a core", t.name, rates.f32FlopsPerSecond,
          rates.bf16FlopsPerSecond);
  if (folder.empty()) return rates;
  Status written = makeFolders(folder);
  if (written.ok())
    written = writeFileAtomically(
        path,
        std::string_view(fmt::format("f32={:.6g},bf16={:.6g}\n", rates.f32FlopsPerSecond, rates.bf16FlopsPerSecond)));
  if (!written.ok()) logWarning("calibrate: {}: rates will be measured again next time", message(written));
  return rates;
}

} // namespace tegula
