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

  /// Observers that were told of a version need not be told of a newer one, because its value is the same. Under the
  /// store's lock.
  func skip(from version: UInt32, to newer: UInt32) {}
}

// Sendable because the node is immutable here and touched under the store's lock only, as the observations are.
final class Audience<Value: Sendable>: AnyAudience, @unchecked Sendable {
  private let core: StoreCore
  private let node: ValueNode<Value>
  private var observations: [AnyObservation] = []

  init(of node: ValueNode<Value>, mailbox: Mailbox) {
    self.node = node
    core = node.core
    super.init(mailbox: mailbox)
  }

  override func deliver() {
    let due: (value: Value, observations: [AnyObservation])? = core.exclusively {
      // After a removal there is nothing to be told.
      guard !node.isVacant else { return nil }
      let due = AnyObservation.takeDue(observations, version: node.version)
      // Reading can bring the node up to date, but never changes its version.
      return due.isEmpty ? nil : (node.read(), due)
    }
    guard let due else { return }
    for observation in due.observations {
      unsafeDowncast(observation, to: Observation<Value>.self).tell(due.value)
    }
  }

  override var count: Int { observations.count }

  // MARK: Under the lock

  override func skip(from version: UInt32, to newer: UInt32) {
    for observation in observations { observation.skip(from: version, to: newer) }
  }

  func add(_ observation: Observation<Value>) {
    observations.append(observation)
  }

  /// - Returns: Whether nobody is left.
  func remove(_ observation: Observation<Value>) -> Bool {
    if let place = AnyObservation.place(of: observation, in: observations) { observations.remove(at: place) }
    return observations.isEmpty
  }
}

/// One observer, whatever it is told.
// Sendable because what can change is touched under the store's lock only, but for the atomic.
class AnyObservation: @unchecked Sendable {
  private let isOver = Atomic<Bool>(false)
  /// The version that the observer has been told of.
  private final var seen: UInt32
  /// Being told the first value, or pausing: it is told nothing else meanwhile.
  private final var isWaiting = true

  fileprivate init(seen: UInt32) {
    self.seen = seen
  }

  /// Whether nothing may be told any more.
  final var hasEnded: Bool { isOver.load(ordering: .acquiring) }

  /// - Returns: Whether it was not over before.
  final func end() -> Bool {
    !isOver.exchange(true, ordering: .acquiringAndReleasing)
  }

  // MARK: Under the lock

  final func isDue(_ version: UInt32) -> Bool {
    !isWaiting && seen != version
  }

  final func skip(from version: UInt32, to newer: UInt32) {
    if seen == version { seen = newer }
  }

  final func pause() {
    isWaiting = true
  }

  final func go() {
    isWaiting = false
  }

  /// Those that have not been told of a version, and now count as told.
  static func takeDue(_ observations: [AnyObservation], version: UInt32) -> [AnyObservation] {
    observations.filter { observation in
      guard observation.isDue(version) else { return false }
      observation.seen = version
      return true
    }
  }

  static func place(of observation: AnyObservation, in observations: [AnyObservation]) -> Int? {
    observations.firstIndex { $0 === observation }
  }
}

/// One observer.
// Sendable because the closure is.
final class Observation<Value: Sendable>: AnyObservation, @unchecked Sendable {
  private let onChange: @Sendable (Value) -> Void

  init(seen: UInt32, onChange: @escaping @Sendable (Value) -> Void) {
    self.onChange = onChange
    super.init(seen: seen)
  }

  func tell(_ value: Value) {
    if !hasEnded { onChange(value) }
  }
}
