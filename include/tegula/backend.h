/* The device interface of Tegula: what a backend implements to make a chip usable. C11, one header.
 *
 * A backend is a shared library (or is linked in) that exports one symbol, `tg_backend_query`. It answers with a table
 * of functions, or with a refusal in words that names both versions. backends/null is a commented skeleton to copy;
 * backends/sdk holds header-only helpers (errors, a worker pool).
 *
 *   host                                    backend
 *   tg_backend_query(request, reply) ---->  checks the version, hands out its table
 *   device_open                             once
 *   buffer_alloc, kernel_load               whenever a plan is made
 *   list_create, list_append, list_finish   once a plan, and again when its memory moves: every argument
 *   queue_execute(list)                     once a step
 *
 * Rules for the whole interface
 *   Growth     Every struct that may grow starts with its size in bytes as the writer knew it. Fields and slots are
 *              only ever appended. A reader uses the fields that fit the size and treats the rest as zero.
 *              tg_binding, tg_segment and tg_tensor never grow.
 *   Version    MAJOR changes when something existing changes meaning: a backend of another major version is refused.
 *              MINOR counts appended slots: any minor version works with any other.
 *   Slots      A null slot means "not supported". `name` and the slots of sections marked `required` must not be
 *              null. Optional slots come together: supports with operator_load; kernel_compile with image_free.
 *   Results    0 (TG_OK) or a TG_ERROR_* code. On an error the callee writes a message, ended by a zero byte, into
 *              *error (which may be null): lower case, no final stop, `asked, found, way out`. Outputs are written only
 *              on success; a handle that is written is not null.
 *   Ownership  Handles belong to the device that made them and are freed by the matching call, in any order that its
 *              `Requires` allows, all before device_close. Pointers in arguments are borrowed for the call only, unless
 *              stated.
 *   Threads    A call may come from any thread. Calls whose first argument is a tg_device (except device_close) may be
 *              concurrent; calls whose first argument is another handle are not concurrent on that handle, unless
 *              stated. Handles passed as further arguments may be in use by other calls at the same time, but are not
 *              being freed.
 *   Manners    No C++ exception leaves a slot. Loading and calling the backend leave floating-point mode, locale and
 *              signal handlers of the host's threads as they were.
 *   Blocking   Unless stated, calls may take milliseconds (allocation, loading) but wait for no queued work.
 *   Units      Sizes and offsets in bytes, times in nanoseconds, work estimates in operations and bytes. */
#ifndef TEGULA_BACKEND_H
#define TEGULA_BACKEND_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TG_BACKEND_VERSION_MAJOR 1u
#define TG_BACKEND_VERSION_MINOR 0u
#define TG_BACKEND_QUERY_SYMBOL "tg_backend_query"

#if defined(_WIN32)
#define TG_BACKEND_EXPORT __declspec(dllexport)
#else
#define TG_BACKEND_EXPORT __attribute__((visibility("default")))
#endif

/* ---- Results --------------------------------------------------------------------------------------------- */

typedef int32_t tg_result;
enum {
  TG_OK = 0,
  TG_ERROR_INVALID = 1,     /* the caller's arguments are wrong */
  TG_ERROR_UNSUPPORTED = 2, /* valid, but this device or version cannot do it */
  TG_ERROR_MEMORY = 3,      /* out of memory */
  TG_ERROR_DEVICE = 4,      /* the device failed or is gone: nothing is in flight any more, freeing calls still work,
                               every other call returns this code again; hosts treat unknown codes like it */
  TG_ERROR_TIMEOUT = 5      /* the time given has passed */
};

/* Caller-owned place for a message; at most size - offsetof(message) bytes with the final zero. */
typedef struct tg_error {
  size_t size;
  char message[504];
} tg_error;

/* ---- Values ---------------------------------------------------------------------------------------------- */

typedef int32_t tg_dtype;
enum {
  TG_BOOL = 0, /* one byte, 0 or 1 */
  TG_I8 = 1,
  TG_U8 = 2,
  TG_I16 = 3,
  TG_U16 = 4,
  TG_I32 = 5,
  TG_I64 = 6,
  TG_F8E4M3 = 7,
  TG_F8E5M2 = 8,
  TG_F16 = 9,
  TG_BF16 = 10,
  TG_F32 = 11,
  TG_F64 = 12
};

/* Operand of a library operator: extents and strides in elements, `rank` of each. Never grows. */
typedef struct tg_tensor {
  tg_dtype dtype;
  int32_t rank;
  const int64_t* extents;
  const int64_t* strides;
} tg_tensor;

