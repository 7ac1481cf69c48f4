/// The observers of one node with the same delivery queue, with the type of the value.
// Sendable because the reference to the node never changes, and the node and the observations are used under the
// store's lock only.
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
      // The delivery runs inside of a transaction.
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

  /// Notifies the observers at the end of the transaction, also when it is rolled back.
  private func notifyAfterTransaction() {
    core.undo.log?.notifiedAfterRollback.append(node)
    core.pending.addChanged(node)
  }

  override func skip(from version: UInt32, to newer: UInt32) {
    for observation in observations { observation.skip(from: version, to: newer) }
  }

  func add(_ observation: Observation<Value>) {
    observations.append(observation)
  }

  /// - Returns: Whether the group is empty.
  func remove(_ observation: AnyObservation) -> Bool {
    if let index = AnyObservation.index(of: observation, in: observations) { observations.remove(at: index) }
    return observations.isEmpty
  }
}
