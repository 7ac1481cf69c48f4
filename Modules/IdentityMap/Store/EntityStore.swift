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
    core = StoreCore(delivery: delivery, logger: logger, now: now ?? { start.duration(to: .now) })
  }
}

/// The former name.
@available(*, deprecated, renamed: "EntityStore")
public typealias IdentityMap = EntityStore
