import Synchronization

/// The observers of one node that are told by the same delivery.
// Sendable because `isPosted` is touched under the mailbox's lock only, and the observations under the store's.
class AnyAudience: @unchecked Sendable {
  let mailbox: Mailbox
  /// It waits in the mailbox.
  final var isPosted = false

  init(mailbox: Mailbox) {
    self.mailbox = mailbox
  }

  /// Tells the observers the newest value, those that have not been told of it.
  func deliver() {}

  /// How many observers there are. Under the store's lock.
  var count: Int { 0 }
}

// Sendable because the node is immutable here and touched under the store's lock only, as the observations are.
final class Audience<Value: Sendable>: AnyAudience, @unchecked Sendable {
  private let core: StoreCore
  private let node: ValueNode<Value>
  private(set) var observations: [Observation<Value>] = []

  init(of node: ValueNode<Value>, mailbox: Mailbox) {
    self.node = node
    core = node.core
    super.init(mailbox: mailbox)
  }

  override func deliver() {
    let due: (value: Value, observations: [Observation<Value>])? = core.exclusively {
      // After a removal there is nothing to be told.
      guard !node.isVacant, observations.contains(where: { $0.isDue(node.version) }) else { return nil }
      // Reading can bring the node up to date, but never changes its version.
      let value = node.read()
      return (value, observations.filter { $0.takeDue(node.version) })
    }
    guard let due else { return }
    for observation in due.observations { observation.tell(due.value) }
  }

  override var count: Int { observations.count }

  // MARK: Under the lock

  func add(_ observation: Observation<Value>) {
    observations.append(observation)
  }

  /// - Returns: Whether nobody is left.
  func remove(_ observation: Observation<Value>) -> Bool {
    observations.removeAll { $0 === observation }
    return observations.isEmpty
  }
}

/// One observer.
// Sendable because what can change is touched under the store's lock only, but for the atomic.
final class Observation<Value: Sendable>: @unchecked Sendable {
  private let onChange: @Sendable (Value) -> Void
  private let isOver = Atomic<Bool>(false)
  /// The version that the observer has been told of.
  private var seen: UInt32
  /// Being told the first value, or pausing: it is told nothing else meanwhile.
  private(set) var isWaiting = true

  init(seen: UInt32, onChange: @escaping @Sendable (Value) -> Void) {
    self.seen = seen
    self.onChange = onChange
  }

  func tell(_ value: Value) {
    guard !isOver.load(ordering: .acquiring) else { return }
    onChange(value)
  }

  /// - Returns: Whether it was not over before.
  func end() -> Bool {
    !isOver.exchange(true, ordering: .acquiringAndReleasing)
  }

  // MARK: Under the lock

  func isDue(_ version: UInt32) -> Bool {
    !isWaiting && seen != version
  }

  func takeDue(_ version: UInt32) -> Bool {
    guard isDue(version) else { return false }
    seen = version
    return true
  }

  func pause() {
    isWaiting = true
  }

  func go() {
    isWaiting = false
  }
}
