// Device handles: each call goes through the table and turns its result into a Status.
#include "hal/Device.h"

#include <algorithm>
#include <fmt/ranges.h>

namespace tegula {
namespace {

// What no device has: more is a field that was not written.
constexpr int kMostCodeFormats = 64, kMostThreads = 1 << 20;

/// Runs `call(&error)` and gives its status; formats nothing unless it failed.
template <typename F> Status checked(std::string_view context, F&& call) {
  tg_error error;
  error.size = sizeof(error);
  error.message[0] = 0;
  tg_result result = call(&error);
  return result == TG_OK ? OkStatus() : toStatus(result, error, context);
}

/// The handle that a slot makes by `call(&handle, &error)`. Fails also where it says TG_OK and makes none.
template <typename Handle, typename F>
StatusOr<Handle*> made(std::string_view context, std::string_view slot, F&& call) {
  Handle* handle = nullptr;
  TG_RETURN_IF_ERROR(checked(context, [&](tg_error* e) { return call(&handle, e); }));
  if (!handle) return internal("{}: its slot `{}` returned TG_OK but made nothing", context, slot);
  return handle;
}

} // namespace

StatusOr<std::shared_ptr<Device>> Device::open(std::shared_ptr<const Backend> backend, int index,
                                               const DeviceOptions& options) {
  TG_ASSIGN_OR_RETURN(int count, backend->deviceCount());
  if (index < 0 || index >= count)
    return invalid("backend {}: device {} was asked for, it has {} (numbered from 0)", backend->name(), index, count);
  tg_device_options wanted{sizeof(wanted), options.threads};
  TG_ASSIGN_OR_RETURN(tg_device * handle, made<tg_device>(fmt::format("backend {}, device {}", backend->name(), index),
                                                          "device_open", [&](tg_device** h, tg_error* e) {
                                                            return backend->table().device_open(index, &wanted, h, e);
                                                          }));
  std::shared_ptr<Device> device(new Device(std::move(backend), handle));
  TG_RETURN_IF_ERROR(device->readInfo());
  return device;
}

Device::~Device() { backend_->table().device_close(handle_); }

std::string Device::context() const { return fmt::format("backend {}", backend_->name()); }

Status Device::readInfo() {
  tg_device_info info{};
  info.size = sizeof(info);
  TG_RETURN_IF_ERROR(checked(context(), [&](tg_error* e) { return backend_->table().device_info(handle_, &info, e); }));
  info_.name = info.name ? info.name : "";
  info_.features = info.features ? info.features : "";
  if (info.code_format_count < 0 || (info.code_format_count > 0 && !info.code_formats))
    return unsupported("backend {}: it says {} code formats but `code_formats` is null", backend_->name(),
                       info.code_format_count);
  if (info.code_format_count > kMostCodeFormats)
    return unsupported("backend {}: it says {} code formats, at most {} are read", backend_->name(),
                       info.code_format_count, kMostCodeFormats);
  for (int i = 0; i < info.code_format_count; ++i) {
    if (!info.code_formats[i]) return unsupported("backend {}: its code format {} is null", backend_->name(), i);
    info_.codeFormats.emplace_back(info.code_formats[i]);
  }
  if (!info_.codeFormats.empty() && !backend_->table().kernel_load)
    return unsupported("backend {}: it takes {} but its slot `kernel_load` is null", backend_->name(),
                       info_.codeFormats[0]);
  info_.threads = std::clamp(info.threads, 1, kMostThreads);
  info_.queues = std::max<int>(1, static_cast<int>(info.queue_count));
  info_.memoryBytes = info.memory_bytes;
  info_.hostVisible = (info.flags & TG_DEVICE_HOST_VISIBLE) && backend_->table().buffer_map;
  info_.synchronous = info.flags & TG_DEVICE_SYNCHRONOUS;
  return OkStatus();
}

bool Device::takesFormat(std::string_view format) const {
  return std::find(info_.codeFormats.begin(), info_.codeFormats.end(), format) != info_.codeFormats.end();
}

StatusOr<Buffer> Device::allocate(int64_t bytes) const {
  TG_ASSIGN_OR_RETURN(tg_buffer * handle, made<tg_buffer>(context(), "buffer_alloc", [&](tg_buffer** h, tg_error* e) {
                        return backend_->table().buffer_alloc(handle_, bytes, h, e);
                      }));
  void* host = nullptr;
  if (info_.hostVisible && backend_->table().buffer_map(handle, &host, nullptr) != TG_OK) host = nullptr;
  return Buffer(shared_from_this(), handle, bytes, host);
}

StatusOr<Queue> Device::createQueue() const {
  TG_ASSIGN_OR_RETURN(tg_queue * handle, made<tg_queue>(context(), "queue_create", [&](tg_queue** h, tg_error* e) {
                        return backend_->table().queue_create(handle_, h, e);
                      }));
  return Queue(shared_from_this(), handle);
}

StatusOr<Event> Device::createEvent() const {
  TG_ASSIGN_OR_RETURN(tg_event * handle, made<tg_event>(context(), "event_create", [&](tg_event** h, tg_error* e) {
                        return backend_->table().event_create(handle_, h, e);
                      }));
  return Event(shared_from_this(), handle);
}

StatusOr<CommandList> Device::createList() const {
  TG_ASSIGN_OR_RETURN(tg_list * handle, made<tg_list>(context(), "list_create", [&](tg_list** h, tg_error* e) {
                        return backend_->table().list_create(handle_, h, e);
                      }));
  return CommandList(shared_from_this(), handle);
}

StatusOr<Kernel> Device::loadKernel(const std::string& name, const std::string& format,
                                    std::span<const uint8_t> image) const {
  if (!takesFormat(format))
    return unsupported("kernel {}: its code format is {}, backend {} takes {}", name, format, backend_->name(),
                       info_.codeFormats.empty() ? "none" : fmt::format("{}", fmt::join(info_.codeFormats, ", ")));
  tg_kernel_image request{sizeof(request), name.c_str(), format.c_str(), image.data(),
                          static_cast<int64_t>(image.size())};
  TG_ASSIGN_OR_RETURN(tg_kernel * handle, made<tg_kernel>(context(), "kernel_load", [&](tg_kernel** h, tg_error* e) {
                        return backend_->table().kernel_load(handle_, &request, h, e);
                      }));
  return Kernel(shared_from_this(), handle);
}

bool Device::supports(const tg_problem& problem) const {
  return hasOperators() && backend_->table().supports(handle_, &problem) != 0;
}

StatusOr<Kernel> Device::loadOperator(const tg_problem& problem, int64_t& scratchBytes) const {
  if (!backend_->table().operator_load)
    return unsupported("backend {}: operator {} was asked for, it has no operators of its own", backend_->name(),
                       problem.op);
  TG_ASSIGN_OR_RETURN(tg_kernel * handle, made<tg_kernel>(context(), "operator_load", [&](tg_kernel** h, tg_error* e) {
                        return backend_->table().operator_load(handle_, &problem, h, &scratchBytes, e);
                      }));
  return Kernel(shared_from_this(), handle);
}

Status Buffer::write(int64_t offset, const void* source, int64_t bytes) const {
  return checked("buffer", [&](tg_error* e) {
    return device_->backend().table().buffer_write(handle_, offset, source, bytes, e);
  });
}

Status Buffer::read(int64_t offset, void* destination, int64_t bytes) const {
  return checked("buffer", [&](tg_error* e) {
    return device_->backend().table().buffer_read(handle_, offset, destination, bytes, e);
  });
}

Status Event::wait(int64_t timeoutNs) const {
  return checked("event", [&](tg_error* e) { return device_->backend().table().event_wait(handle_, timeoutNs, e); });
}

Status CommandList::append(const tg_dispatch& dispatch) {
  return checked("list", [&](tg_error* e) { return device_->backend().table().list_append(handle_, &dispatch, e); });
}

Status CommandList::finish() {
  return checked("list", [&](tg_error* e) { return device_->backend().table().list_finish(handle_, e); });
}

Status Queue::execute(const CommandList& list, std::span<tg_event* const> waits, const Event* signal) const {
  return checked("queue", [&](tg_error* e) {
    return device_->backend().table().queue_execute(handle_, list.handle(), waits.data(),
                                                    static_cast<int32_t>(waits.size()),
                                                    signal ? signal->handle() : nullptr, e);
  });
}

Status Queue::copy(tg_binding destination, tg_binding source, int64_t bytes) const {
  return checked("queue", [&](tg_error* e) {
    return device_->backend().table().queue_copy(handle_, destination, source, bytes, e);
  });
}

Status Queue::wait() const {
  return checked("queue", [&](tg_error* e) { return device_->backend().table().queue_wait(handle_, e); });
}

tg_dtype toInterface(DType d) {
  switch (d) {
  case DType::Bool:
    return TG_BOOL;
  case DType::I8:
    return TG_I8;
  case DType::U8:
    return TG_U8;
  case DType::I16:
    return TG_I16;
  case DType::U16:
    return TG_U16;
  case DType::I32:
    return TG_I32;
  case DType::I64:
    return TG_I64;
  case DType::F8E4M3:
    return TG_F8E4M3;
  case DType::F8E5M2:
    return TG_F8E5M2;
  case DType::F16:
    return TG_F16;
  case DType::BF16:
    return TG_BF16;
  case DType::F32:
    return TG_F32;
  case DType::F64:
    break;
  }
  return TG_F64;
}

} // namespace tegula
