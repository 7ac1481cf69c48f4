#include <libpq-fe.h>
#include <stddef.h>

#if defined(__APPLE__)
#include <malloc/malloc.h>
#else
#include <malloc.h>
#endif

/// The bytes that the process has allocated and not given back, as its allocator counts them: the chunks' own
/// overhead included, caches of free chunks released first where that is possible.
static inline size_t benchAllocatedBytes(void) {
#if defined(__APPLE__)
  malloc_statistics_t statistics;
  malloc_zone_statistics(NULL, &statistics);
  return statistics.size_in_use;
#else
  malloc_trim(0);
  struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
#endif
}
