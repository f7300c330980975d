// `tegula devices`
#include "cli/Commands.h"

#include "compiler/Target.h"
#include "hal/Device.h"
#include "runtime/Session.h"

namespace tegula::cli {
namespace {

std::string rate(const StatusOr<double>& flops) {
  return flops.ok() ? fmt::format("{:.1f} Gflop/s", *flops / 1e9)
                    : fmt::format("not measured: {}", message(flops.status()));
}

void printTarget(const Target& t) {
  fmt::print("    target {}: {}-byte vectors, {} registers", t.name, t.vectorBytes, t.vectorRegisters);
  for (size_t i = 0; i < t.caches.size(); ++i)
    fmt::print("{} L{} {} KiB{}", i ? "," : "; caches", i + 1, t.caches[i].sizeBytes / 1024,
               t.caches[i].shared ? " shared" : "");
  fmt::print("{}\n", t.bf16Dot ? "; bf16 dot instruction" : "");
}

/// Peaks of matrix products on all the device's threads, as training's MFU uses them.
void printPeaks(const std::string& backend) {
  SessionOptions options;
  options.device = backend;
  StatusOr<std::unique_ptr<Session>> session = Session::create(options);
  if (!session.ok()) {
    fmt::print("    no session: {}\n", message(session.status()));
    return;
  }
  printTarget((*session)->target());
  fmt::print("    peak f32 {}, bf16 {}\n", rate((*session)->peakFlops(DType::F32)),
             rate((*session)->peakFlops(DType::BF16)));
}

/// `named`: on the command line, so that a refusal is a failure.
Status printBackend(const std::string& name, bool named) {
  StatusOr<std::shared_ptr<const Backend>> backend = Backend::load(name);
  if (!backend.ok()) {
    fmt::print("{}: refused: {}\n", name, message(backend.status()));
    return named ? failed("devices: {} was refused", name) : OkStatus();
  }
  fmt::print("{} ({}): {}\n", (*backend)->name(), (*backend)->origin(), (*backend)->description());
  TG_ASSIGN_OR_RETURN(int count, (*backend)->deviceCount());
  for (int i = 0; i < count; ++i) {
    TG_ASSIGN_OR_RETURN(std::shared_ptr<Device> device, Device::open(*backend, i, {}));
    const DeviceInfo& info = device->info();
    std::string formats;
    for (const std::string& f : info.codeFormats) formats += (formats.empty() ? "" : ", ") + f;
    std::string memory = info.memoryBytes > 0 ? fmt::format("{} MiB", info.memoryBytes >> 20) : "memory not stated";
    fmt::print("  device {}: {}, {} threads, {}\n    features {}\n    takes {}\n", i, info.name, info.threads, memory,
               info.features.empty() ? "not stated" : info.features, formats.empty() ? "no code" : formats);
    if (i == 0 && device->takesFormat("cpu-image-1")) printPeaks(name);
  }
  return OkStatus();
}

} // namespace

void addDevices(CLI::App& app, Outcome& outcome) {
  auto named = std::make_shared<std::vector<std::string>>();
  CLI::App* c = app.add_subcommand("devices", "List backends, devices, features and measured peaks.");
  c->footer("examples: tegula devices\n          tegula devices ./libmychip.so");
  c->add_option("backend", *named, "Names or paths of plugins; all that are found when left out");
  c->callback([=, &outcome] {
    for (const std::string& name : named->empty() ? Backend::names() : *named)
      if (Status s = printBackend(name, !named->empty()); outcome.status.ok()) outcome.status = s; // the first failure
  });
}

} // namespace tegula::cli
