/// An entity, a list of entities, an alias or a snapshot: its value at the time of the creation, and the means to
/// follow it.
///
/// The observer and its subscriptions retain the entity. Usable from every thread.
///
/// Each delivery reads its value separately. So an observer may receive a value from before a transaction while another
/// observer has received a value from after it, even with one delivery and a transaction that changed both entities.
/// ``EntityStore/snapshot(of:)`` follows several entities consistently.
public struct EntityObserver<T: Sendable>: Sendable {
  /// The closure of an observation, called with each new value.
  public typealias OnChange = @Sendable (T) -> Void

  /// The value when this was made. It does not change; see ``current``.
  public let value: T
  @usableFromInline let handle: Handle

  @inlinable init(value: T, handle: Handle) {
    self.value = value
    self.handle = handle
  }

  /// Makes an observer of a leaf, whose value needs no rebuilding. Called under the lock.
  @inlinable init(leaf node: Unmanaged<EntityNode<T>>) where T: Identifiable {
    value = node._withUnsafeGuaranteedRef { $0.value }
    handle = Handle.of(Unmanaged.fromOpaque(node.toOpaque()))
  }

  /// Makes an observer of a leaf with a handle; `nil` without a handle. Under the lock or in a shared read.
  @inlinable init?(retained node: Unmanaged<EntityNode<T>>) where T: Identifiable {
    guard let handle = Handle.existing(Unmanaged.fromOpaque(node.toOpaque())) else { return nil }
    value = node._withUnsafeGuaranteedRef { $0.value }
    self.handle = handle
  }

  /// Makes an observer of any node. Called under the lock.
  init(_ node: ValueNode<T>) {
    value = node.read()
    handle = .of(node)
  }

  var node: ValueNode<T> {
    unsafeDowncast(handle.node, to: ValueNode<T>.self)
  }

  /// The current value; the last value of a removed entity.
  public var current: T {
    node.current
  }

  /// Calls a closure with the current value before this returns, and then on the store's delivery with each new value.
  /// No change between the two is lost, and a value replaced before its delivery is skipped. Removals are not
  /// reported; see ``observeEvents(on:onEvent:)``.
  /// - Returns: The subscription; releasing it ends the observation.
  public func observe(onChange: @escaping OnChange) -> EntityStore.Subscription {
    node.observe(on: node.core.queues.standard, retaining: handle, ObserverActions(onChange: onChange))
  }

  /// Observes on a delivery of its own, without an order between this observer and others.
  public func observe(on delivery: Delivery, onChange: @escaping OnChange) -> EntityStore.Subscription {
    node.observe(on: DeliveryQueue(delivery), retaining: handle, ObserverActions(onChange: onChange))
  }
}
