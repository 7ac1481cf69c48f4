#include "CoherenceRuntime.h"

#if !defined(__APPLE__)
/// A reference to a serial executor as the runtime passes it: the object and its witness table.
typedef struct { void *identity; void *implementation; } serial_executor;

/// Entry points of the concurrency runtime. The compiler itself calls the last one with zero for "must not trap".
__attribute__((swiftcall)) serial_executor swift_task_getMainExecutor(void);
__attribute__((swiftcall)) serial_executor swift_task_getCurrentExecutor(void);
__attribute__((swiftcall)) _Bool swift_task_isCurrentExecutorWithFlags(serial_executor executor, uint64_t flags);
#endif

bool coherence_is_on_main_actor(void) {
#if defined(__APPLE__)
    return pthread_main_np() != 0;
#else
    return swift_task_isCurrentExecutorWithFlags(swift_task_getMainExecutor(), 0);
#endif
}

bool coherence_is_in_main_job(void) {
#if defined(__APPLE__)
    return false;
#else
    return swift_task_getCurrentExecutor().identity != NULL
        && swift_task_isCurrentExecutorWithFlags(swift_task_getMainExecutor(), 0);
#endif
}
