// The counters of the system's allocator.
#include <stddef.h>
#if defined(__APPLE__)
#include <malloc/malloc.h>

// The bytes that are in use.
static inline size_t live_bytes(void) {
    malloc_statistics_t statistics;
    malloc_zone_statistics(NULL, &statistics);
    return statistics.size_in_use;
}
#else
#include <malloc.h>

// The bytes that are in use. In C, because Swift may take `mallinfo2()` for a new value of the struct of that name, which is all zeros.
static inline size_t live_bytes(void) {
    struct mallinfo2 counters = mallinfo2();
    return counters.uordblks + counters.hblkhd;
}
#endif
