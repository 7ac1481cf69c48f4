// For RTLD_NEXT.
#define _GNU_SOURCE

#include "ThreadSanitizerSupport.h"

#if defined(__linux__) && __has_feature(thread_sanitizer)

#include <dlfcn.h>
#include <sanitizer/tsan_interface.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

// The methods of the library's mutex, as Swift calls them. The word that its quick way exchanges stands at the address
// of the mutex; the hand-over is reported at that address too, so that either way sees what the other released.
#define METHOD __attribute__((swiftcall))
#define SELF __attribute__((swift_context))

#define LOCK_SLOW "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define TRY_LOCK_SLOW "$s15Synchronization12_MutexHandleV12_tryLockSlowSbyF"
#define UNLOCK_SLOW "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

METHOD void lock_slow(uint32_t thread, SELF void *mutex) __asm__(LOCK_SLOW);
METHOD bool try_lock_slow(SELF void *mutex) __asm__(TRY_LOCK_SLOW);
METHOD void unlock_slow(SELF void *mutex) __asm__(UNLOCK_SLOW);

static METHOD void (*library_lock_slow)(uint32_t, SELF void *);
static METHOD bool (*library_try_lock_slow)(SELF void *);
static METHOD void (*library_unlock_slow)(SELF void *);

static atomic_long contended_locks;

static void *library_function(const char *name) {
  void *function = dlsym(RTLD_NEXT, name);
  if (!function) {
    fprintf(stderr, "The Synchronization library has no %s; adapt Tests/ThreadSanitizer to this toolchain.\n", name);
    abort();
  }
  return function;
}

// Before the process has a second thread, so that the pointers themselves need no synchronization.
__attribute__((constructor)) static void find_library_functions(void) {
  library_lock_slow = library_function(LOCK_SLOW);
  library_try_lock_slow = library_function(TRY_LOCK_SLOW);
  library_unlock_slow = library_function(UNLOCK_SLOW);
}

METHOD void lock_slow(uint32_t thread, SELF void *mutex) {
  library_lock_slow(thread, mutex);
  __tsan_acquire(mutex);
  atomic_fetch_add_explicit(&contended_locks, 1, memory_order_relaxed);
}

METHOD bool try_lock_slow(SELF void *mutex) {
  bool taken = library_try_lock_slow(mutex);
  if (taken) __tsan_acquire(mutex);
  return taken;
}

METHOD void unlock_slow(SELF void *mutex) {
  __tsan_release(mutex);
  library_unlock_slow(mutex);
}

bool thread_sanitizer_sees_mutexes(void) { return true; }

long thread_sanitizer_contended_locks(void) {
  return atomic_load_explicit(&contended_locks, memory_order_relaxed);
}

#else

bool thread_sanitizer_sees_mutexes(void) { return false; }

long thread_sanitizer_contended_locks(void) { return 0; }

#endif
