import Dispatch

/// One source of truth for structures: it keeps one value of each entity, and everything that shows the entity shows
/// that value.
///
/// ```swift
/// let store = EntityStore()
/// let book = store.store(entity: Book(id: "ACK", title: "A Clash of Kings"))
/// let subscription = store.find(Book.self, id: "ACK")?.observe { print($0.title) }
/// ```
///
/// An entity stays as long as an ``EntityObserver``, a ``Subscription``, an alias, an aggregate that stays, or a
/// lifetime (see ``TypePolicy``) keeps it. All methods may be called from every thread, and from inside of the closures
/// that the store calls: what is done there is part of the operation that is going on.
///
/// The store always takes the value that it is given. The `==` of a type, or the equality of its ``TypePolicy``, says
/// whether observers are told, and nothing else; so it may compare as little as the identifier.
///
/// What a write replaces, the store lets go before the call returns, with the store to itself, and when the entity has its
/// new value. So the `deinit` of an object in a value may use the store, but must not wait for another thread that does.
/// What aggregates still had of it, entities that nothing keeps any more, and what a transaction that throws has undone,
/// are let go after the operation, when others can use the store again.
///
/// Reads that change nothing go on beside each other: ``value(_:id:)``, and ``find(_:id:)`` and ``EntityObserver/current`` of
/// what somebody holds. They run the `==` and `hash(into:)` of identifiers, which must not use the store.
///
/// The setter of a nested entity's place is code of yours that runs while the aggregate is made up to date. It must not
/// store the aggregate: that ends the process with a sentence that says so.
public final class EntityStore: Sendable {
  /// A closure that changes an entity.
  public typealias Update<T> = (inout T) -> Void

  @usableFromInline let core: StoreCore

  /// - Parameters:
  ///   - queue: Where observers are called; without one, on a serial queue of the store's own.
  ///   - logger: Is told of what is stored and what is refused.
  public convenience init(queue: DispatchQueue? = nil, logger: (any Logger)? = nil) {
    self.init(delivery: queue.map { .queue($0) } ?? .serial, logger: logger)
  }

  /// - Parameters:
  ///   - delivery: Where observers are called.
  ///   - logger: Is told of what is stored and what is refused.
  ///   - now: The time since some moment, by which the age of entities is measured; that of a clock which never goes
  ///     back by default.
  public init(delivery: Delivery, logger: (any Logger)? = nil, now: (@Sendable () -> Duration)? = nil) {
    let start = ContinuousClock.now
    core = StoreCore(
      delivery: delivery, log: logger.map { LoggerForwarding(to: $0) }, now: now ?? { start.duration(to: .now) })
  }
}

/// The former name.
@available(*, deprecated, renamed: "EntityStore")
public typealias IdentityMap = EntityStore
