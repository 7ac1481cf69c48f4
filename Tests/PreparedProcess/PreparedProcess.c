#include "PreparedProcess.h"

#include <stdlib.h>
#include <unistd.h>

/// The work of a prepared process; see `PreparedProcess.swift` in `Tests/Faults`.
extern int coherence_prepared_process(void) __attribute__((weak));

/// Turns the program of the tests into a prepared process, before anything makes a second thread.
__attribute__((constructor)) static void enter(void) {
    if (coherence_prepared_process && getenv("COHERENCE_PREPARED_PROCESS")) {
        _exit(coherence_prepared_process());
    }
}

pid_t coherence_fork(void) { return fork(); }
