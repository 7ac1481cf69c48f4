import CoherenceCore
import Synchronization

/// Records the operations of a stack.
final class OperationLog: StackObserver {
  private let entries = Mutex<[(operation: StackOperation, outcome: StackOutcome)]>([])

  func began(_ operation: StackOperation) -> any StackObservation { Observation(log: self, operation: operation) }

  func scope() -> (any StackScope)? { nil }

  /// The numbers of records of the operations of a kind, in order.
  func records(_ name: String, of kind: StackOperation.Kind) -> [Int] {
    entries.withLock { $0.filter { $0.operation.kind == kind }.map { $0.outcome.records[name] ?? 0 } }
  }

  private struct Observation: StackObservation {
    let log: OperationLog
    let operation: StackOperation

    func ended(_ outcome: StackOutcome) { log.entries.withLock { $0.append((operation, outcome)) } }
    func run<T>(_ body: () throws -> T) rethrows -> T { try body() }
    func run<T>(_ body: () async throws -> T) async rethrows -> T { try await body() }
  }
}
