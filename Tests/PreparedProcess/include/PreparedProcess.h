#ifndef COHERENCE_PREPARED_PROCESS_H
#define COHERENCE_PREPARED_PROCESS_H

#include <sys/types.h>

/// Copies the calling process, which must have one thread. Swift does not import `fork`, which is unsafe with threads.
pid_t coherence_fork(void);

#endif
