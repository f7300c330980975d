/* The skeleton to copy for a new backend: complete, small, in plain C, against tegula/backend.h and the SDK only.
 *
 * Its device keeps buffers in host memory, takes no code format, and computes exactly one library operator: `add` of
 * two contiguous f32 tensors of one shape. That is how a backend starts: memory, a queue, lists, one operator through
 * `supports` and `operator_load`. Everything else is refused, or runs on the host loudly, as the run asks.
 *
 * To make it yours
 *   1. cp -r backends/null backends/mychip, rename in the table at the end and in CMakeLists.txt.
 *   2. Replace malloc and memcpy in "Memory" by your driver's calls. If the host cannot see your memory, set
 *      buffer_map to NULL.
 *   3. Replace the loop in queue_execute by your command buffer: record it in list_append, submit it there.
 *   4. Either add operators to `supports` and `operator_load`, or name a code format in device_info and implement
 *      kernel_load.
 *   5. cmake -S backends/mychip -B build && cmake --build build
 *      Then put its path where a device's name goes: [hardware] device = "build/libtegula_backend_mychip.so".
 *
 * What the answers of a real backend must mean is in the comments of tegula/backend.h; tests/hal and tests/backend
 * make these calls. */
#include "tegula/backend.h"
#include "sdk/Error.h"

#include <stdlib.h>
#include <string.h>

/* ---- Handles: whatever you need; the host only ever holds pointers to them. */

struct tg_device {
  int32_t unused;
};
struct tg_buffer {
  char* bytes;
  int64_t byte_count;
};
struct tg_queue {
  tg_device* device;
};
struct tg_event {
  int32_t unused; /* everything here is synchronous: an event is always done */
};
struct tg_kernel {
  int64_t elements; /* all that `add` needs to know */
};
struct command {
  const tg_kernel* kernel;
  const float *a, *b;
  float* y;
};
struct tg_list {
  struct command* commands;
  int32_t count, capacity;
  int32_t dispatches; /* appended so far: what `waits` count */
  int32_t finished;
};

/* ---- Devices */

static tg_result device_count(int32_t* count, tg_error* error) {
  (void)error;
  *count = 1;
  return TG_OK;
}

static tg_result device_open(int32_t index, const tg_device_options* options, tg_device** device, tg_error* error) {
  (void)options; /* no threads of its own */
  if (index != 0)
    return tg_fail(error, TG_ERROR_INVALID, "null: device %d was asked for, there is only device 0", index);
  *device = calloc(1, sizeof(**device));
  return *device ? TG_OK : tg_fail(error, TG_ERROR_MEMORY, "null: out of host memory");
}

static void device_close(tg_device* device) { free(device); }

static tg_result device_info(tg_device* device, tg_device_info* info, tg_error* error) {
  tg_device_info full = {0};
  (void)device;
  (void)error;
  full.size = info->size < sizeof(full) ? info->size : sizeof(full); /* fill what the caller knows, no more */
  full.name = "null device";
  full.features = "";
  full.code_formats = NULL;
  full.code_format_count = 0;
  full.threads = 1;
  full.memory_bytes = 0;
  full.flags = TG_DEVICE_HOST_VISIBLE | TG_DEVICE_SYNCHRONOUS;
  full.queue_count = 1;
  memcpy(info, &full, full.size);
  return TG_OK;
}

/* ---- Memory */

static tg_result buffer_alloc(tg_device* device, int64_t bytes, tg_buffer** buffer, tg_error* error) {
  tg_buffer* b;
  size_t rounded;
  (void)device;
  if (bytes < 0 || bytes > ((int64_t)1 << 46))
    return tg_fail(error, TG_ERROR_MEMORY, "null: no memory for %lld bytes", (long long)bytes);
  rounded = ((size_t)bytes + 63) / 64 * 64;
  if (rounded == 0) rounded = 64;
  b = calloc(1, sizeof(*b));
  if (b) b->bytes = aligned_alloc(64, rounded);
  if (!b || !b->bytes) {
    free(b);
    return tg_fail(error, TG_ERROR_MEMORY, "null: no memory for a buffer of %lld bytes", (long long)bytes);
  }
  memset(b->bytes, 0, rounded); /* zero-filled, and every page present */
  b->byte_count = bytes;
  *buffer = b;
  return TG_OK;
}

static void buffer_free(tg_buffer* buffer) {
  free(buffer->bytes);
  free(buffer);
}

static tg_result buffer_map(tg_buffer* buffer, void** address, tg_error* error) {
  (void)error;
  *address = buffer->bytes;
  return TG_OK;
}

static tg_result check_range(const tg_buffer* b, int64_t offset, int64_t bytes, tg_error* error) {
  if (offset >= 0 && bytes >= 0 && offset <= b->byte_count && bytes <= b->byte_count - offset) return TG_OK;
  return tg_fail(error, TG_ERROR_INVALID, "null: bytes %lld to %lld were asked for of a buffer of %lld bytes",
                 (long long)offset, (long long)(offset + bytes), (long long)b->byte_count);
}

