import Coherence
import Foundation
import Synchronization

/// Counts what a stack does, for the figures of a step.
final class SyncFigures: StackObserver {
  private let counts = Mutex<[StackOperation.Kind: Int]>([:])

  func began(_ operation: StackOperation) -> any StackObservation {
    counts.withLock { $0[operation.kind, default: 0] += 1 }
    return Unobserved()
  }

  func scope() -> (any StackScope)? { nil }

  /// Runs a step and returns its figures in a line.
  func measure(_ step: () async throws -> Void) async rethrows -> String {
    counts.withLock { $0 = [:] }
    let start = ContinuousClock.now
    try await step()
    let seconds = (ContinuousClock.now - start) / .seconds(1)
    let counts = counts.withLock { $0 }
    return "\(counts[.merge] ?? 0) merges, \(counts[.fetch] ?? 0) fetches, \(counts[.save] ?? 0) saves, "
      + String(format: "%.2f s", seconds)
  }

  private struct Unobserved: StackObservation {
    func run<T>(_ body: () throws -> T) rethrows -> T { try body() }
    func run<T>(_ body: () async throws -> T) async rethrows -> T { try await body() }
    func ended(_ outcome: StackOutcome) {}
  }
}
