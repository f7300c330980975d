// Kernels of a session: loaded ones by key, then the disk cache, then the compiler on all cores.
//
// The disk key is everything the code depends on: the kernel's key (structure, types, layout classes, pinned values,
// schedule), the target with its features, the code format and the compiler's version. Extents are not in it.
//
// Threads: belongs to its session's thread; compiling happens on threads of its own, which end before a call returns.
#pragma once

#include "absl/container/flat_hash_map.h"
#include "compiler/Compiler.h"
#include "hal/Device.h"
#include "runtime/ImageStore.h"

namespace tegula {

class KernelCache {
public:
  /// `compiler` must outlive the cache.
  KernelCache(DeviceRef device, const Compiler& compiler, ImageStore store, int threads);

  /// One loaded kernel for each of `kernels`, valid as long as the cache. Compiles what neither memory nor disk holds.
  /// Fails: the first kernel that cannot be compiled or loaded, named.
  StatusOr<std::vector<const Kernel*>> get(std::span<const KernelRef> kernels);

  int64_t compiled() const { return compiled_; }
  int64_t fromDisk() const { return fromDisk_; }

private:
  struct Job {
    const KernelSource* source;
    std::vector<uint8_t> image;
    Kernel kernel;
    Status status;
    bool wasOnDisk = false;
  };
  void run(Job&) const;
  std::string diskKey(const KernelSource&) const;

  DeviceRef device_;
  const Compiler& compiler_;
  ImageStore store_;
  int threads_;
  absl::flat_hash_map<std::string, std::unique_ptr<Kernel>> loaded_;
  int64_t compiled_ = 0, fromDisk_ = 0;
};

} // namespace tegula
