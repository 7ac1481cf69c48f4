package import CoherenceCore
import Synchronization

/// Runs a closure at the beginning of saves: after the changes were planned, and before the store receives them.
package final class SaveInterference: StackObserver {
  private let remaining: Mutex<Int>
  private let work: @Sendable () throws -> Void
  private let report: @Sendable (any Error) -> Void

  /// - Parameters:
  ///   - times: The number of saves with a call of the closure, beginning with the next save.
  ///   - report: Receives an error of the closure.
  package init(
    times: Int = 1, reportingTo report: @escaping @Sendable (any Error) -> Void,
    _ work: @escaping @Sendable () throws -> Void
  ) {
    remaining = Mutex(times)
    self.report = report
    self.work = work
  }

  package func began(_ operation: StackOperation) -> any StackObservation {
    if operation.kind == .save, isNext() {
      do { try work() } catch { report(error) }
    }
    return Observation()
  }

  package func scope() -> (any StackScope)? { nil }

  private func isNext() -> Bool {
    remaining.withLock { remaining in
      remaining -= 1
      return remaining >= 0
    }
  }

  private struct Observation: StackObservation {
    func ended(_ outcome: StackOutcome) {}
    func run<T>(_ body: () throws -> T) rethrows -> T { try body() }
    func run<T>(_ body: () async throws -> T) async rethrows -> T { try await body() }
  }
}
