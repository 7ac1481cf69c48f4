import Synchronization

/// Receives the fetches of a coordinator's contexts before they read, for refreshes on demand.
package protocol FetchObserver: AnyObject, Sendable {
  /// Called for each fetch and count, on its thread, before the stores are read. Must return quickly, and must not use
  /// the stack.
  func willFetch(_ entity: EntityDescription)
}

/// The observers of a coordinator's fetches. A fetch without observers costs the read of one word.
final class FetchObservers: Sendable {
  private struct Entry { weak var observer: (any FetchObserver)? }

  private let entries = Mutex<[Entry]>([])
  private let hasObservers = Atomic<Bool>(false)

  /// Adds an observer without retaining it. Adding it twice does nothing.
  func add(_ observer: any FetchObserver) {
    entries.withLock { entries in
      entries.removeAll { $0.observer == nil || $0.observer === observer }
      entries.append(Entry(observer: observer))
      hasObservers.store(true, ordering: .releasing)
    }
  }

  func remove(_ observer: any FetchObserver) {
    entries.withLock { entries in
      entries.removeAll { $0.observer == nil || $0.observer === observer }
      hasObservers.store(!entries.isEmpty, ordering: .releasing)
    }
  }

  /// Notifies the observers of a fetch of an entity.
  func notify(of entity: EntityDescription) {
    guard hasObservers.load(ordering: .acquiring) else { return }
    for entry in entries.withLock({ $0 }) { entry.observer?.willFetch(entity) }
  }
}
