#ifndef COHERENCE_RUNTIME_H
#define COHERENCE_RUNTIME_H

/// The runtime's own way to take a reference to an object that may be on its way out: answers the object, retained, or
/// NULL when its deinitialisation has begun. Weak references are built on it; the object registry uses it directly
/// because a side table per object would cost more than the object's row.
///
/// The memory at `object` must not have been freed. The registry ensures that: an object removes itself from the
/// registry, under the registry's lock, before its memory goes.
void *_Nullable swift_tryRetain(void *_Nonnull object);

#endif
