import Synchronization

/// The observers of one node that are told by the same delivery.
// Sendable because `isQueued` is touched under the mailbox's lock only, and the observations under the store's.
class AnyObserverGroup: @unchecked Sendable {
  let queue: DeliveryQueue
  /// It waits in the mailbox.
  final var isQueued = false

  init(queue: DeliveryQueue) {
    self.queue = queue
  }

  /// Tells the observers the newest value, those that have not been told of it.
  func deliver() {}

  /// How many observers there are. Under the store's lock.
  var count: Int { 0 }

  /// Observers that were told of a version need not be told of a newer one, because its value is the same. Under the
  /// store's lock.
  func skip(from version: UInt32, to newer: UInt32) {}

  /// The observers. Under the store's lock.
  var all: [AnyObservation] { [] }

  /// Takes out an observer that has ended. Under the store's lock.
  func removeEnded(_ observation: AnyObservation) {}
}

// Sendable because the node is immutable here and touched under the store's lock only, as the observations are.
final class ObserverGroup<Value: Sendable>: AnyObserverGroup, @unchecked Sendable {
  private let core: StoreCore
  private let node: ValueNode<Value>
  private var observations: [AnyObservation] = []

  init(of node: ValueNode<Value>, queue: DeliveryQueue) {
    self.node = node
    core = node.core
    super.init(queue: queue)
  }

  override func deliver() {
    let due: (value: Value?, observations: [AnyObservation])? = core.exclusively {
      // The delivery is run inside of a transaction.
      if node.notifiesBetweenTransactions, core.lock.depth > 1 {
        notifyAfterTransaction()
        return nil
      }
      let isRemoved = node.isAbsent
      let due = AnyObservation.claimDue(observations, version: node.version, ofRemoval: isRemoved)
      guard !due.isEmpty else { return nil }
      // Reading can bring the node up to date, but never changes its version.
      return (isRemoved ? nil : .some(node.read()), due)
    }
    guard let due else { return }
    for observation in due.observations {
      unsafeDowncast(observation, to: Observation<Value>.self).notify(due.value)
    }
  }

  override var count: Int { observations.count }

  override var all: [AnyObservation] { observations }

  override func removeEnded(_ observation: AnyObservation) {
    node.removeEnded(observation, queue)
  }

  // MARK: Under the lock

  /// Has the observers told at the end of the transaction, also when it is undone.
  private func notifyAfterTransaction() {
    core.undoLog?.newlyObserved.append(node)
    core.enqueue(node)
  }

  override func skip(from version: UInt32, to newer: UInt32) {
    for observation in observations { observation.skip(from: version, to: newer) }
  }

  func add(_ observation: Observation<Value>) {
    observations.append(observation)
  }

  /// - Returns: Whether nobody is left.
  func remove(_ observation: AnyObservation) -> Bool {
    if let index = AnyObservation.index(of: observation, in: observations) { observations.remove(at: index) }
    return observations.isEmpty
  }
}

/// One observer, whatever it is told.
// Sendable because what can change is touched under the store's lock only, but for the atomic.
class AnyObservation: @unchecked Sendable {
  private let endedFlag = Atomic<Bool>(false)
  /// The version that the observer has been told of.
  private final var deliveredVersion: UInt32
  /// Being told the first value, or pausing: it is told nothing else meanwhile.
  private final var isPaused = true
  /// Whether it is told of removals. After a removal, others wait until there is an entity again.
  private let observesRemovals: Bool
  /// Called when the store ends the observation.
  final let onEnd: (@Sendable () -> Void)?

  fileprivate init(deliveredVersion: UInt32, observesRemovals: Bool, onEnd: (@Sendable () -> Void)?) {
    self.deliveredVersion = deliveredVersion
    self.observesRemovals = observesRemovals
    self.onEnd = onEnd
  }

  /// Whether nothing may be told any more.
  final var hasEnded: Bool { endedFlag.load(ordering: .acquiring) }

  /// - Returns: Whether it was not over before.
  final func end() -> Bool {
    !endedFlag.exchange(true, ordering: .acquiringAndReleasing)
  }

  // MARK: Under the lock

  final func isDue(_ version: UInt32) -> Bool {
    !isPaused && deliveredVersion != version
  }

  final func skip(from version: UInt32, to newer: UInt32) {
    if deliveredVersion == version { deliveredVersion = newer }
  }

  final func pause() {
    isPaused = true
  }

  final func resume() {
    isPaused = false
  }

  /// Those that have not been told of a version, and now count as told.
  /// - Parameter isRemoval: Whether there is no entity any more.
  static func claimDue(
    _ observations: [AnyObservation], version: UInt32, ofRemoval isRemoval: Bool
  ) -> [AnyObservation] {
    observations.filter { observation in
      guard observation.isDue(version), !isRemoval || observation.observesRemovals else { return false }
      observation.deliveredVersion = version
      return true
    }
  }

  static func index(of observation: AnyObservation, in observations: [AnyObservation]) -> Int? {
    observations.firstIndex { $0 === observation }
  }
}

/// One observer.
// Sendable because the closure is.
final class Observation<Value: Sendable>: AnyObservation, @unchecked Sendable {
  private let actions: ObserverActions<Value>

  init(deliveredVersion: UInt32, _ actions: ObserverActions<Value>) {
    self.actions = actions
    super.init(deliveredVersion: deliveredVersion, observesRemovals: actions.onRemoval != nil, onEnd: actions.onEnd)
  }

  /// - Parameter value: `nil` when the entity was removed.
  func notify(_ value: Value?) {
    guard !hasEnded else { return }
    if let value { actions.onChange(value) } else { actions.onRemoval?() }
  }
}
