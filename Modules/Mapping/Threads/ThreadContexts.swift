import CoherenceCore
import Synchronization

/// The contexts that a manager gave to threads: one each, for as long as the thread and the manager live.
///
/// They follow whatever the manager writes, so that records that a thread keeps do not go stale.
final class ThreadContexts: Sendable {
  private struct State {
    var contexts: [ObjectIdentifier: ManagedObjectContext] = [:]
    /// The contexts that may save.
    var writers: [ContextHandle] = []
  }
  private let state = Mutex(State())

  /// The calling thread's context, made when it has none.
  func current(make: () -> ManagedObjectContext) -> ManagedObjectContext {
    let presence = ThreadPresence.current
    let thread = ObjectIdentifier(presence)
    if let known = state.withLock({ $0.contexts[thread] }) { return known }
    let context = make()
    presence.tellOfEnd(self)
    state.withLock { state in
      for writer in state.writers { if let writer = writer.context { context.follow(writer) } }
      state.contexts[thread] = context
    }
    return context
  }

  /// Makes the contexts follow one that may save.
  func follow(_ writer: ManagedObjectContext) {
    guard let handle = writer.handle else { return }
    state.withLock { state in
      state.writers.removeAll { $0.context == nil }
      state.writers.append(handle)
      for context in state.contexts.values { context.follow(writer) }
    }
  }

  /// Forgets the context of a thread that ended.
  func remove(_ thread: ObjectIdentifier) {
    let removed = state.withLock { $0.contexts.removeValue(forKey: thread) }
    withExtendedLifetime(removed) {}
  }

  /// Forgets all contexts, so that threads are given fresh ones.
  func removeAll() {
    let removed = state.withLock { state in
      defer { state.contexts = [:] }
      return state.contexts
    }
    withExtendedLifetime(removed) {}
  }
}
