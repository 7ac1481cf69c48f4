import Synchronization

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

  init(deliveredVersion: UInt32, observesRemovals: Bool, onEnd: (@Sendable () -> Void)?) {
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
