/// The observers of one node with the same delivery queue, with the type of the value.
// Sendable because the reference to the node never changes, and the node and the observations are used under the
// store's lock only.
final class ObserverGroup<Value: Sendable>: AnyObserverGroup, @unchecked Sendable {
  private let core: StoreCore
  private let node: ValueNode<Value>
  /// The observers in the order of their beginnings; `nil` in the place of ended ones, so that the end of an observer
  /// moves no other.
  private var observations: [AnyObservation?] = []
  /// The number of ended observers in the list.
  private var endedCount = 0

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

  override var count: Int { observations.count - endedCount }

  override var all: [AnyObservation] { observations.compactMap(\.self) }

  override func removeEnded(_ observation: AnyObservation) {
    node.removeEnded(observation, in: self)
  }

  // MARK: Under the lock

  /// Notifies the observers at the end of the transaction, also when it is rolled back.
  private func notifyAfterTransaction() {
    core.undo.log?.notifiedAfterRollback.append(node)
    core.pending.addChanged(node)
  }

  override func skip(from version: UInt32, to newer: UInt32) {
    for case let observation? in observations { observation.skip(from: version, to: newer) }
  }

  func add(_ observation: Observation<Value>) {
    observation.index = observations.count
    observations.append(observation)
  }

  /// Removes an observer, if the group has it. The cost does not grow with the number of the others.
  func remove(_ observation: AnyObservation) {
    let index = observation.index
    guard observations.indices.contains(index), observations[index] === observation else { return }
    observations[index] = nil
    endedCount += 1
    // The cost of the walk is shared by the ends since the last one, which are as many as the observers left.
    if endedCount * 2 > observations.count { removeEndedEntries() }
  }

  /// Removes the entries of ended observers.
  private func removeEndedEntries() {
    observations.removeAll { $0 == nil }
    endedCount = 0
    for (index, observation) in observations.enumerated() { observation?.index = index }
  }
}
