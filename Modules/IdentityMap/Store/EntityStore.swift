public import Dispatch

/// A single source of truth for structs: it keeps one value of each entity, and every aggregate, list and alias with
/// the entity has that value.
///
/// ```swift
/// let store = EntityStore()
/// let book = store.store(entity: Book(id: "ACK", title: "A Clash of Kings"))
/// let subscription = store.find(Book.self, id: "ACK")?.observe { print($0.title) }
/// ```
///
/// An entity is retained by an ``EntityObserver``, a ``Subscription``, an alias, a retained aggregate, or a lifetime
/// (see ``TypePolicy``). Without such a reason, the store evicts the entity. All methods are usable from every
/// thread, and within the closures that the store calls: an operation inside a closure is a part of the running
/// operation.
///
/// The store stores every accepted value, also an equal value. The `==` of a type, or the equality of its
/// ``TypePolicy``, only determines whether observers are notified; so it may compare as little as the identifier.
///
/// A replaced value is released before the call returns, with the store locked, after the entity has its new value. So
/// the `deinit` of an object in a value may use the store, but must not wait for another thread that does. The copies
/// in aggregates, evicted entities, and values that a rollback discards are released after the operation, without the
/// lock.
///
/// Reads without changes run in parallel: ``value(_:id:)``, and ``find(_:id:)`` and ``EntityObserver/current`` of
/// entities with observers. They call the `==` and `hash(into:)` of identifiers, which must not use the store.
///
/// The setter of a nested entity's key path runs while the aggregate is rebuilt. It must not store the aggregate: that
/// ends the process with a message. And it should change no entity of another key path: the store may keep a removed
/// entity in such an aggregate, or remove another entity from it.
public final class EntityStore: Sendable {
  /// A closure that changes an entity.
  public typealias Update<T> = (inout T) -> Void

  @usableFromInline let core: StoreCore

  /// Makes an empty store that calls observers on a queue.
  /// - Parameters:
  ///   - queue: The queue on which observers are called; by default a serial queue of the store.
  ///   - logger: Receives stored and rejected entities, refused removals, and changes of aliases.
  public convenience init(queue: DispatchQueue? = nil, logger: (any Logger)? = nil) {
    self.init(delivery: queue.map { .queue($0) } ?? .serial, logger: logger)
  }

  /// Makes an empty store.
  /// - Parameters:
  ///   - delivery: The delivery on which observers are called.
  ///   - logger: Receives stored and rejected entities, refused removals, and changes of aliases.
  ///   - now: Returns the time by which the age of entities is measured; by default the time of a monotonic clock.
  public init(delivery: Delivery, logger: (any Logger)? = nil, now: (@Sendable () -> Duration)? = nil) {
    let start = ContinuousClock.now
    core = StoreCore(
      delivery: delivery, log: logger.map { ForwardingLog(to: $0) }, now: now ?? { start.duration(to: .now) })
  }
}

/// Another name of ``EntityStore``, for programs that use it still.
@available(*, deprecated, renamed: "EntityStore")
public typealias IdentityMap = EntityStore
