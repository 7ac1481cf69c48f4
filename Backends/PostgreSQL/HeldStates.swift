import CoherenceCore

/// The units of reading that hold a state, of all pools, with the threads that read.
///
/// Two threads that each hold a state of one store and then read the other store could wait for each other. Neither
/// pool alone can detect this deadlock.
final class HeldStates: Sendable {
  static let all = HeldStates()

  private struct Held {
    let thread: UInt
    let hold: StateHold
  }
  private let held = Locked<[ObjectIdentifier: Held]>([:])

  func note(_ reader: PostgreSQLReader) {
    guard let hold = reader.hold else { return }
    let entry = Held(thread: callingThread, hold: hold)
    held.withLock { $0[ObjectIdentifier(reader)] = entry }
  }

  func forget(_ reader: ObjectIdentifier) { held.withLock { $0[reader] = nil } }

  /// Whether the calling thread holds a state of any store that it cannot release.
  var isAnyHeldByCaller: Bool {
    let caller = callingThread
    return held.withLock { $0.values.contains { $0.thread == caller && !$0.hold.isFree } }
  }
}
