package import CoherenceCore
import Synchronization

/// Records the operations of a stack: the numbers of begun operations, and the outcomes of ended ones.
package final class OperationLog: StackObserver {
  private struct State {
    var begun: [StackOperation: Int] = [:]
    var ended: [(operation: StackOperation, outcome: StackOutcome)] = []
  }

  private let state = Mutex(State())

  package init() {}

  /// The number of begun operations of a kind.
  package func count(_ kind: StackOperation.Kind) -> Int {
    state.withLock { state in
      state.begun.reduce(0) { sum, entry in entry.key.kind == kind ? sum + entry.value : sum }
    }
  }

  /// The number of begun operations of a kind on a subject.
  package func count(of operation: StackOperation) -> Int { state.withLock { $0.begun[operation, default: 0] } }

  /// The numbers of records of the ended operations of a kind, in order.
  package func records(_ name: String, of kind: StackOperation.Kind) -> [Int] {
    state.withLock { $0.ended.filter { $0.operation.kind == kind }.map { $0.outcome.records[name] ?? 0 } }
  }

  package func began(_ operation: StackOperation) -> any StackObservation {
    state.withLock { $0.begun[operation, default: 0] += 1 }
    return Observation(log: self, operation: operation)
  }

  package func scope() -> (any StackScope)? { nil }

  private struct Observation: StackObservation {
    let log: OperationLog
    let operation: StackOperation

    func ended(_ outcome: StackOutcome) { log.state.withLock { $0.ended.append((operation, outcome)) } }
    func run<T>(_ body: () throws -> T) rethrows -> T { try body() }
    func run<T>(_ body: () async throws -> T) async rethrows -> T { try await body() }
  }
}
