/// An entity, a list of entities, an alias or a snapshot, as it was when this was made, and the way to follow it.
///
/// As long as this or a subscription made of it exists, the entity is kept. May be used from every thread.
///
/// Each delivery is read for itself. So of two observers, one may be told a value from before a transaction while the
/// other has one from after it, although the transaction changes both entities, and although both are called by one
/// delivery. ``EntityStore/snapshot(of:)`` follows entities that belong together as one.
public struct EntityObserver<T: Sendable>: Sendable {
  /// What an observer is called with each new value.
  public typealias OnChange = @Sendable (T) -> Void

  /// The value when this was made. It does not change; see ``current``.
  public let value: T
  @usableFromInline let handle: Handle

  @inlinable init(value: T, handle: Handle) {
    self.value = value
    self.handle = handle
  }

  /// Of a leaf, without a detour. Under the lock.
  @inlinable init(leaf node: Unmanaged<EntityNode<T>>) where T: Identifiable {
    value = node._withUnsafeGuaranteedRef { $0.value }
    handle = Handle.of(Unmanaged.fromOpaque(node.toOpaque()))
  }

  /// Of a leaf that is kept from outside already; `nil` when it is not. Under the lock or in a read.
  @inlinable init?(kept node: Unmanaged<EntityNode<T>>) where T: Identifiable {
    guard let handle = Handle.known(Unmanaged.fromOpaque(node.toOpaque())) else { return nil }
    value = node._withUnsafeGuaranteedRef { $0.value }
    self.handle = handle
  }

  /// Under the lock.
  init(_ node: ValueNode<T>) {
    value = node.read()
    handle = .of(node)
  }

  var node: ValueNode<T> {
    unsafeDowncast(handle.node, to: ValueNode<T>.self)
  }

  /// The value as it is now. Of an entity that was removed, its last one.
  public var current: T {
    node.current
  }

  /// Calls a closure with the value that is current, before this returns, and from then on with each new one, on the
  /// store's delivery. Nothing is lost between the two. A removal is not told; see ``observeEvents(on:onEvent:)``.
  /// - Returns: What keeps the observer; it ends when this is released.
  public func observe(onChange: @escaping OnChange) -> EntityStore.Subscription {
    node.observe(on: node.core.queues.standard, keeping: handle, ObserverActions(onChange: onChange))
  }

  /// The same with a delivery of its own, whose order is not bound to that of other observers.
  public func observe(on delivery: Delivery, onChange: @escaping OnChange) -> EntityStore.Subscription {
    node.observe(on: DeliveryQueue(delivery), keeping: handle, ObserverActions(onChange: onChange))
  }
}
