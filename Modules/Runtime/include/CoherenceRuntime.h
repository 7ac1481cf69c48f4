#ifndef COHERENCE_RUNTIME_H
#define COHERENCE_RUNTIME_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Takes a reference to an object that may be in deinitialisation: returns the object, retained, or NULL when its
/// deinitialisation has begun. Weak references are built on it; the object registry uses it directly
/// because a side table per object would cost more than the object's row.
///
/// The memory at `object` must not have been freed. The registry ensures that: an object removes itself from the
/// registry, under the registry's lock, before its memory is freed.
void *_Nullable swift_tryRetain(void *_Nonnull object);

/// Returns the number of strong references to an object, for debugging.
size_t swift_retainCount(void *_Nonnull object);

/// Whether the calling thread runs a job of the main actor, or is the main thread outside of jobs. Never traps. Does not
/// see a plain block of the main queue: ask the queue too.
bool coherence_is_on_main_actor(void);

/// Whether the calling thread runs a job of the main actor, which proves that the main queue is served.
bool coherence_is_in_main_job(void);

/// A number for the calling thread, unique among running threads and never zero. Every access to an object asks for it,
/// so the thread register is read directly where it has the value of `pthread_self`.
static inline uintptr_t coherence_current_thread(void) {
#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))
    return (uintptr_t)__builtin_thread_pointer();
#else
    return (uintptr_t)pthread_self();
#endif
}

/// Whether the calling thread has at least a number of bytes of stack left. Costs nanoseconds, and microseconds for the
/// first call on a thread. Returns true for a thread whose stack is unknown.
bool coherence_has_stack(size_t bytes);

/// The number of frames that the frame pointers lead to on the calling thread's own stack, from the calling function on,
/// and no more than a limit. 0 on another stack, and where the platform does not tell the bounds.
size_t coherence_frame_count(size_t limit);

/// Calls a function on the calling thread, on another stack of at least a number of bytes. The stack's memory is
/// reserved, committed page by page when it is touched, and freed at the end. If no memory can be reserved, the function
/// runs on the present stack.
///
/// Locks, thread-local values and the current executor of the thread stay as they are.
void coherence_call_on_stack(size_t bytes, void (*_Nonnull body)(void *_Nullable), void *_Nullable argument);

#endif
