#ifndef COHERENCE_RUNTIME_H
#define COHERENCE_RUNTIME_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// The runtime's own way to take a reference to an object that may be on its way out: answers the object, retained, or
/// NULL when its deinitialisation has begun. Weak references are built on it; the object registry uses it directly
/// because a side table per object would cost more than the object's row.
///
/// The memory at `object` must not have been freed. The registry ensures that: an object removes itself from the
/// registry, under the registry's lock, before its memory goes.
void *_Nullable swift_tryRetain(void *_Nonnull object);

/// How many references there are to an object, for people who look for one that is held by too many.
size_t swift_retainCount(void *_Nonnull object);

/// Whether the calling thread runs a job of the main actor, or is the main thread outside of jobs. Never traps. Does not
/// see a plain block of the main queue: ask the queue too.
bool coherence_is_on_main_actor(void);

/// Whether the calling thread runs a job of the main actor: then somebody serves the main queue.
bool coherence_is_in_main_job(void);

/// A number for the calling thread, unique among running threads and never zero. It is asked for at every access to an
/// object, so that the call of `pthread_self` is left out where the thread's register holds the same.
static inline uintptr_t coherence_current_thread(void) {
#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))
    return (uintptr_t)__builtin_thread_pointer();
#else
    return (uintptr_t)pthread_self();
#endif
}

/// Whether the calling thread has at least so many bytes of stack left. Takes nanoseconds, and microseconds for the first
/// time on a thread. A thread whose stack is unknown counts as one with enough.
bool coherence_has_stack(size_t bytes);

/// Calls a function on the calling thread, on another stack of at least so many bytes. Its memory is reserved, taken page
/// by page as it is touched, and given back at the end. Without memory for it, the function runs on the stack that there
/// is.
///
/// Everything that belongs to the thread stays as it is: locks, thread-local values, the current executor.
void coherence_call_on_stack(size_t bytes, void (*_Nonnull body)(void *_Nullable), void *_Nullable argument);

#endif
