// Counts heap allocations and page faults of this process, so that tests can state "none".
#pragma once

#include <cstdint>

namespace tegula::test {

/// Calls of malloc, calloc, realloc, aligned_alloc and what is built on them (operator new), on all threads, since the
/// start. -1 where they cannot be counted (sanitizers replace malloc themselves).
int64_t heapAllocations();
/// Minor and major page faults of the process since the start.
int64_t pageFaults();

} // namespace tegula::test
