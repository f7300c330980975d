// The table of the cpu backend: devices, memory, queues, kernels and lists over host threads. Built in (linked under
// another entry name, TG_CPU_BACKEND_ENTRY) or as a plugin; both go through the same table.
#include "CommandList.h"
#include "Processor.h"
#include "sdk/Error.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <sched.h>
#include <system_error>

#ifndef TG_CPU_BACKEND_ENTRY
#define TG_CPU_BACKEND_ENTRY tg_backend_query
#endif

struct tg_device {
  explicit tg_device(int threads) : pool(threads) {}
  tegula::sdk::WorkerPool pool;
};

struct tg_queue {
  tg_device* device;
  std::mutex submission; // work of one queue runs in order
};

/// Work is done when queue_execute returns, so an event is done whenever nobody is inside a call that signals it.
struct tg_event {
  std::atomic<uint32_t> pending{0};
};

struct tg_list {
  tg_device* device;
  tegula::cpu::CommandList commands;
};

namespace {

using tegula::cpu::CommandList;
using tegula::cpu::Memory;
using tegula::cpu::Processor;
using tegula::cpu::processor;

constexpr const char* kFormat = "cpu-image-1";

int allowedThreads() {
#ifdef __linux__
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return std::max(1, CPU_COUNT(&set));
#endif
  return std::max(1u, std::thread::hardware_concurrency());
}

template <typename F> tg_result guarded(tg_error* error, F&& body) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return tg_fail(error, TG_ERROR_MEMORY, "out of host memory");
  } catch (const std::exception& e) {
    return tg_fail(error, TG_ERROR_DEVICE, "%s", e.what());
  }
}

// ---- Devices

tg_result deviceCount(int32_t* count, tg_error*) {
  *count = 1;
  return TG_OK;
}

tg_result deviceOpen(int32_t index, const tg_device_options* options, tg_device** device, tg_error* error) {
  if (index != 0)
    return tg_fail(error, TG_ERROR_INVALID, "cpu: device %d was asked for, there is only device 0", index);
  int threads = options && options->size >= offsetof(tg_device_options, threads) + sizeof(options->threads)
                    ? options->threads
                    : 0;
  if (threads < 0 || threads > 4096)
    return tg_fail(error, TG_ERROR_INVALID, "cpu: %d threads were asked for: use 1 to 4096, or 0 for all cores",
                   threads);
  if (threads == 0) threads = allowedThreads();
  return guarded(error, [&]() -> tg_result {
    try {
      *device = new tg_device(threads);
    } catch (const std::system_error& e) {
      return tg_fail(error, TG_ERROR_DEVICE, "cpu: %d threads cannot be started (%s): ask for fewer", threads,
                     e.what());
    }
    return TG_OK;
  });
}

void deviceClose(tg_device* device) { delete device; }

tg_result deviceInfo(tg_device* device, tg_device_info* info, tg_error* error) {
  static const char* const formats[] = {kFormat};
  return guarded(error, [&]() -> tg_result {
    const Processor& p = processor();
    tg_device_info full{};
    full.size = std::min(info->size, sizeof(full));
    full.name = p.name.c_str();
    full.features = p.features.c_str();
    full.code_formats = formats;
    full.code_format_count = 1;
    full.threads = device->pool.threads();
    full.memory_bytes = tegula::cpu::hostMemoryBytes();
    full.flags = TG_DEVICE_HOST_VISIBLE | TG_DEVICE_SYNCHRONOUS;
    full.queue_count = 1;
    std::memcpy(info, &full, full.size);
    return TG_OK;
  });
}

// ---- Memory

tg_result bufferAlloc(tg_device* device, int64_t bytes, tg_buffer** buffer, tg_error* error) {
  return guarded(error, [&]() -> tg_result {
    Memory memory = Memory::allocate(bytes);
    if (!memory)
      return tg_fail(error, TG_ERROR_MEMORY, "cpu: no memory for a buffer of %lld bytes, %lld are available",
                     (long long)bytes, (long long)tegula::cpu::availableMemoryBytes());
    *buffer = new tg_buffer{device, std::move(memory)};
    return TG_OK;
  });
}

