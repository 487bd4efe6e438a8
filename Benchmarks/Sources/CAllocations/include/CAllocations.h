#ifndef ERRAND_C_ALLOCATIONS_H
#define ERRAND_C_ALLOCATIONS_H

/// How often this process has asked for memory (malloc, calloc, realloc, aligned); -1 where that can't be counted.
long errand_allocation_count(void);

/// The bytes that this process has allocated and not yet freed; -1 where that can't be counted.
long errand_live_bytes(void);

#endif
