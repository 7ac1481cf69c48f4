import CoherenceCore
import Synchronization
import Testing

/// Does something at the beginning of saves: after the saved changes were planned, and before the store takes them.
final class SaveInterference: StackObserver {
  private let left: Mutex<Int>
  private let work: @Sendable () throws -> Void

  /// - Parameter times: How many saves are interfered with, the first ones.
  init(times: Int = 1, _ work: @escaping @Sendable () throws -> Void) {
    left = Mutex(times)
    self.work = work
  }

  func began(_ operation: StackOperation) -> any StackObservation {
    if operation.kind == .save, isNext() {
      do { try work() } catch { Issue.record(error) }
    }
    return Observation()
  }

  func scope() -> (any StackScope)? { nil }

  private func isNext() -> Bool {
    left.withLock { left in
      left -= 1
      return left >= 0
    }
  }

  private struct Observation: StackObservation {
    func ended(_ outcome: StackOutcome) {}
    func run<T>(_ body: () throws -> T) rethrows -> T { try body() }
    func run<T>(_ body: () async throws -> T) async rethrows -> T { try await body() }
  }
}