/* Handles: opaque, defined by the backend. */
typedef struct tg_device tg_device;
typedef struct tg_buffer tg_buffer;
typedef struct tg_queue tg_queue;
typedef struct tg_event tg_event;
typedef struct tg_kernel tg_kernel;
typedef struct tg_list tg_list;   /* a recorded list of dispatches */
typedef struct tg_group tg_group; /* this process's membership in a group of devices that do collectives */

typedef struct tg_device_options {
  size_t size;
  int32_t threads; /* host threads the device may use for its work; 0: as many as the process may run on */
} tg_device_options;

enum {
  TG_DEVICE_HOST_VISIBLE = 1u << 0, /* buffer_map works on every buffer, without a copy */
  TG_DEVICE_SYNCHRONOUS = 1u << 1   /* queue_execute and queue_copy return when the work is done */
};

/* Strings and arrays live as long as the device. */
typedef struct tg_device_info {
  size_t size;
  const char* name;                /* "Intel(R) Xeon(R) Processor" */
  const char* features;            /* words separated by blanks, for people and cache keys: "avx2 fma avx512f" */
  const char* const* code_formats; /* what kernel_load takes, best first: "cpu-image-1" */
  int32_t code_format_count;       /* 0: the device runs library operators only */
  int32_t threads;                 /* workers that run one dispatch's items concurrently, at least 1 */
  int64_t memory_bytes;            /* total memory that buffers may take; 0: unknown */
  uint32_t flags;                  /* TG_DEVICE_* */
  uint32_t queue_count;            /* queues that make progress concurrently, at least 1 */
} tg_device_info;

typedef struct tg_kernel_image {
  size_t size;
  const char* name;   /* for people: logs, profiles, messages */
  const char* format; /* one of the device's code formats */
  const void* bytes;
  int64_t byte_count;
} tg_kernel_image;

/* A place in a buffer. Never grows. */
typedef struct tg_binding {
  tg_buffer* buffer;
  int64_t offset;
} tg_binding;

/* One set of arguments: the kernel runs work items 0 .. items-1 with them. Never grows. */
typedef struct tg_segment {
  const tg_binding* bindings;
  const int64_t* scalars;
  int32_t binding_count;
  int32_t scalar_count;
  int64_t items; /* 0: nothing to do */
} tg_segment;

/* One dispatch: the work items of all segments, in any order, on any number of workers; they never synchronise with
 * each other. */
typedef struct tg_dispatch {
  size_t size;
  tg_kernel* kernel;
  const tg_segment* segments;
  int32_t segment_count;
  int32_t wait_count;
  const int32_t*
      waits; /* earlier dispatches of this list (by position) that must have finished before this one starts */
  int64_t
      scratch_bytes; /* private to each worker, 64-byte aligned, contents undefined at the start of a range of items */
  double flops, bytes; /* estimates for the whole dispatch, for sizing threads; 0: unknown */
  const char* label;   /* for profiles and messages; copied */
} tg_dispatch;

/* A library operator or primitive applied to operands of known types: inputs, then results. No operand is absent;
 * hosts of version 1.0 ask with row-major operands only. Extents may be 0. */
typedef struct tg_problem {
  size_t size;
  const char* op;         /* an operator of ops/ or a primitive: "matmul", "add" */
  const char* attributes; /* all of them, defaults filled in, sorted by name: "axis=-1, keepdim=true"; may be empty */
  const tg_tensor* operands;
  int32_t operand_count;
  int32_t result_count; /* the last `result_count` operands are results */
} tg_problem;

typedef int32_t tg_collective_kind;
enum { TG_ALL_REDUCE = 0, TG_ALL_GATHER = 1, TG_REDUCE_SCATTER = 2, TG_BROADCAST = 3, TG_ALL_TO_ALL = 4 };
typedef struct tg_collective {
  size_t size;
  tg_collective_kind kind;
  tg_dtype dtype;
  int64_t elements; /* of the smaller of input and output */
  int32_t root;     /* of a broadcast */
} tg_collective;

/* A kernel for a backend that has its own compiler. */
typedef struct tg_kernel_text {
  size_t size;
  const char* name;
  const char* ir;   /* names and versions the IR that `text` is written in */
  const char* text; /* zero-terminated */
  const char* key;  /* canonical text of everything the code depends on */
} tg_kernel_text;

/* ---- The table ------------------------------------------------------------------------------------------- */

