import Coherence
import Synchronization

/// Counts the operations of a stack by kind.
final class OperationCounts: StackObserver {
  private let counts = Mutex<[StackOperation.Kind: Int]>([:])

  var byKind: [StackOperation.Kind: Int] { counts.withLock { $0 } }

  func reset() { counts.withLock { $0 = [:] } }

  func began(_ operation: StackOperation) -> any StackObservation {
    counts.withLock { $0[operation.kind, default: 0] += 1 }
    return Unobserved()
  }

  func scope() -> (any StackScope)? { nil }

  private struct Unobserved: StackObservation {
    func run<T>(_ body: () throws -> T) rethrows -> T { try body() }
    func run<T>(_ body: () async throws -> T) async rethrows -> T { try await body() }
    func ended(_ outcome: StackOutcome) {}
  }
}
