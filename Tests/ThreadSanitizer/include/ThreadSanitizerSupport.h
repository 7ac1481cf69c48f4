#ifndef THREAD_SANITIZER_SUPPORT_H
#define THREAD_SANITIZER_SUPPORT_H

/// Makes a contended `Mutex` of the Synchronization library visible to the thread sanitizer on Linux.
///
/// The quick way through a `Mutex`, one atomic exchange, is compiled into the code that uses it, where the sanitizer
/// sees it. The slow way, with a futex, is compiled into the library, which is not instrumented: there the sanitizer
/// misses the hand-over from one thread to the next and takes what the mutex protects for a race. Linking this target
/// puts functions of the same names in front of the library's, which call the library's and report the hand-over.
/// The mutex that is tested is still the library's.
///
/// Should the library rename these functions, they are no longer called: false reports come back, none is hidden.

#include <stdbool.h>

/// Whether the tests are compiled for the thread sanitizer, with the functions above in place.
bool thread_sanitizer_sees_mutexes(void);

/// How many times a mutex was taken the slow way since the process began.
long thread_sanitizer_contended_locks(void);

#endif
