// Interposes malloc and its relatives by defining them here; glibc's own are reached by their internal names.
#include "AllocationCount.h"

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <sys/resource.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TEGULA_COUNT 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define TEGULA_COUNT 0
#endif
#endif
#if !defined(TEGULA_COUNT) && defined(__GLIBC__)
#define TEGULA_COUNT 1
#endif

namespace {
std::atomic<int64_t> count{0};
}

#if TEGULA_COUNT
extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);

void* malloc(size_t size) {
  count.fetch_add(1, std::memory_order_relaxed);
  return __libc_malloc(size);
}
void* calloc(size_t n, size_t size) {
  count.fetch_add(1, std::memory_order_relaxed);
  return __libc_calloc(n, size);
}
void* realloc(void* p, size_t size) {
  count.fetch_add(1, std::memory_order_relaxed);
  return __libc_realloc(p, size);
}
void* aligned_alloc(size_t align, size_t size) {
  count.fetch_add(1, std::memory_order_relaxed);
  return __libc_memalign(align, size);
}
void* memalign(size_t align, size_t size) { return aligned_alloc(align, size); }
int posix_memalign(void** out, size_t align, size_t size) {
  *out = aligned_alloc(align, size);
  return *out ? 0 : ENOMEM;
}
}
#endif

namespace tegula::test {

int64_t heapAllocations() {
#if TEGULA_COUNT
  return count.load();
#else
  return -1;
#endif
}

int64_t pageFaults() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt + usage.ru_majflt;
}

} // namespace tegula::test