static tg_result buffer_write(tg_buffer* buffer, int64_t offset, const void* source, int64_t bytes, tg_error* error) {
  tg_result r = check_range(buffer, offset, bytes, error);
  if (r == TG_OK && bytes) memcpy(buffer->bytes + offset, source, (size_t)bytes);
  return r;
}

static tg_result buffer_read(tg_buffer* buffer, int64_t offset, void* destination, int64_t bytes, tg_error* error) {
  tg_result r = check_range(buffer, offset, bytes, error);
  if (r == TG_OK && bytes) memcpy(destination, buffer->bytes + offset, (size_t)bytes);
  return r;
}

/* ---- Queues and events: the calling thread does the work, so nothing is ever pending. */

static tg_result queue_create(tg_device* device, tg_queue** queue, tg_error* error) {
  *queue = calloc(1, sizeof(**queue));
  if (!*queue) return tg_fail(error, TG_ERROR_MEMORY, "null: out of host memory");
  (*queue)->device = device;
  return TG_OK;
}

static void queue_destroy(tg_queue* queue) { free(queue); }

static tg_result queue_execute(tg_queue* queue, tg_list* list, tg_event* const* waits, int32_t wait_count,
                               tg_event* signal, tg_error* error) {
  int32_t c;
  int64_t i;
  (void)queue, (void)waits, (void)wait_count, (void)signal;
  if (!list->finished)
    return tg_fail(error, TG_ERROR_INVALID, "null: the list was not finished before it was executed");
  for (c = 0; c < list->count; ++c)
    for (i = 0; i < list->commands[c].kernel->elements; ++i)
      list->commands[c].y[i] = list->commands[c].a[i] + list->commands[c].b[i];
  return TG_OK;
}

static tg_result queue_copy(tg_queue* queue, tg_binding destination, tg_binding source, int64_t bytes,
                            tg_error* error) {
  tg_result r = check_range(destination.buffer, destination.offset, bytes, error);
  (void)queue;
  if (r == TG_OK) r = check_range(source.buffer, source.offset, bytes, error);
  if (r == TG_OK && bytes)
    memcpy(destination.buffer->bytes + destination.offset, source.buffer->bytes + source.offset, (size_t)bytes);
  return r;
}

static tg_result queue_wait(tg_queue* queue, tg_error* error) {
  (void)queue, (void)error;
  return TG_OK;
}

static tg_result event_create(tg_device* device, tg_event** event, tg_error* error) {
  (void)device;
  *event = calloc(1, sizeof(**event));
  return *event ? TG_OK : tg_fail(error, TG_ERROR_MEMORY, "null: out of host memory");
}

static void event_destroy(tg_event* event) { free(event); }

static tg_result event_wait(tg_event* event, int64_t timeout_ns, tg_error* error) {
  (void)event, (void)timeout_ns, (void)error;
  return TG_OK;
}

/* ---- Lists: copy every argument when it is recorded; executing looks nothing up and allocates nothing. */

static tg_result list_create(tg_device* device, tg_list** list, tg_error* error) {
  (void)device;
  *list = calloc(1, sizeof(**list));
  return *list ? TG_OK : tg_fail(error, TG_ERROR_MEMORY, "null: out of host memory");
}

/* Everything that can be wrong is looked at before the list changes. */
static tg_result check_dispatch(const tg_list* list, const tg_dispatch* dispatch, tg_error* error) {
  int32_t s, i;
  if (list->finished) return tg_fail(error, TG_ERROR_INVALID, "null: the list is finished");
  if (!dispatch->kernel) return tg_fail(error, TG_ERROR_INVALID, "null: the dispatch has no kernel");
  for (i = 0; i < dispatch->wait_count; ++i)
    if (dispatch->waits[i] < 0 || dispatch->waits[i] >= list->dispatches)
      return tg_fail(error, TG_ERROR_INVALID, "null: number %d waits for number %d, which is not before it",
                     (int)list->dispatches, (int)dispatch->waits[i]);
  for (s = 0; s < dispatch->segment_count; ++s) {
    const tg_segment* segment = &dispatch->segments[s];
    if (segment->binding_count != 3)
      return tg_fail(error, TG_ERROR_INVALID, "null: add takes 3 bindings, %d were given", (int)segment->binding_count);
    for (i = 0; i < segment->binding_count; ++i) {
      const tg_binding* b = &segment->bindings[i];
      if (!b->buffer) return tg_fail(error, TG_ERROR_INVALID, "null: binding %d has no buffer", (int)i);
      if (check_range(b->buffer, b->offset, 0, error) != TG_OK) return TG_ERROR_INVALID;
    }
  }
  return TG_OK;
}

static tg_result reserve(tg_list* list, int32_t more, tg_error* error) {
  int32_t capacity = list->capacity ? list->capacity : 16;
  struct command* grown;
  if (list->count + more <= list->capacity) return TG_OK;
  while (capacity < list->count + more) capacity *= 2;
  grown = realloc(list->commands, (size_t)capacity * sizeof(*grown));
  if (!grown) return tg_fail(error, TG_ERROR_MEMORY, "null: out of host memory");
  list->commands = grown;
  list->capacity = capacity;
  return TG_OK;
}

