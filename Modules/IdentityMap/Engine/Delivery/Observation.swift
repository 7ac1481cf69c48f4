import Synchronization

/// An observer, without the type of its value.
// Sendable because its mutable state is touched under the store's lock only, except for the atomic flag.
class AnyObservation: @unchecked Sendable {
  private let endedFlag = Atomic<Bool>(false)
  /// The version that the observer has received.
  private final var deliveredVersion: UInt32
  /// Whether deliveries wait: before the first value was delivered, and during a pause.
  private final var isPaused = true
  /// The index among the observers of the group. Under the lock.
  final var index = 0
  /// Whether removals are delivered. After a removal, other observers wait until the entity exists again.
  private let observesRemovals: Bool
  /// Called when the store ends the observation.
  final let onEnd: (@Sendable () -> Void)?

  init(deliveredVersion: UInt32, observesRemovals: Bool, onEnd: (@Sendable () -> Void)?) {
    self.deliveredVersion = deliveredVersion
    self.observesRemovals = observesRemovals
    self.onEnd = onEnd
  }

  /// Whether no further call may begin.
  final var hasEnded: Bool { endedFlag.load(ordering: .acquiring) }

  /// - Returns: Whether this call ended the observation.
  final func end() -> Bool {
    !endedFlag.exchange(true, ordering: .acquiringAndReleasing)
  }

  // MARK: Under the lock

  /// Whether a version has to be delivered to the observer now.
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

  /// Returns the observers whose last delivered version differs, and marks the version as delivered.
  ///
  /// - Parameters:
  ///   - observations: The observers; `nil` in the place of ended ones.
  ///   - isRemoval: Whether the entity does not exist.
  static func claimDue(
    _ observations: [AnyObservation?], version: UInt32, ofRemoval isRemoval: Bool
  ) -> [AnyObservation] {
    observations.compactMap { observation in
      guard let observation, observation.isDue(version), !isRemoval || observation.observesRemovals else { return nil }
      observation.deliveredVersion = version
      return observation
    }
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
