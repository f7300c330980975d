// Getting kernels, cheapest source first.
#include "runtime/KernelCache.h"

#include "base/Log.h"
#include <algorithm>
#include <atomic>
#include <fmt/ranges.h>
#include <system_error>
#include <thread>

namespace tegula {

KernelCache::KernelCache(DeviceRef device, const Compiler& compiler, ImageStore store, int threads)
    : device_(std::move(device)), compiler_(compiler), store_(std::move(store)), threads_(std::max(1, threads)) {}

std::string KernelCache::diskKey(const KernelSource& source) const {
  const Target& t = compiler_.target();
  return fmt::format("compiler {}\nformat {}\ntarget {} {} {} {}\n{}", compiler_.version(), t.codeFormat, t.name,
                     t.triple, t.cpu, fmt::join(t.features, ","), source.key);
}

void KernelCache::run(Job& job) const {
  std::string key = diskKey(*job.source);
  const std::string& format = compiler_.target().codeFormat;
  if (auto image = store_.load(key)) {
    auto kernel = device_->loadKernel(job.source->name, format, *image);
    if (kernel.ok()) {
      job.kernel = std::move(*kernel);
      job.wasOnDisk = true;
      return;
    }
    logWarning("kernel cache: {} is refused ({}): compiling again", store_.pathOf(key), message(kernel.status()));
  }
  auto image = compiler_.compile(*job.source);
  if (!image.ok()) {
    job.status = addContext(image.status(), fmt::format("kernel {}", job.source->name));
    return;
  }
  auto kernel = device_->loadKernel(job.source->name, format, image->bytes);
  if (!kernel.ok()) {
    job.status = kernel.status();
    return;
  }
  job.kernel = std::move(*kernel);
  if (Status s = store_.store(key, image->bytes); !s.ok())
    logWarning("kernel cache: {}: going on without it", message(s));
}

StatusOr<std::vector<const Kernel*>> KernelCache::get(std::span<const KernelRef> kernels) {
  std::vector<Job> jobs;
  absl::flat_hash_map<std::string_view, size_t> wanted;
  for (const KernelRef& k : kernels)
    if (!loaded_.contains(k->key) && wanted.try_emplace(k->key, jobs.size()).second) jobs.push_back({k.get()});

  std::atomic<size_t> next{0};
  auto work = [&] {
    for (size_t i = next++; i < jobs.size(); i = next++) {
      try {
        run(jobs[i]);
      } catch (const std::exception& e) { // a thread's exceptions end the process
        jobs[i].status = failed("kernel {}: {}", jobs[i].source->name, e.what());
      }
    }
  };
  {
    std::vector<std::jthread> helpers;
    try {
      for (size_t i = 1; i < std::min<size_t>(threads_, jobs.size()); ++i) helpers.emplace_back(work);
    } catch (const std::system_error& e) {
      logInfo("kernel cache: no more threads to be had ({}): compiling on {}", e.what(), helpers.size() + 1);
    }
    work();
  }

  bool stored = false;
  for (Job& job : jobs) {
    TG_RETURN_IF_ERROR(job.status);
    ++(job.wasOnDisk ? fromDisk_ : compiled_);
    stored |= !job.wasOnDisk;
    loaded_.emplace(job.source->key, std::make_unique<Kernel>(std::move(job.kernel)));
  }
  if (stored) store_.trim();

  std::vector<const Kernel*> result;
  for (const KernelRef& k : kernels) result.push_back(loaded_.find(k->key)->second.get());
  return result;
}

} // namespace tegula
