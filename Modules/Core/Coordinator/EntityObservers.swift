import Synchronization

/// A list of observers, each with the entities that it observes. Save participants are such observers.
final class EntityObservers: Sendable {
  struct Observer: Sendable {
    let object: any AnyObject & Sendable
    /// Whether the object observes an entity, by ``EntityDescription/position``.
    let isObserved: [Bool]

    func observes(_ entity: EntityDescription) -> Bool { isObserved[entity.position] }
  }

  private let observers = Mutex<[Observer]>([])
  private let count = Atomic<Int>(0)

  /// Whether no object observes anything. Costs the read of one word.
  var isEmpty: Bool { count.load(ordering: .acquiring) == 0 }

  /// The observers, in the order in which they were added.
  var all: [Observer] { observers.withLock { $0 } }

  func contains(_ object: AnyObject) -> Bool { observers.withLock { $0.contains { $0.object === object } } }

  /// Adds an observer, unless its object was added before.
  func add(_ observer: Observer) {
    observers.withLock { observers in
      guard !observers.contains(where: { $0.object === observer.object }) else { return }
      observers.append(observer)
      count.store(observers.count, ordering: .releasing)
    }
  }

  func remove(_ object: AnyObject) {
    let former = observers.withLock { observers in
      let former = observers
      observers.removeAll { $0.object === object }
      count.store(observers.count, ordering: .releasing)
      return former
    }
    // Released outside the lock: the list may have the last reference.
    withExtendedLifetime(former) {}
  }
}
