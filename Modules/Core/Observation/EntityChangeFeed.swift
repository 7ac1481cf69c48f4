import Synchronization

/// Delivers the changes of a coordinator's saves to any number of streams.
final class EntityChangeFeed: Sendable {
  private struct Listener { weak var queue: EntityChangeQueue? }

  private let listeners = Mutex<[Listener]>([])
  private let hasListeners = Atomic<Bool>(false)

  // The release of the coordinator ends its streams.
  deinit { for queue in queues { queue.finish() } }

  /// Whether any stream may be in use. Costs the read of one word.
  var isObserved: Bool { hasListeners.load(ordering: .acquiring) }

  /// The number of listeners, those of released streams included. For tests.
  var listenerCount: Int { listeners.withLock { $0.count } }

  /// Makes a stream of the changes from now on.
  ///
  /// - Parameter entity: The entity whose changes, and whose subentities' changes, are delivered; `nil` for all.
  func makeStream(of entity: EntityDescription?) -> AsyncStream<EntityChanges> {
    let queue = EntityChangeQueue(entity)
    listeners.withLock { listeners in
      // Listeners of released streams are removed before an append that would grow the list, because the program may
      // never save.
      if listeners.count == listeners.capacity { listeners.removeAll { $0.queue == nil } }
      listeners.append(Listener(queue: queue))
      hasListeners.store(true, ordering: .releasing)
    }
    // Only the stream retains the queue. The next save, or a later stream, finds the queue of a released stream gone
    // and removes its listener.
    return AsyncStream { await queue.next() }
  }

  /// Adds the changes of a save to the queue of every stream. Does not wait for readers.
  func post(_ list: EntityChangeList) {
    guard !list.changes.isEmpty else { return }
    for queue in queues { queue.post(list.changes) }
  }

  /// The queues of the streams in use. Removes the listeners of released streams.
  private var queues: [EntityChangeQueue] {
    listeners.withLock { listeners in
      let queues = listeners.compactMap(\.queue)
      guard queues.count < listeners.count else { return queues }
      listeners.removeAll { $0.queue == nil }
      if listeners.isEmpty { hasListeners.store(false, ordering: .releasing) }
      return queues
    }
  }
}

/// The undelivered changes of one stream, merged by entity.
///
/// A queue keeps at most ``EntityChanges/bound`` identifiers. It drops the list of an entity whose changes would exceed
/// the bound, and delivers the entity with ``EntityChanges/isEverything``.
final class EntityChangeQueue: Sendable {
  private struct State {
    /// The changes of each entity, in the order of the entities' first changes.
    var changes: [EntityChanges] = []
    /// The number of identifiers in ``changes``.
    var count = 0
    /// The tasks that wait for changes, by number: a stream is for one reader, but nothing keeps several tasks from
    /// reading it.
    var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
    var lastWaiter = 0
    var isFinished = false

    /// Merges changes into the changes of their entity, and drops the entity's list if all lists together would exceed
    /// the bound.
    mutating func add(_ fresh: EntityChanges) {
      let known = changes.firstIndex { $0.entity === fresh.entity }
      let index = known ?? changes.count
      if known == nil { changes.append(EntityChanges(fresh.entity)) }
      count -= changes[index].count
      changes[index].merge(fresh)
      if count + changes[index].count > EntityChanges.bound { changes[index].collapse() }
      count += changes[index].count
    }
  }

  /// The entity of the stream; `nil` for all entities.
  private let entity: EntityDescription?
  private let state = Mutex(State())

  init(_ entity: EntityDescription?) { self.entity = entity }

  /// Adds the changes of a save that concern the entity of the stream.
  func post(_ changes: [EntityChanges]) {
    let concerned = entity.map { entity in changes.filter { $0.concerns(entity) } } ?? changes
    guard !concerned.isEmpty else { return }
    state.withLock { state in for fresh in concerned { state.add(fresh) } }
    wake()
  }

  /// Ends the stream after the remaining changes are delivered.
  func finish() {
    state.withLock { $0.isFinished = true }
    wake()
  }

  /// Waits for changes, and returns the merged changes of the entity that changed first. Returns `nil` in a cancelled
  /// task and after ``finish()``.
  func next() async -> EntityChanges? {
    while !Task.isCancelled {
      let (changes, isFinished) = state.withLock { state in
        guard !state.changes.isEmpty else { return (EntityChanges?.none, state.isFinished) }
        let first = state.changes.removeFirst()
        state.count -= first.count
        return (first, false)
      }
      if changes != nil || isFinished { return changes }
      await wait()
    }
    return nil
  }

  /// Waits until changes come, the stream is finished, or the task is cancelled.
  private func wait() async {
    let number = state.withLock { state in
      state.lastWaiter += 1
      return state.lastWaiter
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isWaiting = state.withLock { state in
          // An earlier cancellation is detected here; a later one finds the continuation.
          guard state.changes.isEmpty, !state.isFinished, !Task.isCancelled else { return false }
          state.waiters[number] = continuation
          return true
        }
        if !isWaiting { continuation.resume() }
      }
    } onCancel: {
      state.withLock { $0.waiters.removeValue(forKey: number) }?.resume()
    }
  }

  /// Resumes all readers that wait.
  private func wake() {
    let waiters = state.withLock { state in
      let waiters = state.waiters
      state.waiters = [:]
      return waiters
    }
    for waiter in waiters.values { waiter.resume() }
  }
}
