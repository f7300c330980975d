// Devices and what they own, as C++ values over the table of tegula/backend.h. Every handle keeps its device alive and
// frees itself; all are movable, none is copyable.
//
//   TG_ASSIGN_OR_RETURN(auto device, Device::open(backend, 0, {.threads = 2}));
//   TG_ASSIGN_OR_RETURN(Buffer x, device->allocate(bytes));
//   TG_ASSIGN_OR_RETURN(Kernel k, device->loadKernel("softmax", "cpu-image-1", image));
//   TG_ASSIGN_OR_RETURN(CommandList list, device->createList());
//   list.append({...}); list.finish();  queue.execute(list); queue.wait();
//
// Threads: as stated in backend.h: any thread, but not two on one handle at a time; allocate, loadKernel and the create
// functions may be called concurrently.
#pragma once

#include "hal/Backend.h"
#include "tensor/DType.h"
#include <cstdint>
#include <span>
#include <utility>

namespace tegula {

class Device;
using DeviceRef = std::shared_ptr<const Device>;

/// A handle of type `T*` freed by a slot of the device's table.
template <typename T, void (*tg_backend::*Free)(T*)> class DeviceHandle {
public:
  DeviceHandle() = default;
  DeviceHandle(DeviceRef device, T* handle) : device_(std::move(device)), handle_(handle) {}
  DeviceHandle(DeviceHandle&& other) noexcept { *this = std::move(other); }
  DeviceHandle& operator=(DeviceHandle&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~DeviceHandle();
  T* handle() const { return handle_; }
  explicit operator bool() const { return handle_ != nullptr; }
  const DeviceRef& device() const { return device_; }

protected:
  DeviceRef device_;
  T* handle_ = nullptr;
};

/// Device memory, zero-filled when allocated.
class Buffer : public DeviceHandle<tg_buffer, &tg_backend::buffer_free> {
public:
  using DeviceHandle::DeviceHandle;
  Buffer(DeviceRef device, tg_buffer* handle, int64_t sizeBytes, void* host)
      : DeviceHandle(std::move(device), handle), sizeBytes_(sizeBytes), host_(host) {}
  int64_t sizeBytes() const { return sizeBytes_; }
  /// The host address of byte 0, or null if the memory is not visible to the host.
  void* host() const { return host_; }
  /// Blocking copies from and to host memory; not ordered with queues. Allocate nothing on success.
  Status write(int64_t offset, const void* source, int64_t bytes) const;
  Status read(int64_t offset, void* destination, int64_t bytes) const;

private:
  int64_t sizeBytes_ = 0;
  void* host_ = nullptr;
};

class Kernel : public DeviceHandle<tg_kernel, &tg_backend::kernel_unload> {
public:
  using DeviceHandle::DeviceHandle;
};

class Event : public DeviceHandle<tg_event, &tg_backend::event_destroy> {
public:
  using DeviceHandle::DeviceHandle;
  /// Blocks until done; a negative timeout waits for ever, 0 asks. Fails: DeadlineExceeded.
  Status wait(int64_t timeoutNs = -1) const;
};

/// A recorded list of dispatches. append in order, finish once, then execute as often as wanted.
class CommandList : public DeviceHandle<tg_list, &tg_backend::list_destroy> {
public:
  using DeviceHandle::DeviceHandle;
  Status append(const tg_dispatch&);
  Status finish();
};

class Queue : public DeviceHandle<tg_queue, &tg_backend::queue_destroy> {
public:
  using DeviceHandle::DeviceHandle;
  /// Submits; done when wait() returns or `signal` is done. Allocates nothing on success.
  Status execute(const CommandList&, std::span<tg_event* const> waits = {}, const Event* signal = nullptr) const;
  Status copy(tg_binding destination, tg_binding source, int64_t bytes) const;
  Status wait() const;
};

struct DeviceOptions {
  int threads = 0; // 0: the cores this process may use
};

/// Facts of an open device, for `tegula devices`, cache keys and sizing.
struct DeviceInfo {
  std::string name, features;
  std::vector<std::string> codeFormats;
  int threads = 1, queues = 1;
  int64_t memoryBytes = 0; // 0: unknown
  bool hostVisible = false, synchronous = false;
};

class Device : public std::enable_shared_from_this<Device> {
public:
  static StatusOr<std::shared_ptr<Device>> open(std::shared_ptr<const Backend>, int index, const DeviceOptions&);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const Backend& backend() const { return *backend_; }
  const DeviceInfo& info() const { return info_; }
  bool takesFormat(std::string_view format) const;
  tg_device* handle() const { return handle_; }

  StatusOr<Buffer> allocate(int64_t bytes) const;
  StatusOr<Queue> createQueue() const;
  StatusOr<Event> createEvent() const;
  StatusOr<CommandList> createList() const;
  StatusOr<Kernel> loadKernel(const std::string& name, const std::string& format, std::span<const uint8_t> image) const;
  /// Has the backend operators of its own at all?
  bool hasOperators() const { return backend_->table().supports && backend_->table().operator_load; }
  /// Does the backend compute this library operator or primitive itself?
  bool supports(const tg_problem&) const;
  StatusOr<Kernel> loadOperator(const tg_problem&, int64_t& scratchBytes) const;

private:
  Device(std::shared_ptr<const Backend> backend, tg_device* handle) : backend_(std::move(backend)), handle_(handle) {}
  Status readInfo();
  std::string context() const;
  std::shared_ptr<const Backend> backend_;
  tg_device* handle_;
  DeviceInfo info_;
};

template <typename T, void (*tg_backend::*Free)(T*)> DeviceHandle<T, Free>::~DeviceHandle() {
  if (handle_) (device_->backend().table().*Free)(handle_);
}

/// The interface's number of an element type.
tg_dtype toInterface(DType);

} // namespace tegula