static tg_result list_append(tg_list* list, const tg_dispatch* dispatch, tg_error* error) {
  int32_t s;
  tg_result r = check_dispatch(list, dispatch, error);
  if (r == TG_OK) r = reserve(list, dispatch->segment_count, error);
  if (r != TG_OK) return r;
  for (s = 0; s < dispatch->segment_count; ++s) {
    const tg_segment* segment = &dispatch->segments[s];
    struct command* c = &list->commands[list->count];
    if (segment->items == 0) continue;
    c->kernel = dispatch->kernel;
    c->a = (const float*)(segment->bindings[0].buffer->bytes + segment->bindings[0].offset);
    c->b = (const float*)(segment->bindings[1].buffer->bytes + segment->bindings[1].offset);
    c->y = (float*)(segment->bindings[2].buffer->bytes + segment->bindings[2].offset);
    ++list->count;
  }
  ++list->dispatches;
  return TG_OK;
}

static tg_result list_finish(tg_list* list, tg_error* error) {
  if (list->finished) return tg_fail(error, TG_ERROR_INVALID, "null: the list is finished already");
  list->finished = 1;
  return TG_OK;
}

static void list_destroy(tg_list* list) {
  free(list->commands);
  free(list);
}

/* ---- Operators: say no to everything that is not exactly what you can do. */

static int64_t elements_of(const tg_tensor* t) {
  int64_t n = 1;
  int32_t i;
  for (i = 0; i < t->rank; ++i) n *= t->extents[i];
  return n;
}

static int is_row_major_f32(const tg_tensor* t) {
  int64_t stride = 1;
  int32_t i;
  if (t->dtype != TG_F32) return 0;
  for (i = t->rank - 1; i >= 0; --i) {
    if (t->extents[i] != 1 && t->strides[i] != stride) return 0;
    stride *= t->extents[i];
  }
  return 1;
}

static int same_extents(const tg_tensor* a, const tg_tensor* b) {
  return a->rank == b->rank && (a->rank == 0 || memcmp(a->extents, b->extents, (size_t)a->rank * sizeof(int64_t)) == 0);
}

static int32_t supports(tg_device* device, const tg_problem* p) {
  int32_t i;
  (void)device;
  if (strcmp(p->op, "add") != 0 || p->operand_count != 3 || p->result_count != 1) return 0;
  for (i = 0; i < 3; ++i)
    if (!is_row_major_f32(&p->operands[i]) || !same_extents(&p->operands[i], &p->operands[2])) return 0;
  return 1;
}

static tg_result operator_load(tg_device* device, const tg_problem* p, tg_kernel** kernel, int64_t* scratch_bytes,
                               tg_error* error) {
  if (!supports(device, p))
    return tg_fail(error, TG_ERROR_UNSUPPORTED,
                   "null: %s was asked for, this backend computes add of two contiguous f32 tensors", p->op);
  *kernel = calloc(1, sizeof(**kernel));
  if (!*kernel) return tg_fail(error, TG_ERROR_MEMORY, "null: out of host memory");
  (*kernel)->elements = elements_of(&p->operands[2]);
  *scratch_bytes = 0;
  return TG_OK;
}

static void kernel_unload(tg_kernel* kernel) { free(kernel); }

/* ---- The table, with every slot in sight. NULL: not supported. */

static const tg_backend table = {
    .size = sizeof(tg_backend),
    .version_major = TG_BACKEND_VERSION_MAJOR,
    .version_minor = TG_BACKEND_VERSION_MINOR,
    .name = "null",
    .description = "the skeleton to copy: host memory and one operator",
    .device_count = device_count,
    .device_open = device_open,
    .device_close = device_close,
    .device_info = device_info,
    .buffer_alloc = buffer_alloc,
    .buffer_free = buffer_free,
    .buffer_map = buffer_map,
    .buffer_write = buffer_write,
    .buffer_read = buffer_read,
    .queue_create = queue_create,
    .queue_destroy = queue_destroy,
    .queue_execute = queue_execute,
    .queue_copy = queue_copy,
    .queue_wait = queue_wait,
    .event_create = event_create,
    .event_destroy = event_destroy,
    .event_wait = event_wait,
    .kernel_load = NULL, /* no code format */
    .kernel_unload = kernel_unload,
    .list_create = list_create,
    .list_append = list_append,
    .list_finish = list_finish,
    .list_destroy = list_destroy,
    .supports = supports,
    .operator_load = operator_load,
    .group_id = NULL, /* no collectives */
    .group_join = NULL,
    .group_leave = NULL,
    .collective_load = NULL,
    .kernel_compile = NULL, /* no compiler of its own */
    .image_free = NULL,
};

TG_BACKEND_EXPORT tg_result tg_backend_query(const tg_backend_request* request, tg_backend_reply* reply) {
  return tg_answer_query(request, reply, &table);
}
