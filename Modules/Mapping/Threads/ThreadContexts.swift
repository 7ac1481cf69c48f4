import CoherenceCore
import Synchronization

/// The contexts of a manager for threads: one for each thread, as long as the thread and the manager live.
///
/// The contexts follow the manager's writing contexts, so that the records that a thread keeps do not become stale.
final class ThreadContexts: Sendable {
  private struct State {
    var contexts: [ObjectIdentifier: ManagedObjectContext] = [:]
    /// The contexts whose saves the reading contexts follow.
    var writers: [ContextHandle] = []
  }
  private let state = Mutex(State())

  /// Returns the context of the calling thread, and makes one for a new thread.
  func current(make: () -> ManagedObjectContext) -> ManagedObjectContext {
    let lifetime = ThreadLifetime.current
    let thread = ObjectIdentifier(lifetime)
    if let existing = state.withLock({ $0.contexts[thread] }) { return existing }
    let context = make()
    lifetime.notifyAtEnd(self)
    // The context is added in one step with the look at the writers, so that it follows each writer once: the present
    // ones here, and later ones in `follow`. A reference to a writer may become the last one, and is released after the
    // lock.
    let writers = state.withLock { state in
      state.contexts[thread] = context
      return state.writers
    }
    for writer in writers { if let writer = writer.context { context.follow(writer) } }
    return context
  }

  /// Makes the reading contexts of all threads, present and future, follow the saves of a context.
  func follow(_ writer: ManagedObjectContext) {
    guard let handle = writer.handle else { return }
    state.withLock { state in
      state.writers.removeAll(where: \.isCleared)
      state.writers.append(handle)
      for context in state.contexts.values { context.follow(writer) }
    }
  }

  /// Releases the context of a thread that ended.
  func remove(_ thread: ObjectIdentifier) {
    // The release of a context runs other code, so it follows the unlocking.
    let removed = state.withLock { $0.contexts.removeValue(forKey: thread) }
    withExtendedLifetime(removed) {}
  }

  /// Releases all contexts. Threads get new ones.
  func removeAll() {
    // As in `remove`.
    let removed = state.withLock { state in
      defer { state.contexts = [:] }
      return state.contexts
    }
    withExtendedLifetime(removed) {}
  }
}