/* Constant, owned by the backend, valid until its library is unloaded. */
typedef struct tg_backend {
  size_t size;
  uint32_t version_major, version_minor;
  const char* name;        /* short, lower case: "cpu" */
  const char* description; /* one line for `tegula devices` */

  /* -- Devices (required) -- */
  /* How many devices there are now. 0 is an answer, not an error. */
  tg_result (*device_count)(int32_t* count, tg_error* error);
  /* Opens device `index`. options may be null. The first call may take seconds. Fails: TG_ERROR_INVALID,
   * TG_ERROR_DEVICE, TG_ERROR_MEMORY. */
  tg_result (*device_open)(int32_t index, const tg_device_options* options, tg_device** device, tg_error* error);
  /* Requires: every handle of the device has been freed. Blocks until its threads have ended. */
  void (*device_close)(tg_device* device);
  /* Fills the fields that fit info->size (set by the caller). Any thread, also concurrently. */
  tg_result (*device_info)(tg_device* device, tg_device_info* info, tg_error* error);

  /* -- Memory (required; buffer_map may be null) -- */
  /* A buffer of at least `bytes`, zero-filled, its pages present: work on it faults no page. `bytes` may be 0 and still
   * gives a handle. The address that kernels see, and the mapped one, are multiples of 64. Fails: TG_ERROR_MEMORY. */
  tg_result (*buffer_alloc)(tg_device* device, int64_t bytes, tg_buffer** buffer, tg_error* error);
  /* Requires: no queued work uses it. A list recorded with it may outlive it, but is then only destroyed, never
   * executed. */
  void (*buffer_free)(tg_buffer* buffer);
  /* The host address of byte 0, valid until buffer_free. The host may read what finished work wrote and write what
   * later work reads. Called on a TG_DEVICE_HOST_VISIBLE device only; with a null slot or on an error the host uses
   * buffer_read and buffer_write. */
  tg_result (*buffer_map)(tg_buffer* buffer, void** address, tg_error* error);
  /* Copies host memory into the buffer and back. Blocking until done, but not ordered with queues: the caller waits for
   * them. `bytes` may be 0; the host pointer is then ignored. Fails: TG_ERROR_INVALID for a range outside the buffer.
   */
  tg_result (*buffer_write)(tg_buffer* buffer, int64_t offset, const void* source, int64_t bytes, tg_error* error);
  tg_result (*buffer_read)(tg_buffer* buffer, int64_t offset, void* destination, int64_t bytes, tg_error* error);

  /* -- Queues and events (required; events too, though hosts of version 1.0 do not call them yet) -- */
  /* Work of one queue runs in order of submission; different queues are ordered by events only. */
  tg_result (*queue_create)(tg_device* device, tg_queue** queue, tg_error* error);
  /* Blocks until its work is done. */
  void (*queue_destroy)(tg_queue* queue);
  /* Runs a finished list once. Allocates no host memory. `waits` must be done before it starts; `signal` (may be null)
   * is done when it has finished. Returns at once or, on a TG_DEVICE_SYNCHRONOUS device, when the work is done. A list
   * may be in flight only once. `waits` may be null when wait_count is 0 and does not contain `signal`; an event is
   * signalled by one submission at a time. On an error nothing was submitted and `signal` is unchanged. Work that fails
   * later makes its signal done and is reported by the next queue_wait. Fails: TG_ERROR_DEVICE, TG_ERROR_INVALID for a
   * list that is not finished. */
  tg_result (*queue_execute)(tg_queue* queue, tg_list* list, tg_event* const* waits, int32_t wait_count,
                             tg_event* signal, tg_error* error);
  /* Copies bytes between (or within, not overlapping) buffers of the device, in queue order. Required,
   * though hosts of version 1.0 do not call it yet. */
  tg_result (*queue_copy)(tg_queue* queue, tg_binding destination, tg_binding source, int64_t bytes, tg_error* error);
  /* Blocks until everything submitted so far is done. */
  tg_result (*queue_wait)(tg_queue* queue, tg_error* error);
  /* A new event is done. Submitting work that signals it makes it not done until that work finishes. */
  tg_result (*event_create)(tg_device* device, tg_event** event, tg_error* error);
  /* Requires: no queued work waits for it or signals it. */
  void (*event_destroy)(tg_event* event);
  /* Blocks until done or until timeout_ns have passed (TG_ERROR_TIMEOUT); 0 asks without blocking, negative waits for
   * ever. Any thread, also concurrently. */
  tg_result (*event_wait)(tg_event* event, int64_t timeout_ns, tg_error* error);

  /* -- Kernels (kernel_unload required; kernel_load required when code_format_count is not 0) -- */
  /* Makes an image runnable; the bytes may be released after the call. Fails:
   * TG_ERROR_INVALID for a damaged image, TG_ERROR_UNSUPPORTED for a format or instruction set that the device lacks.
   */
  tg_result (*kernel_load)(tg_device* device, const tg_kernel_image* image, tg_kernel** kernel, tg_error* error);
  /* Frees what kernel_load, operator_load and collective_load made. Requires: no list uses it. */
  void (*kernel_unload)(tg_kernel* kernel);

  /* -- Recorded lists (required) -- */
  tg_result (*list_create)(tg_device* device, tg_list** list, tg_error* error);
  /* Appends a dispatch; all arguments are copied, addresses are resolved. A dispatch without items keeps its position;
   * dispatches that do not wait for each other may overlap. Offsets are multiples of the element's size, no more.
   * Pointers may be null where their count is 0; label may be null. Fails, leaving the list as it was: TG_ERROR_INVALID
   * for a wait on itself or a later one, an offset outside 0 .. bytes of its buffer, or a finished list. */
  tg_result (*list_append)(tg_list* list, const tg_dispatch* dispatch, tg_error* error);
  /* No more dispatches (there may be none): allocates scratch and whatever else executing needs. */
  tg_result (*list_finish)(tg_list* list, tg_error* error);
  /* Requires: not in flight. */
  void (*list_destroy)(tg_list* list);

  /* -- Library operators (optional): how a backend starts, with one operator -- */
  /* 1 if operator_load would accept the problem. Fast. Hosts of version 1.0 ask only devices that take no code format
   * they make. An operator that is not supported is taken apart into primitives, which are asked about in turn; what is
   * left runs on the host, loudly, or is refused by name when the run says fallback = "error". Constants and views are
   * made by the host. */
  int32_t (*supports)(tg_device* device, const tg_problem* problem);
  /* A kernel for lists: one segment, bindings = operands in order, no scalars, items = 1. `scratch_bytes` is what its
   * dispatches need. */
  tg_result (*operator_load)(tg_device* device, const tg_problem* problem, tg_kernel** kernel, int64_t* scratch_bytes,
                             tg_error* error);

  /* -- Collectives (optional; hosts of version 1.0 do not call them) -- */
  /* Rank 0 makes an id (at most `capacity` bytes, *bytes written) and sends it to the others by other means. */
  tg_result (*group_id)(tg_device* device, void* id, int64_t capacity, int64_t* bytes, tg_error* error);
  /* Joins as `rank` of `ranks`. Blocks until all have joined, at most timeout_ns. */
  tg_result (*group_join)(tg_device* device, const void* id, int64_t bytes, int32_t rank, int32_t ranks,
                          int64_t timeout_ns, tg_group** group, tg_error* error);
  void (*group_leave)(tg_group* group);
  /* A kernel for lists: bindings = input, output (may be the same place where sizes are equal), no scalars, items = 1.
   * All ranks execute their collectives of a group in the same order. */
  tg_result (*collective_load)(tg_group* group, const tg_collective* collective, tg_kernel** kernel, tg_error* error);

  /* -- Own compiler (optional; hosts of version 1.0 do not call it, and its IR is not specified yet) -- */
  /* Turns IR into an image in the device's first code format, owned by the caller until image_free. */
  tg_result (*kernel_compile)(tg_device* device, const tg_kernel_text* text, void** bytes, int64_t* byte_count,
                              tg_error* error);
  void (*image_free)(tg_device* device, void* bytes);
} tg_backend;

/* ---- The entry ------------------------------------------------------------------------------------------- */

typedef struct tg_backend_request {
  size_t size;
  uint32_t version_major, version_minor; /* of the host */
  const char* host;                      /* "tegula 0.1.0", for messages */
} tg_backend_request;

typedef struct tg_backend_reply {
  size_t size;                           /* set by the host */
  uint32_t version_major, version_minor; /* of the backend; written in either case */
  const tg_backend* backend;             /* null: refused */
  char refusal[256];                     /* why, naming both versions */
} tg_backend_reply;

/* The one exported symbol. TG_OK and a table, or TG_ERROR_UNSUPPORTED and a refusal. Any thread; may be called several
 * times. A plugin defines it; backends that are linked in have entries of other names. */
typedef tg_result (*tg_backend_query_fn)(const tg_backend_request* request, tg_backend_reply* reply);
TG_BACKEND_EXPORT tg_result tg_backend_query(const tg_backend_request* request, tg_backend_reply* reply);

#ifdef __cplusplus
} /* extern "C" */
#endif
#endif