void bufferFree(tg_buffer* buffer) { delete buffer; }

tg_result bufferMap(tg_buffer* buffer, void** address, tg_error*) {
  *address = buffer->memory.address();
  return TG_OK;
}

tg_result checkRange(const tg_buffer* buffer, int64_t offset, int64_t bytes, tg_error* error) {
  int64_t total = buffer->memory.bytes();
  if (offset >= 0 && bytes >= 0 && offset <= total && bytes <= total - offset) return TG_OK;
  return tg_fail(error, TG_ERROR_INVALID, "cpu: bytes %lld to %lld were asked for of a buffer of %lld bytes",
                 (long long)offset, (long long)offset + (long long)bytes, (long long)total);
}

tg_result bufferWrite(tg_buffer* buffer, int64_t offset, const void* source, int64_t bytes, tg_error* error) {
  if (tg_result r = checkRange(buffer, offset, bytes, error)) return r;
  if (bytes) std::memcpy(buffer->memory.address() + offset, source, bytes);
  return TG_OK;
}

tg_result bufferRead(tg_buffer* buffer, int64_t offset, void* destination, int64_t bytes, tg_error* error) {
  if (tg_result r = checkRange(buffer, offset, bytes, error)) return r;
  if (bytes) std::memcpy(destination, buffer->memory.address() + offset, bytes);
  return TG_OK;
}

// ---- Queues and events

tg_result queueCreate(tg_device* device, tg_queue** queue, tg_error* error) {
  return guarded(error, [&]() -> tg_result {
    *queue = new tg_queue{device, {}};
    return TG_OK;
  });
}

void queueDestroy(tg_queue* queue) { delete queue; }

void awaitEvent(tg_event* event) {
  while (uint32_t pending = event->pending.load(std::memory_order_acquire)) event->pending.wait(pending);
}

tg_result queueExecute(tg_queue* queue, tg_list* list, tg_event* const* waits, int32_t waitCount, tg_event* signal,
                       tg_error* error) {
  if (!list->commands.finished())
    return tg_fail(error, TG_ERROR_INVALID, "cpu: the list was not finished before it was executed");
  if (list->device != queue->device) return tg_fail(error, TG_ERROR_INVALID, "cpu: the list belongs to another device");
  if (signal) signal->pending.fetch_add(1, std::memory_order_acq_rel);
  for (int32_t i = 0; i < waitCount; ++i) awaitEvent(waits[i]);
  {
    std::lock_guard<std::mutex> order(queue->submission);
    list->commands.execute();
  }
  if (signal) {
    signal->pending.fetch_sub(1, std::memory_order_acq_rel);
    signal->pending.notify_all();
  }
  return TG_OK;
}

tg_result queueCopy(tg_queue* queue, tg_binding destination, tg_binding source, int64_t bytes, tg_error* error) {
  if (tg_result r = checkRange(destination.buffer, destination.offset, bytes, error)) return r;
  if (tg_result r = checkRange(source.buffer, source.offset, bytes, error)) return r;
  std::lock_guard<std::mutex> order(queue->submission);
  if (bytes)
    std::memcpy(destination.buffer->memory.address() + destination.offset,
                source.buffer->memory.address() + source.offset, bytes);
  return TG_OK;
}

tg_result queueWait(tg_queue* queue, tg_error*) {
  std::lock_guard<std::mutex> order(queue->submission);
  return TG_OK;
}

tg_result eventCreate(tg_device*, tg_event** event, tg_error* error) {
  return guarded(error, [&]() -> tg_result {
    *event = new tg_event;
    return TG_OK;
  });
}

void eventDestroy(tg_event* event) { delete event; }

