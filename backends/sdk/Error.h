/* Helpers for writing a backend in C or C++: messages, and the answer to tg_backend_query. Header-only. */
#ifndef TEGULA_SDK_ERROR_H
#define TEGULA_SDK_ERROR_H

#include "tegula/backend.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Writes a formatted message (if there is a place for it) and returns `code`: return tg_fail(error, TG_ERROR_INVALID,
 * "…"); */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
static inline tg_result tg_fail(tg_error* error, tg_result code, const char* format, ...) {
  if (!error || error->size <= offsetof(tg_error, message)) return code;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(error->message, error->size - offsetof(tg_error, message), format, arguments);
  va_end(arguments);
  return code;
}

/* Answers a query with `table` if the host speaks the same major version, else refuses in words that name both. */
static inline tg_result tg_answer_query(const tg_backend_request* request, tg_backend_reply* reply,
                                        const tg_backend* table) {
  size_t refusal_capacity;
  reply->version_major = table->version_major;
  reply->version_minor = table->version_minor;
  if (request->version_major == table->version_major) {
    reply->backend = table;
    return TG_OK;
  }
  reply->backend = NULL; // NOLINT(modernize-use-nullptr): this header is C too
  if (reply->size > offsetof(tg_backend_reply, refusal)) {
    refusal_capacity = reply->size - offsetof(tg_backend_reply, refusal);
    if (refusal_capacity > sizeof(reply->refusal)) refusal_capacity = sizeof(reply->refusal);
    snprintf(reply->refusal, refusal_capacity,
             "backend %s speaks interface version %u.%u, the host asked for %u.%u: use a backend built for the host's "
             "version",
             table->name, (unsigned)table->version_major, (unsigned)table->version_minor,
             (unsigned)request->version_major, (unsigned)request->version_minor);
  }
  return TG_ERROR_UNSUPPORTED;
}

#endif
