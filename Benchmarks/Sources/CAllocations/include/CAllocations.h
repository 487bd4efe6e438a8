#ifndef ERRAND_C_ALLOCATIONS_H
#define ERRAND_C_ALLOCATIONS_H

/// How often this process has asked for memory (malloc, calloc, realloc, aligned); -1 where that can't be counted.
long errand_allocation_count(void);

#endif