tg_result eventWait(tg_event* event, int64_t timeoutNs, tg_error* error) {
  if (timeoutNs < 0) {
    awaitEvent(event);
    return TG_OK;
  }
  constexpr int64_t kYearNs = int64_t(365) * 86400 * 1000000000; // more would overflow the clock
  auto deadline = std::chrono::steady_clock::now() + std::chrono::nanoseconds(std::min(timeoutNs, kYearNs));
  while (event->pending.load(std::memory_order_acquire)) {
    if (std::chrono::steady_clock::now() >= deadline)
      return tg_fail(error, TG_ERROR_TIMEOUT, "cpu: the event was not done after %lld ns", (long long)timeoutNs);
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  return TG_OK;
}

// ---- Kernels and lists

tg_result kernelLoad(tg_device* device, const tg_kernel_image* image, tg_kernel** kernel, tg_error* error) {
  const char* name = image->name ? image->name : "(unnamed)";
  if (!image->format || std::strcmp(image->format, kFormat) != 0)
    return tg_fail(error, TG_ERROR_UNSUPPORTED, "kernel %s: its format is %s, the cpu backend loads %s", name,
                   image->format ? image->format : "not stated", kFormat);
  return guarded(error, [&]() -> tg_result {
    auto k = std::make_unique<tg_kernel>();
    k->device = device;
    k->name = name;
    if (tg_result r = k->image.load(name, image->bytes, image->byte_count, processor().isa, error)) return r;
    *kernel = k.release();
    return TG_OK;
  });
}

void kernelUnload(tg_kernel* kernel) { delete kernel; }

tg_result listCreate(tg_device* device, tg_list** list, tg_error* error) {
  return guarded(error, [&]() -> tg_result {
    *list = new tg_list{device, CommandList(device->pool)};
    return TG_OK;
  });
}

tg_result listAppend(tg_list* list, const tg_dispatch* dispatch, tg_error* error) {
  tg_dispatch full{};
  std::memcpy(&full, dispatch, std::min(dispatch->size, sizeof(full)));
  return guarded(error, [&]() -> tg_result { return list->commands.append(full, error); });
}

tg_result listFinish(tg_list* list, tg_error* error) {
  return guarded(error, [&]() -> tg_result { return list->commands.finish(error); });
}

void listDestroy(tg_list* list) { delete list; }

const tg_backend& table() {
  static const tg_backend t = [] {
    tg_backend b{};
    b.size = sizeof(b);
    b.version_major = TG_BACKEND_VERSION_MAJOR;
    b.version_minor = TG_BACKEND_VERSION_MINOR;
    b.name = "cpu";
    b.description = "the processor's cores, through code images";
    b.device_count = deviceCount;
    b.device_open = deviceOpen;
    b.device_close = deviceClose;
    b.device_info = deviceInfo;
    b.buffer_alloc = bufferAlloc;
    b.buffer_free = bufferFree;
    b.buffer_map = bufferMap;
    b.buffer_write = bufferWrite;
    b.buffer_read = bufferRead;
    b.queue_create = queueCreate;
    b.queue_destroy = queueDestroy;
    b.queue_execute = queueExecute;
    b.queue_copy = queueCopy;
    b.queue_wait = queueWait;
    b.event_create = eventCreate;
    b.event_destroy = eventDestroy;
    b.event_wait = eventWait;
    b.kernel_load = kernelLoad;
    b.kernel_unload = kernelUnload;
    b.list_create = listCreate;
    b.list_append = listAppend;
    b.list_finish = listFinish;
    b.list_destroy = listDestroy;
    return b;
  }();
  return t;
}

} // namespace

extern "C" TG_BACKEND_EXPORT tg_result TG_CPU_BACKEND_ENTRY(const tg_backend_request* request,
                                                            tg_backend_reply* reply) {
  return tg_answer_query(request, reply, &table());
}
